"""The compilation of the native client: its compiler, and its failures."""

import subprocess

import pytest

from maestro.client.native import build

needs_compiler = pytest.mark.skipif(build.find_compiler() is None, reason="no C compiler on this machine")


@pytest.fixture(autouse=True)
def variables(monkeypatch):
    for name in ("CC", "CFLAGS", "LDFLAGS"):
        monkeypatch.delenv(name, raising=False)
    return monkeypatch


def test_without_a_compiler_there_is_no_native_client(variables, tmp_path):
    variables.setenv("PATH", str(tmp_path))
    assert build.find_compiler() is None
    assert not build.compile_client(tmp_path / "maestro", version="1")


def test_a_chosen_compiler_that_is_missing_is_not_replaced(variables):
    variables.setenv("CC", "no-such-compiler -x")
    assert build.find_compiler() is None


@needs_compiler
def test_a_failed_compilation_is_reported(variables, tmp_path):
    variables.setenv("CFLAGS", "--no-such-flag")
    assert not build.compile_client(tmp_path / "maestro", version="1")


@needs_compiler
def test_the_source_has_no_warnings(tmp_path):
    command = build.compile_command(tmp_path / "maestro", version="1")
    subprocess.run([*command, "-Werror", "-Wshadow", "-Wconversion"], check=True, timeout=60)
