"""The client finds the programs of tools and their versions, if possible without a start of the program."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from maestro.client.connect.installed_programs import InstalledProgram, find_program
from maestro.tools import registry


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the only folder of programs."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    return folder


def install(path: Path, script: str) -> None:
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


def test_a_missing_program_is_not_found(programs: Path) -> None:
    assert find_program("gemini") is None


@pytest.mark.parametrize(
    ("script", "version"),
    [
        ("echo '1.2.3 (Gemini CLI)'", "1.2.3"),
        ("echo gemini-cli 0.58.0-beta.1", "0.58.0-beta.1"),
        ("echo unknown", ""),
        ("exit 1", ""),
    ],
)
def test_the_version_is_printed_by_the_program(programs: Path, script: str, version: str) -> None:
    install(programs / "gemini", script)
    assert find_program("gemini") == InstalledProgram(str(programs / "gemini"), version)


def test_the_package_around_the_program_names_the_version_without_a_start(programs: Path, tmp_path: Path) -> None:
    package = tmp_path / "lib" / "package"
    (package / "dist").mkdir(parents=True)
    install(package / "dist" / "run.js", f"touch {tmp_path}/started; echo 9.9.9")
    (programs / "gemini").symlink_to(package / "dist" / "run.js")
    (package / "dist" / "package.json").write_text("{")
    (package / "package.json").write_text(
        json.dumps({"name": registry.CONNECTABLE["gemini"].package, "version": "4.5.6"})
    )
    found = find_program("gemini")
    assert found is not None and found.version == "4.5.6" and not (tmp_path / "started").exists()


def test_the_package_of_another_program_does_not_name_the_version(programs: Path, tmp_path: Path) -> None:
    install(programs / "gemini", "echo 1.0.0")
    (tmp_path / "package.json").write_text(json.dumps({"name": "other", "version": "7.0.0"}))
    found = find_program("gemini")
    assert found is not None and found.version == "1.0.0"
