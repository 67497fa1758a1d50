"""Both clients behave correctly without a server, and with a server that leaves a command to the client."""

import socket

import pytest

import maestro

NOT_FOUND = "maestro: no server answers at {path}\nthe person starts a server with: maestro up\n"
MISNAMED = "maestro: no server answers at {path}\ncorrect or unset MAESTRO_SOCKET\n"


@pytest.mark.parametrize("name", ["MAESTRO_SOCKET", "MAESTRO_TOKEN", "MAESTRO_SESSION_ID"])
@pytest.mark.parametrize("arguments", [["task", "list"], ["status"], ["down"], ["--help"], []])
def test_no_server_is_started_for_a_session_or_for_a_named_socket(client, home, name, arguments):
    ran = client.run(*arguments, env={name: str(home / "none")})
    path = home / ("none" if name == "MAESTRO_SOCKET" else "maestro.sock")
    assert ran.returncode == 8
    expected = MISNAMED if name == "MAESTRO_SOCKET" else NOT_FOUND
    assert ran.stderr.decode() == expected.format(path=path)
    assert list(home.iterdir()) == []


def test_the_socket_of_a_dead_server_counts_as_no_server(client, home):
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as left:
        left.bind(str(home / "maestro.sock"))
    ran = client.run("task", "list", env={"MAESTRO_TOKEN": "t"})
    assert (ran.returncode, ran.stderr.decode()) == (8, NOT_FOUND.format(path=home / "maestro.sock"))


def test_an_unreachable_remote_server_gives_exit_code_8_without_a_traceback(client):
    ran = client.run("task", "list", env={"MAESTRO_SERVER_URL": "http://127.0.0.1:1"})
    assert ran.returncode == 8
    assert ran.stderr.startswith(b"maestro: ")
    assert b"Traceback" not in ran.stderr


@pytest.mark.parametrize(("command", "code"), [("status", 8), ("down", 0)])
def test_status_and_down_do_not_start_a_server(client, home, command, code):
    ran = client.run(command)
    assert (ran.returncode, ran.stdout.decode()) == (code, f"no server runs for {home}\n")
    assert list(home.iterdir()) == []


@pytest.mark.parametrize("argument", ["--version", "version"])
@pytest.mark.parametrize("variables", [{}, {"MAESTRO_SOCKET": "/nowhere/s"}, {"MAESTRO_TOKEN": "t"}])
def test_the_version_needs_no_server(client, argument, variables):
    ran = client.run(argument, env=variables)
    assert ran.stdout.decode() == f"maestro {maestro.__version__} ({client.kind} client)\n"
    assert ran.returncode == 0


def test_a_local_command_is_requested_with_all_its_arguments(client):
    with client.serve(lambda connection, request: connection.send_frame(b"L")) as server:
        ran = client.run("version", "and", "")
    assert ran.stdout.decode() == f"maestro {maestro.__version__} ({client.kind} client)\n"
    assert [request.arguments for request in server.requests] == [[b"version", b"and", b""]] * (
        2 if client.kind == "native" else 1
    )


def test_the_client_handles_a_local_action_without_a_second_request(client):
    left = b'{"do": "fly", "to": "the moon"}'
    with client.serve(lambda connection, request: connection.send_frame(b"L", left)) as server:
        ran = client.run("session", "attach", "parser")
    assert ran.returncode == 1 and b"does not know" in ran.stderr
    assert len(server.requests) == 1


def test_an_unknown_local_command_is_named_in_the_error(client):
    with client.serve(lambda connection, request: connection.send_frame(b"L")):
        ran = client.run("teleport")
    assert ran.returncode == 1
    assert b"`teleport`" in ran.stderr


def test_the_native_client_finds_its_script_through_a_link(make_client, tmp_path):
    client = make_client("native")
    link = tmp_path / "maestro"
    link.symlink_to(client.program)
    client.program = link
    assert b"(native client)" in client.run("--version").stdout


def test_the_native_client_reports_a_missing_script_and_runs_a_script_below_a_path_with_a_space(
    make_client, programs, tmp_path
):
    """The first line of a script cannot contain a path with a space. The client calls the interpreter instead."""
    client = make_client("native")
    directory = tmp_path / "with a space"
    directory.mkdir()
    client.program = directory / "maestro"
    client.program.write_bytes(programs["native"].read_bytes())
    client.program.chmod(0o755)
    assert b"cannot run maestro-py" in client.run("--version").stderr
    (directory / "python").symlink_to(programs["python"].with_name("python"))
    (directory / "maestro-py").write_text(f"#!{directory}/python\n")
    (directory / "maestro-py").chmod(0o755)
    ran = client.run("--version")
    assert ran.stdout.decode() == f"maestro {maestro.__version__} (native client)\n"
