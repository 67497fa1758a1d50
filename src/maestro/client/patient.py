"""`maestro hook --patient TOOL EVENT`: a hook that waits for a person, and for its server if that is away meanwhile.

Whoever holds an agent's tool call must not let go of it because the server was started anew.
"""

import _signal  # type: ignore[import-not-found]  # `signal` would load `enum`
import os
import time

from maestro.client import hook

_PAUSE_SECONDS = 0.5
_SECONDS_MAX = 24 * 3600
_MARK = "--patient"  # with which the server says whether it could not answer: to other hooks that is silence
_REFUSED = 2  # to the programs, who ask such a hook whether they may
_asking: list[int] = []  # the process that waits just now


def run(arguments: list[str]) -> None:
    """Ask again until there is an answer. Never returns."""
    _signal.signal(_signal.SIGTERM, _told_to_end)
    payload = _all(0)
    ends = time.monotonic() + _SECONDS_MAX
    while (code := _ask([*arguments, _MARK], payload)) == hook.GIVEN_UP and time.monotonic() < ends:
        time.sleep(_PAUSE_SECONDS)
    os._exit(0 if code == 0 else _REFUSED)


def _ask(arguments: list[str], payload: bytes) -> int:
    """Once, in a process of its own: it is told on standard input, and answers as every hook does."""
    reads, writes = os.pipe()
    child = os.fork()
    if child == 0:
        _signal.signal(_signal.SIGTERM, _signal.SIG_DFL)
        os.close(writes)
        os.dup2(reads, 0)
        os.close(reads)
        hook.run(arguments, given_up=hook.GIVEN_UP)
    os.close(reads)
    _asking[:] = [child]
    try:
        while payload:
            payload = payload[os.write(writes, payload) :]
    except BrokenPipeError:
        pass  # it has given up already
    finally:
        os.close(writes)
    _, status = os.waitpid(child, 0)
    _asking.clear()
    return os.waitstatus_to_exitcode(status)


def _told_to_end(*_: object) -> None:
    """The program wants no answer any more: its person gave one."""
    for child in _asking:
        os.kill(child, _signal.SIGTERM)
    os._exit(0)


def _all(descriptor: int) -> bytes:
    pieces = []
    while piece := os.read(descriptor, 1 << 16):
        pieces.append(piece)
    return b"".join(pieces)
