"""Both clients store a hook that no server got, for the next server."""

import os
import subprocess
import time

import pytest

from maestro.wire.late_hook import PAYLOAD_BYTES_MAX

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


def test_a_hook_without_a_server_is_stored(client, place):
    before = time.time_ns()
    assert client.run(*STOP, input=PAYLOAD, env=AGENT).returncode == 0
    ((name, data),) = kept(place).items()
    assert name == "ses_01.gemini.AfterAgent"
    mark, at, token, payload = data.split(b"\n", 3)
    assert (mark, token, payload) == (b"maestro-hook/1", b"its-token", PAYLOAD)
    assert before < int(at) < time.time_ns()
    assert (place / name).stat().st_mode & 0o777 == 0o600


def test_a_hook_is_stored_beside_the_socket_of_its_server(client, home, place):
    elsewhere = home / "other"
    (elsewhere / "hooks").mkdir(parents=True)
    client.run(*STOP, input=PAYLOAD, env=AGENT | {"MAESTRO_SOCKET": f"{elsewhere}/maestro.sock"})
    client.run(*STOP, input=PAYLOAD, env=AGENT | {"MAESTRO_SOCKET": "maestro.sock"}, cwd=elsewhere)
    assert kept(place) == {}
    assert list(kept(elsewhere / "hooks")) == ["ses_01.gemini.AfterAgent"]


@pytest.mark.parametrize("lingers", [False, True], ids=["it goes away", "it takes too long"])
def test_a_hook_without_an_answer_is_stored(client, place, lingers):
    def script(connection, request):
        assert connection.request_input(b"I") == PAYLOAD
        if lingers:
            connection.receive_frame()

    with client.serve(script):
        client.run(*STOP, input=PAYLOAD, env=AGENT)
    (data,) = kept(place).values()
    assert data.endswith(b"\n" + PAYLOAD)


def test_a_hook_that_was_answered_is_not_stored(client, place):
    def script(connection, request):
        connection.request_input(b"I")
        connection.send_frame(b"O", b"{}\n")  # the connection then ends, but the program already has the answer

    with client.serve(script):
        client.run(*STOP, input=PAYLOAD, env=AGENT)
    assert kept(place) == {}


def test_a_hook_that_the_server_refused_is_not_stored(client, place):
    def script(connection, request):
        connection.send_frame(b"X", b"1")

    with client.serve(script):
        client.run(*STOP, input=PAYLOAD, env=AGENT)
    assert kept(place) == {}


def test_only_the_last_hook_of_each_event_is_stored(client, place):
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
def test_a_hook_without_a_valid_session_and_token_is_not_stored(client, place, variables):
    client.run(*STOP, input=PAYLOAD, env=AGENT | variables)
    assert kept(place) == {}


@pytest.mark.parametrize("words", [["hook"], ["hook", "gemini"], ["hook", "gemini", "a/b"], ["hook", "ä", "Stop"]])
def test_arguments_that_name_no_hook_store_nothing(client, place, words):
    assert client.run(*words, input=PAYLOAD, env=AGENT).returncode == 0
    assert kept(place) == {}


@pytest.mark.parametrize(("size", "number"), [(PAYLOAD_BYTES_MAX, 1), (PAYLOAD_BYTES_MAX + 1, 0)])
def test_a_payload_above_the_limit_is_not_stored(client, place, size, number):
    client.run(*STOP, input=b"x" * size, env=AGENT)
    assert len(kept(place)) == number
    assert all(data.endswith(b"\n" + b"x" * size) for data in kept(place).values())


def test_an_incomplete_payload_is_not_stored_and_not_waited_for(client, place):
    reads, writes = os.pipe()
    os.write(writes, b'{"session')
    process = client.start(*STOP, stdin=reads, env=AGENT)
    os.close(reads)
    try:
        assert process.wait(timeout=3) == 0, "the hook does not wait for an incomplete payload"
    finally:
        os.close(writes)
    assert kept(place) == {}


@pytest.mark.parametrize("closing", ["<&-", "0>/dev/null"])
def test_a_hook_without_standard_input_is_not_stored(client, home, place, closing):
    words = ["sh", "-c", f'exec "$0" "$@" {closing}', str(client.program), *STOP]
    ran = subprocess.run(words, env=client.env | AGENT, capture_output=True, cwd=home, check=False, timeout=10)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, b"", b"")
    assert kept(place) == {}


def test_a_hook_does_not_create_the_folder_for_late_hooks(client, home):
    ran = client.run(*STOP, input=PAYLOAD, env=AGENT)
    assert (ran.returncode, ran.stderr) == (0, b"")
    assert [found.name for found in home.iterdir()] == ["hooks.log"]


def test_a_patient_hook_is_repeated_and_not_stored(client, place):
    process = client.start("hook", "--patient", "gemini", "BeforeTool", stdin=subprocess.PIPE, env=AGENT)
    process.stdin.write(PAYLOAD)
    process.stdin.close()
    time.sleep(1.0)
    process.terminate()
    assert process.wait(timeout=5) == 2
    assert kept(place) == {}
