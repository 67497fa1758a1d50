"""The native client is compiled with the chosen compiler, and a failure is reported."""

import subprocess

import pytest

from maestro.client.native import build

needs_compiler = pytest.mark.skipif(build.find_compiler() is None, reason="no C compiler on this machine")


@pytest.fixture(autouse=True)
def variables(monkeypatch):
    for name in ("CC", "CFLAGS", "LDFLAGS"):
        monkeypatch.delenv(name, raising=False)
    return monkeypatch


def test_without_a_compiler_no_native_client_is_compiled(variables, tmp_path):
    variables.setenv("PATH", str(tmp_path))
    assert build.find_compiler() is None
    assert not build.compile_client(tmp_path / "maestro", version="1")


def test_a_missing_compiler_that_cc_names_is_not_replaced(variables):
    variables.setenv("CC", "no-such-compiler -x")
    assert build.find_compiler() is None


@needs_compiler
def test_a_failed_compilation_is_reported(variables, tmp_path):
    variables.setenv("CFLAGS", "--no-such-flag")
    assert not build.compile_client(tmp_path / "maestro", version="1")


@needs_compiler
def test_the_source_of_the_native_client_compiles_without_warnings(tmp_path):
    command = build.compile_command(tmp_path / "maestro", version="1")
    subprocess.run([*command, "-Werror", "-Wshadow", "-Wconversion"], check=True, timeout=60)
