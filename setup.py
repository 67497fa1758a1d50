"""Builds the two clients that are installed as commands; all else is said in pyproject.toml.

`maestro` is the native client where a C compiler is at hand; the wheel is then for this platform. Where none
is, or MAESTRO_NO_NATIVE is set, `maestro` is the Python client, which is always installed as `maestro-py`.
"""

from __future__ import annotations

import atexit
import os
import shutil
import sys
import tempfile
from functools import cache
from pathlib import Path

from setuptools import Command, setup
from setuptools.command.bdist_wheel import bdist_wheel

SOURCES = Path(__file__).parent / "src"
SCRIPT = "src/maestro/client/script.py"


@cache
def native_client() -> Path | None:
    """The native client, compiled once in a build; None where that is impossible or not wanted."""
    if os.environ.get("MAESTRO_NO_NATIVE"):
        return None
    sys.path.insert(0, str(SOURCES))
    from maestro import __version__
    from maestro.client.native.build import compile_client

    workshop = Path(tempfile.mkdtemp(prefix="maestro-build-"))
    atexit.register(shutil.rmtree, workshop, ignore_errors=True)
    program = workshop / "maestro"
    return program if compile_client(program, version=__version__) else None


class BuildClients(Command):
    """Puts `maestro` and `maestro-py` where the installation takes its scripts from."""

    user_options = []

    def initialize_options(self) -> None:
        self.build_dir: str | None = None
        self.executable: str | None = None  # set by others; the installer fills in the script's first line

    def finalize_options(self) -> None:
        self.set_undefined_options("build", ("build_scripts", "build_dir"))

    def run(self) -> None:
        for target, source in zip(self.get_outputs(), (native_client() or SCRIPT, SCRIPT), strict=True):
            self.mkpath(str(self.build_dir))
            shutil.copyfile(source, target)
            Path(target).chmod(0o755)

    def get_source_files(self) -> list[str]:
        return [SCRIPT]

    def get_outputs(self) -> list[str]:
        return [str(Path(str(self.build_dir), name)) for name in ("maestro", "maestro-py")]


class PlatformWheel(bdist_wheel):
    """A wheel for any Python 3: of any platform, unless it holds the native client."""

    def finalize_options(self) -> None:
        super().finalize_options()
        self.root_is_pure = native_client() is None

    def get_tag(self) -> tuple[str, str, str]:
        return "py3", "none", super().get_tag()[2]


setup(scripts=[SCRIPT], cmdclass={"build_scripts": BuildClients, "bdist_wheel": PlatformWheel})
