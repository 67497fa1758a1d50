"""Both clients exchange frames with the server: output, input, confirmations and the end of the exchange."""

import os
import signal
import subprocess
import threading
from pathlib import Path

import pytest

from maestro.testing.frames import InputRefused

SECONDS = 20
FIVE_MB = os.urandom(5_000_000)


def pieces(data: bytes, size: int = 1 << 20):
    return (data[at : at + size] for at in range(0, len(data), size))


# Output from the server to the client.


def test_output_frames_go_to_standard_output_and_error_frames_to_standard_error(client):
    def script(connection, request):
        connection.send_frame(b"O", b"one\n")
        connection.send_frame(b"E", b"two\n")
        connection.send_frame(b"O", b"")
        connection.send_frame(b"O", b"three")
        connection.send_exit()

    with client.serve(script):
        ran = client.run("x")
    assert (ran.stdout, ran.stderr, ran.returncode) == (b"one\nthree", b"two\n", 0)


@pytest.mark.parametrize("size", [1, 4096, 1 << 20])
def test_large_output_arrives_complete(client, size):
    data = FIVE_MB if size > 1 else FIVE_MB[:20_000]

    def script(connection, request):
        for piece in pieces(data, size):
            connection.send_frame(b"O", piece)
        connection.send_exit()

    with client.serve(script):
        assert client.run("x").stdout == data


def test_large_output_arrives_complete_through_a_non_blocking_pipe(client):
    def script(connection, request):
        for piece in pieces(FIVE_MB):
            connection.send_frame(b"O", piece)
        assert connection.is_output_confirmed()
        connection.send_exit()

    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    with client.serve(script), os.fdopen(reading, "rb") as stream:
        process = client.start("x", stdout=writing)
        os.close(writing)
        assert stream.read() == FIVE_MB
        assert process.wait(SECONDS) == 0


@pytest.mark.parametrize("code", [0, 1, 7, 8, 130, 255])
def test_the_client_exits_with_the_exit_code_of_the_server(client, code):
    with client.serve(lambda connection, request: connection.send_exit(code)):
        assert client.run("x").returncode == code


# Input from the client to the server.


@pytest.mark.parametrize("data", [b"", b"short", FIVE_MB], ids=["nothing", "short", "5 MB"])
def test_the_server_receives_the_whole_standard_input_of_the_client(client, data):
    got = []

    def script(connection, request):
        got.append(connection.request_input(b"I"))
        connection.send_exit()

    with client.serve(script):
        assert client.run("x", input=data).returncode == 0
    assert got == [data]


def test_the_client_sends_input_and_receives_output_at_the_same_time(client):
    """The server answers while it reads. A client that only sends or only receives would block."""

    def script(connection, request):
        connection.send_frame(b"I")
        while (got := connection.receive_frame()) and got[1]:
            connection.send_frame(b"O", got[1] * 4)
        connection.send_exit()

    with client.serve(script):
        ran = client.run("x", input=FIVE_MB)
    assert len(ran.stdout) == 4 * len(FIVE_MB)
    assert ran.returncode == 0


def test_the_client_exits_when_the_server_ends_before_the_end_of_the_input(client):
    def script(connection, request):
        connection.send_frame(b"I")
        assert connection.receive_frame() == (b"D", b"first")
        connection.send_exit(3)

    with client.serve(script):
        process = client.start("x", stdin=subprocess.PIPE)
        process.stdin.write(b"first")
        process.stdin.flush()
        assert process.wait(SECONDS) == 3


def test_the_client_exits_when_the_server_does_not_read_the_input(client):
    def script(connection, request):
        connection.send_frame(b"I")
        connection.send_exit(2)

    with client.serve(script), (client.home / "big").open("wb+") as big:
        big.truncate(50_000_000)
        assert client.run("x", stdin=big).returncode == 2


def test_the_client_refuses_a_request_for_closed_standard_input(client):
    def script(connection, request):
        with pytest.raises(InputRefused, match="standard input"):
            connection.request_input(b"I")
        connection.send_exit()

    with client.serve(script):
        ran = subprocess.run(
            ["sh", "-c", 'exec "$0" x <&-', client.program],
            env=client.env,
            capture_output=True,
            timeout=SECONDS,
        )
    assert ran.returncode == 0


def test_files_are_read_relative_to_the_directory_of_the_client(client, tmp_path):
    (tmp_path / "big.log").write_bytes(FIVE_MB)
    (tmp_path / "none.log").touch()
    got = []

    def script(connection, request):
        got.append(connection.request_input(b"F", b"big.log"))
        got.append(connection.request_input(b"F", b"none.log"))
        got.append(connection.request_input(b"F", os.fsencode(tmp_path / "big.log")))
        got.append(connection.request_input(b"I"))
        connection.send_exit()

    with client.serve(script):
        assert client.run("x", cwd=tmp_path, input=b"typed").returncode == 0
    assert got == [FIVE_MB, b"", FIVE_MB, b"typed"]


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("x.log", "No such file or directory: x.log"),
        ("folder", "Is a directory: folder"),
        ("y" * 5000, "File name too long: y"),
    ],
)
def test_a_file_that_cannot_be_read_is_refused_with_the_reason(client, tmp_path, path, reason):
    (tmp_path / "folder").mkdir()
    answers = []

    def script(connection, request):
        with pytest.raises(InputRefused) as refused:
            connection.request_input(b"F", path.encode())
        answers.append(str(refused.value))
        assert connection.is_output_confirmed()
        connection.send_exit(6)

    with client.serve(script):
        assert client.run("x", cwd=tmp_path).returncode == 6
    assert answers[0].startswith(reason)


