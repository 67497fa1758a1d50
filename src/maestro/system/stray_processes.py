"""Ends whoever is left of something that was started with a mark in its environment.

Each process hands the mark on to whatever it starts: also to who leaves its group, its session and its parent.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time

from maestro.system.processes import ChainBroken, Process, ancestry, look_up, with_variable

_ROUNDS_MAX = 100
_ROUND_SECONDS = 0.02


def end(name: str, value: str) -> None:
    """Looked for again until nobody is found, for one may start another meanwhile. Never us, nor who started us."""
    spared = _own()
    for _ in range(_ROUNDS_MAX):
        left = [one for one in with_variable(name, value) if one.pid not in spared]
        if not left:
            return
        kill(left)
        time.sleep(_ROUND_SECONDS)


def kill(processes: list[Process]) -> None:
    """These very processes, not later ones with the same number."""
    for process in processes:
        now = look_up(process.pid)
        if now is not None and now.started == process.started:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(process.pid, signal.SIGKILL)


def _own() -> set[int]:
    try:
        return {one.pid for one in ancestry(os.getpid())}
    except ChainBroken:
        return {os.getpid()}
