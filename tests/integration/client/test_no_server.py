"""What each client does when nobody answers, or when the server leaves a command to it."""

import socket

import pytest

import maestro

NOT_FOUND = "maestro: no server answers at {path}\nthe person starts a server with: maestro up\n"
MISNAMED = "maestro: no server answers at {path}\ncorrect or unset MAESTRO_SOCKET\n"


@pytest.mark.parametrize("name", ["MAESTRO_SOCKET", "MAESTRO_TOKEN", "MAESTRO_SESSION_ID"])
@pytest.mark.parametrize("arguments", [["task", "list"], ["status"], ["down"], ["--help"], []])
def test_nothing_is_started_for_whoever_was_told_where_it_is(client, home, name, arguments):
    ran = client.run(*arguments, env={name: str(home / "none")})
    path = home / ("none" if name == "MAESTRO_SOCKET" else "maestro.sock")
    assert ran.returncode == 8
    expected = MISNAMED if name == "MAESTRO_SOCKET" else NOT_FOUND
    assert ran.stderr.decode() == expected.format(path=path)
    assert list(home.iterdir()) == []


def test_a_socket_that_a_dead_server_left_is_no_server(client, home):
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as left:
        left.bind(str(home / "maestro.sock"))
    ran = client.run("task", "list", env={"MAESTRO_TOKEN": "t"})
    assert (ran.returncode, ran.stderr.decode()) == (8, NOT_FOUND.format(path=home / "maestro.sock"))


def test_a_server_elsewhere(client):
    ran = client.run("task", "list", env={"MAESTRO_SERVER_URL": "http://127.0.0.1:1"})
    assert ran.returncode == 8
    assert ran.stderr.startswith(b"maestro: ")
    assert b"Traceback" not in ran.stderr


@pytest.mark.parametrize(("command", "code"), [("status", 8), ("down", 0)])
def test_asking_after_the_server_does_not_start_one(client, home, command, code):
    ran = client.run(command)
    assert (ran.returncode, ran.stdout.decode()) == (code, f"no server runs for {home}\n")
    assert list(home.iterdir()) == []


@pytest.mark.parametrize("argument", ["--version", "version"])
@pytest.mark.parametrize("variables", [{}, {"MAESTRO_SOCKET": "/nowhere/s"}, {"MAESTRO_TOKEN": "t"}])
def test_the_version_needs_no_server(client, argument, variables):
    ran = client.run(argument, env=variables)
    assert ran.stdout.decode() == f"maestro {maestro.__version__} ({client.kind} client)\n"
    assert ran.returncode == 0


def test_a_local_command_is_handed_over_with_its_arguments(client):
    with client.serve(lambda connection, request: connection.send_frame(b"L")) as server:
        ran = client.run("version", "and", "")
    assert ran.stdout.decode() == f"maestro {maestro.__version__} ({client.kind} client)\n"
    assert [request.arguments for request in server.requests] == [[b"version", b"and", b""]] * (
        2 if client.kind == "native" else 1
    )


def test_what_the_server_leaves_to_the_client_is_gone_on_with_without_asking_again(client):
    left = b'{"do": "fly", "to": "the moon"}'
    with client.serve(lambda connection, request: connection.send_frame(b"L", left)) as server:
        ran = client.run("session", "attach", "parser")
    assert ran.returncode == 1 and b"does not know" in ran.stderr
    assert len(server.requests) == 1


def test_an_unknown_local_command_is_said_so(client):
    with client.serve(lambda connection, request: connection.send_frame(b"L")):
        ran = client.run("teleport")
    assert ran.returncode == 1
    assert b"`teleport`" in ran.stderr


def test_the_native_client_is_found_through_a_link(make_client, tmp_path):
    client = make_client("native")
    link = tmp_path / "maestro"
    link.symlink_to(client.program)
    client.program = link
    assert b"(native client)" in client.run("--version").stdout


def test_the_native_client_without_its_script(make_client, programs, tmp_path):
    """A path with a space cannot stand in a script's first line; the interpreter beside it can be called."""
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
