"""Both clients find the socket of the server by their environment variables."""

import os

import pytest

SECONDS = 20


def greet(connection, request):
    connection.send_frame(b"O", b"hello\n")
    connection.send_exit()


def test_the_client_uses_the_socket_that_maestro_socket_names(client, home):
    client.env |= {"MAESTRO_SOCKET": str(home / "elsewhere"), "MAESTRO_HOME": "/nowhere"}
    with client.serve(greet):
        assert client.run("x").stdout == b"hello\n"


def test_maestro_socket_takes_precedence_over_maestro_server_url(client, home):
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
def test_the_client_finds_the_socket_in_the_default_data_directory(client, home, variables, place):
    del client.env["MAESTRO_HOME"]
    (home / place).mkdir(parents=True)
    chosen = {name: value.format(home=home) for name, value in variables.items()}
    client.env["MAESTRO_SOCKET"] = str(home / place / "maestro.sock")
    with client.serve(greet):
        assert client.run("x", env=chosen | {"MAESTRO_SOCKET": ""}).stdout == b"hello\n"
