"""`maestro hook --patient` waits for the person's answer, also while no server runs."""

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


def test_a_patient_hook_waits_for_a_server(client):
    process = asked(client)
    time.sleep(1)
    assert process.poll() is None
    with client.serve(answers):
        out, err = process.communicate(timeout=30)
    assert (process.returncode, out, err) == (0, ANSWER, b"")


def test_a_patient_hook_asks_again_when_a_server_ends_without_an_answer(client):
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


def test_a_patient_hook_asks_again_after_an_error_of_the_server(client):
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


def test_a_patient_hook_accepts_an_empty_answer(client):
    def says_nothing(connection, request):
        connection.send_frame(b"X", b"0")

    with client.serve(says_nothing):
        process = asked(client)
        out, _ = process.communicate(timeout=30)
    assert (process.returncode, out) == (0, b"")


def test_a_terminated_patient_hook_refuses_and_closes_its_connection(client):
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
        assert process.wait(timeout=30) == REFUSED, "a terminated hook must not allow the tool call"
        ends = time.monotonic() + 10
        while gone[-1] is False and time.monotonic() < ends:
            time.sleep(0.01)
    assert gone[-1] is True, "the connection of the terminated hook stays open"


def test_a_patient_hook_does_not_print_an_incomplete_answer(client):
    """A program cannot read two answers in a row. One program takes such an output as permission."""
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


def test_a_patient_hook_that_ends_with_its_program_refuses(client):
    """Run the hook as gemini does: in a shell of the same process group."""
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
