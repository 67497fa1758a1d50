"""`maestro hook --patient TOOL EVENT`: a hook that waits for a person, and for its server if that is away meanwhile.

Whoever holds an agent's tool call must not let go of it because the server was started anew. It speaks once, with a
whole answer, or refuses: some programs take silence, or two answers, for consent.
"""

import _signal  # type: ignore[import-not-found]  # `signal` would load `enum`
import os
import time

from maestro.client import hook

_PAUSE_SECONDS = 0.5
_SECONDS_MAX = 24 * 3600 - 300  # the programs wait a day; then some would go on
_MARK = "--patient"  # with which the server says whether it could not answer: to other hooks that is silence
_REFUSED = 2  # to the programs, who ask such a hook whether they may
_asking: list[int] = []  # the process that waits just now


def run(arguments: list[str]) -> None:
    """Ask again until there is an answer. Never returns."""
    for number in (_signal.SIGTERM, _signal.SIGHUP, _signal.SIGALRM):
        _signal.signal(number, _told_to_end)
    _signal.alarm(_SECONDS_MAX)
    payload = _all(0)
    while True:
        code, answer = _ask([*arguments, _MARK], payload)
        if code != hook.GIVEN_UP:
            break
        time.sleep(_PAUSE_SECONDS)
    if code == 0:
        _write(1, answer)
    os._exit(0 if code == 0 else _REFUSED)


def _ask(arguments: list[str], payload: bytes) -> tuple[int, bytes]:
    """Once, in a process of its own: it is told on standard input, and answers as every hook does. What it says
    counts only if it came to its end."""
    reads, writes = os.pipe()
    hears, says = os.pipe()
    child = os.fork()
    if child == 0:
        for number in (_signal.SIGTERM, _signal.SIGHUP, _signal.SIGALRM):
            _signal.signal(number, _signal.SIG_DFL)
        os.dup2(reads, 0)
        os.dup2(says, 1)
        for end in (reads, writes, hears, says):
            os.close(end)
        hook.run(arguments, given_up=hook.GIVEN_UP)
    os.close(reads)
    os.close(says)
    _asking[:] = [child]
    _write(writes, payload)
    os.close(writes)
    answer = _all(hears)
    os.close(hears)
    _, status = os.waitpid(child, 0)
    _asking.clear()
    return os.waitstatus_to_exitcode(status), answer


def _told_to_end(*_: object) -> None:
    """The program wants no answer any more, or it has taken too long: that is no leave to go on."""
    for child in _asking:
        os.kill(child, _signal.SIGTERM)
    os._exit(_REFUSED)


def _write(descriptor: int, data: bytes) -> None:
    try:
        while data:
            data = data[os.write(descriptor, data) :]
    except BrokenPipeError:
        pass  # nobody wants it any more


def _all(descriptor: int) -> bytes:
    pieces = []
    while piece := os.read(descriptor, 1 << 16):
        pieces.append(piece)
    return b"".join(pieces)
