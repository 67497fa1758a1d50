"""The last firing and the last problem of each hook of an agent program, as a value."""

from __future__ import annotations

from datetime import datetime

import msgspec


class HookFiring(msgspec.Struct, frozen=True):
    """The last firing and the last problem of one hook of one tool."""

    tool: str
    event: str
    fired_at: datetime | None
    problem: str = ""
    problem_at: datetime | None = None
