"""Where each client looks for the server."""

import os

import pytest

SECONDS = 20


def greet(connection, request):
    connection.send_frame(b"O", b"hello\n")
    connection.send_exit()


def test_the_socket_that_is_named(client, home):
    client.env |= {"MAESTRO_SOCKET": str(home / "elsewhere"), "MAESTRO_HOME": "/nowhere"}
    with client.serve(greet):
        assert client.run("x").stdout == b"hello\n"


def test_a_named_socket_goes_before_a_url(client, home):
    client.env |= {"MAESTRO_SOCKET": str(home / "elsewhere"), "MAESTRO_SERVER_URL": "http://127.0.0.1:1"}
    with client.serve(greet):
        assert client.run("x").stdout == b"hello\n"


@pytest.mark.parametrize(
    ("variables", "place"),
    [
        ({}, ".local/share/maestro"),
        ({"XDG_DATA_HOME": "relative"}, ".local/share/maestro"),
        ({"XDG_DATA_HOME": "{home}/data"}, "data/maestro"),
        ({"XDG_DATA_HOME": "{home}/data", "MAESTRO_HOME": "{home}/mine"}, "mine"),
    ],
)
@pytest.mark.skipif(os.uname().sysname == "Darwin", reason="macOS has its own place for data")
def test_the_usual_places(client, home, variables, place):
    del client.env["MAESTRO_HOME"]
    (home / place).mkdir(parents=True)
    chosen = {name: value.format(home=home) for name, value in variables.items()}
    client.env["MAESTRO_SOCKET"] = str(home / place / "maestro.sock")
    with client.serve(greet):
        assert client.run("x", env=chosen | {"MAESTRO_SOCKET": ""}).stdout == b"hello\n"


def test_a_long_data_directory(client, home):
    """Longer than a socket's address; and relative paths still mean what they meant."""
    deep = home.joinpath(*["a-rather-long-name-of-a-directory"] * 8)
    deep.mkdir(parents=True)
    assert len(str(deep)) > 200
    (home / "short").symlink_to(deep)
    (home / "note").write_text("from here")
    got = []

    def script(connection, request):
        got.append((request.directory, connection.request_input(b"F", b"note")))
        connection.send_exit()

    client.env["MAESTRO_HOME"] = str(home / "short")
    with client.serve(script):
        assert client.run("x", env={"MAESTRO_HOME": str(deep)}, cwd=home).returncode == 0
    assert got == [(os.fsencode(home), b"from here")]


def test_a_socket_whose_name_is_too_long(client, home):
    ran = client.run("x", env={"MAESTRO_SOCKET": f"{home}/{'s' * 120}"})
    assert ran.returncode == 8
    assert b"the socket's name is longer than 103 bytes" in ran.stderr
