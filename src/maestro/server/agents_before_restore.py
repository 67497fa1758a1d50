"""Find and end agents that run without a server, before a restore.

The restored store may not contain their sessions. No command could stop the agents, and no report of theirs would
count.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from pathlib import Path

from maestro.core import errors, limits
from maestro.services.runners.runners import Runners

_POLL_SECONDS = 0.05


def require_no_agents(home: Path, *, end: bool) -> None:
    """Refuse to continue while agents run; with `end`, end the agents first."""
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
    """Tell every runner to end its agent; return the sessions whose runner is alive after the grace period."""
    for session_id in live:
        note = runners.read_note(session_id)
        if note is not None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(note.runner, signal.SIGTERM)
    deadline = time.monotonic() + limits.stop_grace_seconds + limits.stop_seconds_max
    while (
        still_alive := [session_id for session_id in live if runners.has_live_runner(session_id)]
    ) and time.monotonic() < deadline:
        time.sleep(_POLL_SECONDS)
    return still_alive
