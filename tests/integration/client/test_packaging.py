"""Wheels have the correct tag, commands and data, also when they are built from a source archive."""

import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

import maestro
from maestro.client.native import build

ROOT = Path(__file__).parents[3]
SECONDS = 120


@pytest.fixture
def tree(tmp_path):
    """Return a copy of the sources, because a build writes files into the source tree."""
    copy = tmp_path / "tree"
    shutil.copytree(ROOT / "src", copy / "src", ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
    for name in ("pyproject.toml", "setup.py"):
        shutil.copy(ROOT / name, copy)
    for name in ("README.md", "LICENSE"):
        (copy / name).write_text("named in pyproject.toml\n")
    return copy


def built(tree, kind, **env) -> Path:
    """Run the build as an installer does. Return the path of the built file."""
    out = tree.parent / "out"
    code = f"import sys, setuptools.build_meta as it; it.build_{kind}(sys.argv[1])"
    command = [sys.executable, "-c", code, str(out)]
    subprocess.run(command, cwd=tree, env=env, check=True, capture_output=True, timeout=SECONDS)
    (made,) = out.iterdir()
    shutil.move(made, tree.parent)
    return tree.parent / made.name


def commands(wheel) -> dict[str, bytes]:
    """Return the first eight bytes of each command in a wheel."""
    with zipfile.ZipFile(wheel) as archive:
        names = [name for name in archive.namelist() if ".data/scripts/" in name]
        assert all(archive.getinfo(name).external_attr >> 16 & 0o111 for name in names)
        return {Path(name).name: archive.read(name)[:8] for name in names}


@pytest.mark.skipif(build.find_compiler() is None, reason="no C compiler on this machine")
@pytest.mark.parametrize("kind", ["wheel", "editable"])
def test_a_wheel_built_with_a_compiler_contains_the_native_client(tree, kind):
    wheel = built(tree, kind, PATH=str(Path(shutil.which(build.find_compiler()[0])).parent))
    assert "-py3-none-" in wheel.name
    assert "any" not in wheel.name
    found = commands(wheel)
    assert sorted(found) == ["maestro", "maestro-py"]
    assert found["maestro-py"] == b"#!python"
    assert found["maestro"][:2] != b"#!"


@pytest.mark.parametrize("kind", ["wheel", "editable"])
@pytest.mark.parametrize("env", [{"PATH": "/nowhere"}, {"PATH": "/usr/bin:/bin", "MAESTRO_NO_NATIVE": "1"}])
def test_a_wheel_built_without_a_compiler_contains_only_python_commands(tree, kind, env):
    wheel = built(tree, kind, **env)
    assert wheel.name.endswith("-py3-none-any.whl")
    assert commands(wheel) == {"maestro": b"#!python", "maestro-py": b"#!python"}


def test_a_wheel_from_a_source_archive_contains_all_files_of_the_package(tree):
    with tarfile.open(built(tree, "sdist", PATH="/nowhere")) as archive:
        safely = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}  # Python before 3.11.4 has no filter
        archive.extractall(tree.parent / "from-archive", **safely)
    (unpacked,) = (tree.parent / "from-archive").iterdir()
    with zipfile.ZipFile(built(unpacked, "wheel", PATH="/nowhere")) as archive:
        names = set(archive.namelist())
    package = Path(maestro.__file__).parent
    wanted = [path for kind in ("*.py", "*.sql", "*.c", "py.typed") for path in package.rglob(kind)]
    assert {str(path.relative_to(package.parent)) for path in wanted} <= names
