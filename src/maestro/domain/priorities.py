"""The priorities of tasks and messages, and the ranks by which the store sorts them."""

from __future__ import annotations

import enum
from typing import Self


class RankedEnum(enum.StrEnum):
    """An enum whose members have a stored rank. The rank does not depend on the position of the member."""

    _value_: str
    rank: int

    # The default of `rank` is for the type checker: it takes the look-up Priority("high") for a call of __new__.
    def __new__(cls, name: str, rank: int | None = None) -> Self:
        if rank is None:
            raise TypeError(f"{name!r} has no rank.")
        member = str.__new__(cls, name)
        member._value_ = name
        member.rank = rank
        return member


class Priority(RankedEnum):
    """The urgency of a task or a message. A lower rank is more urgent.

    The store keeps the ranks: a change of a rank needs a migration, for example to make room for a new priority.
    """

    CRITICAL = "critical", 0
    HIGH = "high", 1
    NORMAL = "normal", 2
    LOW = "low", 3


LOWEST_RANK = max(priority.rank for priority in Priority)