# Confirmation of output.


def test_output_is_confirmed_after_the_client_has_written_all_of_it(client):
    """The output is larger than a pipe's buffer, so the client cannot write all of it before the test reads."""
    confirmed = threading.Event()

    def script(connection, request):
        connection.send_frame(b"O", FIVE_MB[:100_000])
        if connection.is_output_confirmed():
            confirmed.set()
        connection.send_exit()

    with client.serve(script):
        process = client.start("x")
        assert process.stdout.read(1) == FIVE_MB[:1]
        assert not confirmed.wait(0.3)
        process.communicate(timeout=SECONDS)
        assert confirmed.wait(SECONDS)


@pytest.mark.parametrize("redirection", [">/dev/full", ">&-"])
def test_output_that_the_client_cannot_write_is_never_confirmed(client, redirection):
    if not Path("/dev/full").exists():
        pytest.skip("this system has no /dev/full")
    confirmed = []

    def script(connection, request):
        connection.send_frame(b"O", b"text\n")
        confirmed.append(connection.is_output_confirmed())

    with client.serve(script):
        ran = subprocess.run(
            ["sh", "-c", f'exec "$0" x {redirection}', client.program],
            env=client.env,
            stderr=subprocess.PIPE,
            timeout=SECONDS,
        )
    assert confirmed == [False]
    assert ran.returncode == 1
    assert ran.stderr.startswith(b"maestro: cannot write the output: ")


def test_a_closed_standard_error_prevents_neither_output_nor_success(client):
    def script(connection, request):
        connection.send_frame(b"E", b"a warning\n")
        connection.send_frame(b"O", b"text\n")
        assert connection.is_output_confirmed()
        connection.send_exit()

    with client.serve(script):
        ran = subprocess.run(
            ["sh", "-c", 'exec "$0" x 2>&-', client.program],
            env=client.env,
            stdout=subprocess.PIPE,
            timeout=SECONDS,
        )
    assert (ran.stdout, ran.returncode) == (b"text\n", 0)


# The end of the exchange.


@pytest.mark.parametrize("goes_on", [True, False], ids=["busy", "silent"])
def test_a_closed_output_pipe_ends_the_client_and_the_connection(client, goes_on):
    """Act like `| head -1`. The connection also ends when the server sends no further output."""
    ended = threading.Event()

    def script(connection, request):
        connection.send_frame(b"O", b"first\n")
        try:
            while goes_on:
                connection.send_frame(b"O", b"more\n")
        except OSError:
            pass
        assert connection.receive_frame() is None
        ended.set()

    with client.serve(script):
        process = client.start("x")
        assert process.stdout.readline() == b"first\n"
        process.stdout.close()
        assert process.wait(SECONDS) == 141
        assert ended.wait(SECONDS)
        assert process.stderr.read() == b""


@pytest.mark.parametrize("asks", [b"", b"I"], ids=["waiting", "reading"])
def test_an_interrupt_ends_the_client_and_the_connection(client, asks):
    ended = threading.Event()

    def script(connection, request):
        if asks:
            connection.send_frame(asks)
        connection.send_frame(b"O", b"first\n")
        assert connection.receive_frame() is None
        ended.set()

    with client.serve(script):
        process = client.start("x", stdin=subprocess.PIPE)
        assert process.stdout.readline() == b"first\n"
        process.send_signal(signal.SIGINT)
        assert process.wait(SECONDS) == 130
        assert ended.wait(SECONDS)
        assert process.stderr.read() == b""


@pytest.mark.parametrize(
    "said", [b"", b"O\0", b"O\0\0\0\x05hel", b"O\0\0\0\x05hello"], ids=["nothing", "head", "part", "frame"]
)
@pytest.mark.parametrize("asks", [b"", b"I\0\0\0\0"], ids=["waiting", "reading"])
def test_the_client_reports_a_server_that_ends_before_the_answer_is_complete(client, said, asks):
    def script(connection, request):
        connection.sock.sendall(asks + said)

    with client.serve(script):
        process = client.start("x", stdin=subprocess.PIPE)
        assert process.wait(SECONDS) == 8
        said_last = process.stderr.read()
    assert said_last == b"maestro: the server ended the connection before the answer was complete\n"


@pytest.mark.parametrize("said", [b"Z\0\0\0\0", b"O\0\x10\0\x01"], ids=["unknown", "too long"])
def test_an_invalid_frame_ends_the_client_with_an_error(client, said):
    def script(connection, request):
        connection.sock.sendall(said)
        assert connection.receive_frame() is None

    with client.serve(script) as server:
        ran = client.run("x")
    assert ran.returncode == 1
    assert ran.stderr.startswith(b"maestro: the server sent ")
    assert len(server.requests) == 1


def test_a_command_is_completed_without_a_reader_of_its_output(client):
    """Act like `| true`: the server completes the command although no process reads the output."""
    done = threading.Event()

    def script(connection, request):
        assert connection.request_input(b"I") == b"the text"
        done.set()
        connection.send_exit(5)

    reading, writing = os.pipe()
    os.close(reading)
    with client.serve(script):
        ran = client.run("x", input=b"the text", stdout=writing)
    os.close(writing)
    assert done.is_set()
    assert ran.returncode == 5
