"""Agents that run on while no server does: a restore must not leave them behind.

The restored store may not know their sessions. Then no command could stop them, and no report of theirs would count.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from pathlib import Path

from maestro.core import errors, limits
from maestro.services.programs.runners import Runners

_LOOK_SECONDS = 0.05


def require_no_agents(home: Path, *, end: bool) -> None:
    """Refuse to go on while agents run; with `end`, end them first."""
    runners = Runners(home)
    live = runners.live_sessions()
    if live and end:
        live = _end_agents(runners, live)
    if live:
        raise errors.Conflict(
            f"{len(live)} agents of this data directory still run: {', '.join(live)}.",
            hint="Stop them (maestro up; maestro session stop NAME; maestro down), or restore with --end-agents.",
        )


def _end_agents(runners: Runners, live: list[str]) -> list[str]:
    """Tell every runner to end its agent; return the sessions whose runner is still there after a while."""
    for session_id in live:
        note = runners.note(session_id)
        if note is not None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(note.runner, signal.SIGTERM)
    until = time.monotonic() + limits.stop_grace_seconds + limits.stop_seconds_max
    while (left := [one for one in live if runners.is_alive(one)]) and time.monotonic() < until:
        time.sleep(_LOOK_SECONDS)
    return left
