"""`maestro hook` of both clients: an agent is answered, or goes on without, and never hears of it."""

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


def test_no_server_is_none_of_the_agents_business(client, home):
    assert outcome(client.run(*HOOK, input=b"{}")) == QUIET
    (line,) = log(home)
    at, what, why = line.split("\t")
    assert abs(time.time() - int(at)) < 60
    assert what == "claude PostToolUse" and why.startswith("no server answers")
    assert [found.name for found in home.iterdir()] == ["hooks.log"], "no server is started for a hook"


@pytest.mark.parametrize("variables", [{"MAESTRO_TOKEN": "t"}, {"MAESTRO_SERVER_URL": "http://127.0.0.1:1"}])
def test_nor_is_one_that_is_elsewhere(client, home, variables):
    assert outcome(client.run(*HOOK, input=b"{}", env=variables)) == QUIET
    assert len(log(home)) == 1


def test_the_payload_goes_up_and_the_answer_comes_out(client):
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
def test_no_exit_code_but_0_reaches_the_agent(client, home, code):
    def script(connection, request):
        connection.send_frame(b"E", b"maestro: something is\nwrong\n")
        connection.send_frame(b"X", code)

    with client.serve(script):
        assert outcome(client.run(*HOOK)) == QUIET
    assert log(home)[0].endswith("\tmaestro: something is wrong ")


@pytest.mark.parametrize("said", [b"", b"?\0\0\0\0", b"O\xff\xff\xff\xff", b"O\0\0\0\x04x"])
def test_a_server_that_goes_away_or_talks_nonsense(client, home, said):
    def script(connection, request):
        connection.sock.sendall(said)

    with client.serve(script):
        assert outcome(client.run(*HOOK)) == QUIET
    assert len(log(home)) == 1


def test_a_server_that_went_away_while_the_person_was_asked(client, home):
    def script(connection, request):
        connection.send_frame(b"W", b"60000")

    with client.serve(script):
        assert outcome(client.run(*HOOK)) == QUIET
    assert "ended the connection" in log(home)[0]


def test_a_server_that_is_slow_is_not_waited_for(client, home):
    def script(connection, request):
        assert connection.receive_frame() is None

    with client.serve(script):
        assert outcome(client.run(*HOOK)) == QUIET
    assert log(home)[0].endswith("did not answer in time")


def test_one_that_says_it_waits_for_a_person_is(client, home):
    def script(connection, request):
        connection.send_frame(b"W", b"60000")
        time.sleep(4.5)  # longer than an ordinary hook may take
        connection.send_frame(b"O", b"{}\n")
        connection.send_frame(b"X", b"0")

    with client.serve(script):
        assert outcome(client.run(*HOOK)) == (0, b"{}\n", b"")


@pytest.mark.parametrize("arguments", [["hook"], ["hook", "claude"], ["hook", "x\ny", "z"]])
def test_words_that_are_missing_break_nothing(client, home, arguments):
    assert outcome(client.run(*arguments)) == QUIET
    assert len(log(home)) == 1


def test_the_log_does_not_grow_for_ever(client, home):
    (home / "hooks.log").write_bytes(b"x" * (LOG_BYTES_MAX + 1))
    client.run(*HOOK)
    assert len(log(home)) == 1


def test_a_log_that_cannot_be_written_breaks_nothing(client, home):
    (home / "hooks.log").mkdir()
    assert outcome(client.run(*HOOK)) == QUIET


def test_a_server_is_asked_for_help_as_ever(client):
    def script(connection, request):
        connection.send_frame(b"O", b"usage\n")
        connection.send_frame(b"X", b"2")

    with client.serve(script):
        assert outcome(client.run("hook", "--help")) == (2, b"usage\n", b"")
