"""What no server heard is kept, by both clients alike, for the next one to take in."""

import os
import subprocess
import time

import pytest

from maestro.client.hook_spool import BYTES_MAX

STOP = ("hook", "gemini", "AfterAgent")
AGENT = {"MAESTRO_SESSION_ID": "ses_01", "MAESTRO_TOKEN": "its-token"}
PAYLOAD = b'{"session_id": "c1",\n "prompt": "\xc3\xa4"}'


@pytest.fixture
def place(home):
    made = home / "hooks"
    made.mkdir()
    return made


def kept(place) -> dict[str, bytes]:
    return {found.name: found.read_bytes() for found in place.iterdir()}


def test_without_a_server(client, place):
    before = time.time_ns()
    assert client.run(*STOP, input=PAYLOAD, env=AGENT).returncode == 0
    ((name, data),) = kept(place).items()
    assert name == "ses_01.gemini.AfterAgent"
    mark, at, token, payload = data.split(b"\n", 3)
    assert (mark, token, payload) == (b"maestro-hook/1", b"its-token", PAYLOAD)
    assert before < int(at) < time.time_ns()
    assert (place / name).stat().st_mode & 0o777 == 0o600


def test_beside_the_socket_that_was_asked(client, home, place):
    elsewhere = home / "other"
    (elsewhere / "hooks").mkdir(parents=True)
    client.run(*STOP, input=PAYLOAD, env=AGENT | {"MAESTRO_SOCKET": f"{elsewhere}/maestro.sock"})
    client.run(*STOP, input=PAYLOAD, env=AGENT | {"MAESTRO_SOCKET": "maestro.sock"}, cwd=elsewhere)
    assert kept(place) == {}
    assert list(kept(elsewhere / "hooks")) == ["ses_01.gemini.AfterAgent"]


@pytest.mark.parametrize("lingers", [False, True], ids=["it goes away", "it takes too long"])
def test_when_the_server_has_heard_it_and_does_not_answer(client, place, lingers):
    def script(connection, request):
        assert connection.request_input(b"I") == PAYLOAD
        if lingers:
            connection.receive_frame()

    with client.serve(script):
        client.run(*STOP, input=PAYLOAD, env=AGENT)
    (data,) = kept(place).values()
    assert data.endswith(b"\n" + PAYLOAD)


def test_a_hook_that_was_answered_is_not_kept(client, place):
    def script(connection, request):
        connection.request_input(b"I")
        connection.send_frame(b"O", b"{}\n")  # and then it goes away: but the agent has its answer

    with client.serve(script):
        client.run(*STOP, input=PAYLOAD, env=AGENT)
    assert kept(place) == {}


def test_nor_is_one_that_the_server_could_not_answer(client, place):
    def script(connection, request):
        connection.send_frame(b"X", b"1")

    with client.serve(script):
        client.run(*STOP, input=PAYLOAD, env=AGENT)
    assert kept(place) == {}


def test_the_last_of_each_event_is_enough(client, place):
    for words in (b'"first"', b'"second"'):
        client.run(*STOP, input=words, env=AGENT)
    client.run("hook", "gemini", "BeforeAgent", input=b'"third"', env=AGENT)
    assert sorted(data.rpartition(b"\n")[2] for data in kept(place).values()) == [b'"second"', b'"third"']


@pytest.mark.parametrize(
    "variables",
    [
        {"MAESTRO_TOKEN": ""},
        {"MAESTRO_TOKEN": "its\ntoken"},
        {"MAESTRO_SESSION_ID": ""},
        {"MAESTRO_SESSION_ID": "../ses_01"},
    ],
)
def test_only_of_agents_that_can_be_known_later(client, place, variables):
    client.run(*STOP, input=PAYLOAD, env=AGENT | variables)
    assert kept(place) == {}


@pytest.mark.parametrize("words", [["hook"], ["hook", "gemini"], ["hook", "gemini", "a/b"], ["hook", "ä", "Stop"]])
def test_words_that_are_no_hook(client, place, words):
    assert client.run(*words, input=PAYLOAD, env=AGENT).returncode == 0
    assert kept(place) == {}


@pytest.mark.parametrize(("size", "number"), [(BYTES_MAX, 1), (BYTES_MAX + 1, 0)])
def test_not_what_is_huge(client, place, size, number):
    client.run(*STOP, input=b"x" * size, env=AGENT)
    assert len(kept(place)) == number
    assert all(data.endswith(b"\n" + b"x" * size) for data in kept(place).values())


def test_nor_what_does_not_come_to_its_end(client, place):
    reads, writes = os.pipe()
    os.write(writes, b'{"session')
    process = client.start(*STOP, stdin=reads, env=AGENT)
    os.close(reads)
    try:
        assert process.wait(timeout=3) == 0, "the agent is not held up by its own program"
    finally:
        os.close(writes)
    assert kept(place) == {}


@pytest.mark.parametrize("closing", ["<&-", "0>/dev/null"])
def test_nor_where_there_is_nothing_to_read(client, home, place, closing):
    words = ["sh", "-c", f'exec "$0" "$@" {closing}', str(client.program), *STOP]
    ran = subprocess.run(words, env=client.env | AGENT, capture_output=True, cwd=home, check=False, timeout=10)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, b"", b"")
    assert kept(place) == {}


def test_without_a_place_for_it_nothing_is_made(client, home):
    ran = client.run(*STOP, input=PAYLOAD, env=AGENT)
    assert (ran.returncode, ran.stderr) == (0, b"")
    assert [found.name for found in home.iterdir()] == ["hooks.log"]


def test_one_that_waits_for_a_person_asks_again_instead(client, place):
    process = client.start("hook", "--patient", "gemini", "BeforeTool", stdin=subprocess.PIPE, env=AGENT)
    process.stdin.write(PAYLOAD)
    process.stdin.close()
    time.sleep(1.0)
    process.terminate()
    assert process.wait(timeout=5) == 2
    assert kept(place) == {}
