"""`maestro hook --patient TOOL EVENT`: a hook that waits for the person's answer, also while the server restarts.

A held tool call must stay held when the server restarts. The hook prints one whole answer, or refuses the call: some
programs treat an empty answer, or two answers, as permission.
"""

import _signal  # type: ignore[import-not-found]  # `signal` would load `enum`
import os
import time

from maestro.client import hook

_PAUSE_SECONDS = 0.5
_SECONDS_MAX = 24 * 3600 - 300  # the programs wait a day; some then run the tool call without an answer
_PATIENT_ARGUMENT = "--patient"  # the server reports a failure; without this argument it sends an empty answer
_REFUSED = 2  # a program does not run the tool call if its hook ends with this exit code
_waiting_children: list[int] = []  # the child process that waits for an answer


def answer_patiently(arguments: list[str]) -> None:
    """Repeat the hook until a server answers, then end this process."""
    for number in (_signal.SIGTERM, _signal.SIGHUP, _signal.SIGALRM):
        _signal.signal(number, _refuse_on_signal)
    _signal.alarm(_SECONDS_MAX)
    payload = _read_all(0)
    while True:
        code, answer = _run_hook_once([*arguments, _PATIENT_ARGUMENT], payload)
        if code != hook.EXIT_GIVEN_UP:
            break
        time.sleep(_PAUSE_SECONDS)
    if code == 0:
        _write_all(1, answer)
    os._exit(0 if code == 0 else _REFUSED)


def _run_hook_once(arguments: list[str], payload: bytes) -> tuple[int, bytes]:
    """Run the plain hook once in a child process; return its exit code and output.

    The child reads the payload on standard input. The caller uses the output only after exit code 0.
    """
    payload_reader, payload_writer = os.pipe()
    answer_reader, answer_writer = os.pipe()
    child = os.fork()
    if child == 0:
        for number in (_signal.SIGTERM, _signal.SIGHUP, _signal.SIGALRM):
            _signal.signal(number, _signal.SIG_DFL)
        os.dup2(payload_reader, 0)
        os.dup2(answer_writer, 1)
        for end in (payload_reader, payload_writer, answer_reader, answer_writer):
            os.close(end)
        hook.answer_hook(arguments, give_up_code=hook.EXIT_GIVEN_UP)
    os.close(payload_reader)
    os.close(answer_writer)
    _waiting_children[:] = [child]
    _write_all(payload_writer, payload)
    os.close(payload_writer)
    answer = _read_all(answer_reader)
    os.close(answer_reader)
    _, status = os.waitpid(child, 0)
    _waiting_children.clear()
    return os.waitstatus_to_exitcode(status), answer


def _refuse_on_signal(*_: object) -> None:
    """End the child, and refuse the tool call: a cancelled or overdue hook is no permission."""
    for child in _waiting_children:
        os.kill(child, _signal.SIGTERM)
    os._exit(_REFUSED)


def _write_all(descriptor: int, data: bytes) -> None:
    try:
        while data:
            data = data[os.write(descriptor, data) :]
    except BrokenPipeError:
        pass  # the reader has gone


def _read_all(descriptor: int) -> bytes:
    pieces = []
    while piece := os.read(descriptor, 1 << 16):
        pieces.append(piece)
    return b"".join(pieces)
