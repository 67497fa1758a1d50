"""Both clients send a complete request: arguments, identity, variables, directory and terminals."""

import fcntl
import os
import pty
import struct
import subprocess
import termios

import pytest

import maestro


def done(connection, request):
    connection.send_exit()


@pytest.fixture
def ask(client):
    """Return a function that runs the client and returns the request that the server received."""

    def run(*arguments, **options):
        with client.serve(done) as server:
            assert client.run(*arguments, **options).returncode == 0
        (request,) = server.requests
        return request

    return run


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        [""],
        ["", ""],
        ["mail", "send", "", "--message", "two\nlines"],
        ["Grüße", "日本"],
        [b"\xff\xfe not utf-8"],
        ["x" * 100_000],
    ],
)
def test_arguments_reach_the_server_unchanged(ask, arguments):
    assert ask(*arguments).arguments == [os.fsencode(word) for word in arguments]


def test_the_request_names_the_protocol_the_client_and_its_version(ask, client):
    request = ask("x")
    assert request.protocol == b"maestro/2"
    assert request.client == client.kind.encode()
    assert request.version == maestro.__version__.encode()
    assert request.terminals == b"000"
    assert request.columns == b"0"


def test_the_client_sends_only_the_variables_that_the_server_needs(ask, home):
    chosen = {
        "MAESTRO_TOKEN": "secret=with=signs",
        "MAESTRO_EMPTY": "",
        "NO_COLOR": "1",
        "FORCE_COLOR": "0",
        "TERM": "xterm",
        "LANG": "C.UTF-8",
        "LC_ALL": "C.UTF-8",
        "CLAUDECODE": "1",
    }
    request = ask("x", env=chosen | {"AWS_SECRET": "no", "TERMINFO": "no", "NOT_MAESTRO_X": "no"})
    expected = chosen | {"MAESTRO_HOME": str(home)}
    assert request.variables == {name.encode(): value.encode() for name, value in expected.items()}


def test_the_client_sends_its_directory(ask, tmp_path):
    assert ask("x", cwd=tmp_path).directory == os.fsencode(tmp_path)


def test_the_client_sends_a_dash_for_a_deleted_directory(ask, tmp_path, client):
    gone = tmp_path / "gone"
    gone.mkdir()
    client.program = ["sh", "-c", 'rmdir "$0" && exec "$@"', str(gone), client.program]
    with client.serve(done) as server:
        ran = subprocess.run([*client.program, "x"], cwd=gone, env=client.env, capture_output=True, timeout=20)
    assert ran.returncode == 0
    assert server.requests[0].directory == b"-"
    assert server.requests[0].arguments == [b"x"]


def test_the_client_sends_its_terminals_and_the_terminal_width(ask):
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 97, 0, 0))
    try:
        assert (ask("x", stdout=theirs).terminals, ask("x", stdout=theirs).columns) == (b"010", b"97")
        assert (ask("x", stderr=theirs).terminals, ask("x", stderr=theirs).columns) == (b"001", b"97")
        assert ask("x", stdout=theirs, env={"COLUMNS": "61"}).columns == b"61"
        assert ask("x", stdout=theirs, env={"COLUMNS": "wide"}).columns == b"97"
    finally:
        os.close(ours)
        os.close(theirs)


def test_a_request_above_1_mib_is_refused_before_it_is_sent(client):
    with client.serve(done) as server:
        ran = client.run(*["x" * 120_000] * 10)
    assert ran.returncode == 2
    assert b"longer than 1 MiB" in ran.stderr
    assert server.requests == []
