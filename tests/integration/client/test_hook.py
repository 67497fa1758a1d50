"""`maestro hook` of both clients prints the server's answer, or prints nothing and exits with code 0."""

import time
from pathlib import Path

import pytest

from maestro.client.hook import LOG_BYTES_MAX

HOOK = ("hook", "claude", "PostToolUse")
QUIET = (0, b"", b"")


def log(home: Path) -> list[str]:
    return (home / "hooks.log").read_text().splitlines()


def outcome(ran) -> tuple[int, bytes, bytes]:
    return ran.returncode, ran.stdout, ran.stderr


def test_a_hook_without_a_server_prints_nothing_and_writes_a_log_line(client, home):
    assert outcome(client.run(*HOOK, input=b"{}")) == QUIET
    (line,) = log(home)
    at, what, why = line.split("\t")
    assert abs(time.time() - int(at)) < 60
    assert what == "claude PostToolUse" and why.startswith("no server answers")
    assert [found.name for found in home.iterdir()] == ["hooks.log"], "no server is started for a hook"


@pytest.mark.parametrize("variables", [{"MAESTRO_TOKEN": "t"}, {"MAESTRO_SERVER_URL": "http://127.0.0.1:1"}])
def test_a_hook_with_a_token_or_a_server_url_but_no_server_prints_nothing(client, home, variables):
    assert outcome(client.run(*HOOK, input=b"{}", env=variables)) == QUIET
    assert len(log(home)) == 1


def test_the_server_gets_the_payload_and_the_hook_prints_the_answer(client):
    def script(connection, request):
        assert request.arguments == [b"hook", b"claude", b"PostToolUse"]
        assert connection.request_input(b"I") == b'{"cwd": "/src"}'
        connection.send_frame(b"O", b'{"decision": "block"}\n')
        assert connection.is_output_confirmed()
        connection.send_frame(b"X", b"0")

    with client.serve(script):
        ran = client.run(*HOOK, input=b'{"cwd": "/src"}')
    assert outcome(ran) == (0, b'{"decision": "block"}\n', b"")


@pytest.mark.parametrize("code", [b"1", b"2", b"8"])
def test_a_failed_hook_exits_with_code_0_and_logs_the_error(client, home, code):
    def script(connection, request):
        connection.send_frame(b"E", b"maestro: something is\nwrong\n")
        connection.send_frame(b"X", code)

    with client.serve(script):
        assert outcome(client.run(*HOOK)) == QUIET
    assert log(home)[0].endswith("\tmaestro: something is wrong ")


@pytest.mark.parametrize("said", [b"", b"?\0\0\0\0", b"O\xff\xff\xff\xff", b"O\0\0\0\x04x"])
def test_a_hook_prints_nothing_when_the_server_ends_or_sends_an_invalid_frame(client, home, said):
    def script(connection, request):
        connection.sock.sendall(said)

    with client.serve(script):
        assert outcome(client.run(*HOOK)) == QUIET
    assert len(log(home)) == 1


def test_a_hook_prints_nothing_when_the_server_ends_while_the_person_is_asked(client, home):
    def script(connection, request):
        connection.send_frame(b"W", b"60000")

    with client.serve(script):
        assert outcome(client.run(*HOOK)) == QUIET
    assert "ended the connection" in log(home)[0]


def test_a_hook_does_not_wait_for_a_slow_server(client, home):
    def script(connection, request):
        assert connection.receive_frame() is None

    with client.serve(script):
        assert outcome(client.run(*HOOK)) == QUIET
    assert log(home)[0].endswith("did not answer in time")


def test_a_hook_waits_longer_when_the_server_waits_for_the_person(client, home):
    def script(connection, request):
        connection.send_frame(b"W", b"60000")
        time.sleep(4.5)  # longer than the time limit of an ordinary hook
        connection.send_frame(b"O", b"{}\n")
        connection.send_frame(b"X", b"0")

    with client.serve(script):
        assert outcome(client.run(*HOOK)) == (0, b"{}\n", b"")


@pytest.mark.parametrize("arguments", [["hook"], ["hook", "claude"], ["hook", "x\ny", "z"]])
def test_a_hook_with_missing_or_invalid_arguments_prints_nothing(client, home, arguments):
    assert outcome(client.run(*arguments)) == QUIET
    assert len(log(home)) == 1


def test_a_hook_log_above_the_size_limit_starts_again(client, home):
    (home / "hooks.log").write_bytes(b"x" * (LOG_BYTES_MAX + 1))
    client.run(*HOOK)
    assert len(log(home)) == 1


def test_a_hook_prints_nothing_when_the_log_cannot_be_written(client, home):
    (home / "hooks.log").mkdir()
    assert outcome(client.run(*HOOK)) == QUIET


def test_the_help_of_the_hook_command_comes_from_the_server(client):
    def script(connection, request):
        connection.send_frame(b"O", b"usage\n")
        connection.send_frame(b"X", b"2")

    with client.serve(script):
        assert outcome(client.run("hook", "--help")) == (2, b"usage\n", b"")
