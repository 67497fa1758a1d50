"""What the client does by itself, and when it asks another server."""

import sys
import types

import pytest

from maestro import __version__
from maestro.client import local_commands, main
from maestro.wire import exit_codes


@pytest.fixture(autouse=True)
def variables(monkeypatch, tmp_path):
    for name in (
        "MAESTRO_SOCKET",
        "MAESTRO_SERVER_URL",
        "MAESTRO_TOKEN",
        "MAESTRO_SESSION_ID",
        "MAESTRO_CLIENT",
    ):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("MAESTRO_HOME", str(tmp_path))
    return monkeypatch


def stand_in(monkeypatch, name, **functions):
    module = types.ModuleType(name)
    vars(module).update(functions)
    monkeypatch.setitem(sys.modules, name, module)


@pytest.mark.parametrize(("first", "kind"), [("", "python"), ("native", "native"), ("odd", "python")])
def test_version(variables, capfd, first, kind):
    variables.setenv("MAESTRO_CLIENT", first)
    assert local_commands.run_local_command(["--version"]) == 0
    assert capfd.readouterr().out == f"maestro {__version__} ({kind} client)\n"


@pytest.mark.parametrize("arguments", [["teleport"], []])
def test_an_unknown_local_command(arguments):
    with pytest.raises(main.CommandEnded) as ended:
        local_commands.run_local_command(arguments)
    assert ended.value.code == exit_codes.FAILED


def test_the_demo_gets_its_arguments(variables):
    stand_in(variables, "maestro.demo", main=lambda arguments: len(arguments))
    with pytest.raises(SystemExit) as left:
        local_commands.connect_without_server(["demo", "--fast"], path="p", problem=FileNotFoundError())
    assert left.value.code == 1


def test_a_server_elsewhere_is_asked(variables):
    stand_in(variables, "maestro.client.remote", run=lambda arguments: 6 if arguments == ["x"] else 0)
    variables.setenv("MAESTRO_SERVER_URL", "http://127.0.0.1:1")
    with pytest.raises(SystemExit) as left:
        local_commands.connect_without_server(["x"], path="p", problem=None)
    assert left.value.code == 6


def test_a_socket_that_may_not_be_used_is_not_a_missing_server(variables):
    """A sandbox that forbids sockets must not look as if no server ran."""
    with pytest.raises(main.CommandEnded) as ended:
        local_commands.connect_without_server(["x"], path="/p", problem=PermissionError(1, "Operation not permitted"))
    assert ended.value.message == "cannot reach the server at /p: Operation not permitted"
    assert ended.value.code == exit_codes.NO_SERVER
