"""The client runs local commands by itself, and sends other commands to a remote server or reports the problem."""

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
def test_version_names_the_version_and_the_kind_of_client(variables, capfd, first, kind):
    variables.setenv("MAESTRO_CLIENT", first)
    assert local_commands.run_local_command(["--version"]) == 0
    assert capfd.readouterr().out == f"maestro {__version__} ({kind} client)\n"


@pytest.mark.parametrize("arguments", [["teleport"], []])
def test_an_unknown_local_command_fails(arguments):
    with pytest.raises(main.CommandEnded) as ended:
        local_commands.run_local_command(arguments)
    assert ended.value.code == exit_codes.FAILED


def test_the_demo_command_gets_the_arguments_after_its_name(variables):
    stand_in(variables, "maestro.demo", main=lambda arguments: len(arguments))
    with pytest.raises(SystemExit) as left:
        local_commands.connect_without_server(["demo", "--fast"], path="p", problem=FileNotFoundError())
    assert left.value.code == 1


def test_a_command_runs_on_the_remote_server_that_the_environment_names(variables):
    stand_in(variables, "maestro.client.remote", run=lambda arguments: 6 if arguments == ["x"] else 0)
    variables.setenv("MAESTRO_SERVER_URL", "http://127.0.0.1:1")
    with pytest.raises(SystemExit) as left:
        local_commands.connect_without_server(["x"], path="p", problem=None)
    assert left.value.code == 6


def test_a_forbidden_socket_is_reported_with_its_problem(variables):
    """Check that the message differs from the message of a missing server: a sandbox may forbid sockets."""
    with pytest.raises(main.CommandEnded) as ended:
        local_commands.connect_without_server(["x"], path="/p", problem=PermissionError(1, "Operation not permitted"))
    assert ended.value.message == "cannot reach the server at /p: Operation not permitted"
    assert ended.value.code == exit_codes.NO_SERVER
