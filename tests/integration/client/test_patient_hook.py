"""`maestro hook --patient`: an agent that waits for a person's answer goes on waiting while there is no server."""

import os
import signal
import subprocess
import time

from maestro.tools import hook_settings
from maestro.tools.gemini.hooks import DIALECT

PATIENT = ("hook", "--patient", "claude", "PermissionRequest")
PAYLOAD = b'{"tool_name": "Bash", "tool_input": {"command": "' + b"x" * 200_000 + b'"}}'
REFUSED = 2
ANSWER = b'{"decision": "allow"}\n'


def asked(client) -> subprocess.Popen:
    process = client.start(*PATIENT, stdin=subprocess.PIPE)
    process.stdin.write(PAYLOAD)
    process.stdin.close()
    process.stdin = None
    return process


def answers(connection, request):
    assert request.arguments == [b"hook", b"claude", b"PermissionRequest", b"--patient"]
    assert connection.request_input(b"I") == PAYLOAD
    connection.send_frame(b"O", ANSWER)
    connection.send_frame(b"X", b"0")


def test_it_waits_for_a_server(client):
    process = asked(client)
    time.sleep(1)
    assert process.poll() is None
    with client.serve(answers):
        out, err = process.communicate(timeout=30)
    assert (process.returncode, out, err) == (0, ANSWER, b"")


def test_it_asks_again_when_a_server_goes_away_without_an_answer(client):
    heard = []

    def goes_away(connection, request):
        heard.append(connection.request_input(b"I"))

    with client.serve(goes_away):
        process = asked(client)
        while not heard:
            time.sleep(0.01)
    assert process.poll() is None
    with client.serve(answers):
        out, _ = process.communicate(timeout=30)
    assert (process.returncode, out) == (0, ANSWER)


def test_a_server_that_could_not_answer_is_asked_again(client):
    heard = []

    def fails(connection, request):
        heard.append(connection.request_input(b"I"))
        connection.send_frame(b"X", b"1")

    with client.serve(fails):
        process = asked(client)
        while not heard:
            time.sleep(0.01)
    assert process.poll() is None
    with client.serve(answers):
        out, err = process.communicate(timeout=30)
    assert (process.returncode, out, err) == (0, ANSWER, b"")


def test_nothing_to_say_is_an_answer(client):
    def says_nothing(connection, request):
        connection.send_frame(b"X", b"0")

    with client.serve(says_nothing):
        process = asked(client)
        out, _ = process.communicate(timeout=30)
    assert (process.returncode, out) == (0, b"")


def test_whoever_wants_no_answer_any_more_ends_it(client):
    gone = []

    def holds(connection, request):
        connection.request_input(b"I")
        gone.append(False)
        while connection.receive_frame() is not None:
            pass
        gone.append(True)

    with client.serve(holds):
        process = asked(client)
        while not gone:
            time.sleep(0.01)
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=30) == REFUSED, "that is no leave to go on"
        ends = time.monotonic() + 10
        while gone[-1] is False and time.monotonic() < ends:
            time.sleep(0.01)
    assert gone[-1] is True, "the server still holds its question"


def test_an_answer_that_was_cut_off_is_not_passed_on(client):
    """Two answers in a row are none that a program can read; one takes that for leave."""
    heard = []

    def cut_off(connection, request):
        if not heard:
            heard.append(connection.request_input(b"I"))
            connection.send_frame(b"O", b'{"decision": "deny"}\n')
            return
        answers(connection, request)

    with client.serve(cut_off):
        process = asked(client)
        out, _ = process.communicate(timeout=30)
    assert (process.returncode, out) == (0, ANSWER)


def test_a_hook_that_is_ended_with_its_program_refuses(client):
    """As gemini runs it: in a shell of the same process group."""
    (group,) = hook_settings.hooks_in_terminal(DIALECT, [str(client.program), "hook"])["BeforeTool"]
    line = group["hooks"][0]["command"]
    for number in (signal.SIGTERM, signal.SIGHUP):
        process = subprocess.Popen(
            ["bash", "-c", line],
            env=client.env,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        process.stdin.write(b"{}")
        process.stdin.close()
        process.stdin = None
        time.sleep(1)
        os.killpg(process.pid, number)
        out, err = process.communicate(timeout=30)
        assert (process.returncode, out) == (REFUSED, b"")
        assert b"could not be asked" in err
