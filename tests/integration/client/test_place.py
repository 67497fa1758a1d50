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
