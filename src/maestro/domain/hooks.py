"""What is known of an agent program's hooks: when each fired last, and what went wrong last."""

from __future__ import annotations

from datetime import datetime

import msgspec


class Firing(msgspec.Struct, frozen=True):
    """One hook of one program."""

    tool: str
    event: str
    fired_at: datetime | None
    problem: str = ""
    problem_at: datetime | None = None
