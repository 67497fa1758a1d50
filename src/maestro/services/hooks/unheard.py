"""Hooks that come in after their time: what they told may be over."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from maestro.core import errors
from maestro.domain.callers import Caller
from maestro.domain.talks import Talk, Teller, Turn
from maestro.services.hooks.memory import Remembered
from maestro.store.base import Tx
from maestro.tools.hooks.base import Happening, Moment

Work = list[Callable[[Tx], None]]
_ENDS_A_TURN = (Moment.STOP, Moment.FAILS)


def framed(work: Work, caller: Caller, happening: Happening, memory: Remembered, at: datetime) -> Work:
    """What follows from a hook of `at`: nothing if something newer is known, and what is newer than that counts more
    also later."""

    def check(tx: Tx) -> None:
        if is_over(tx.talks.get(caller.name), happening, at=at, heard_at=memory.heard_at):
            raise errors.Conflict("Something newer is known of that session.")

    return [check, *work, lambda tx: tx.talks.set_turn_at(caller.name, at)]


def is_over(talk: Talk | None, happening: Happening, *, at: datetime, heard_at: datetime | None) -> bool:
    """Whether it is known better, or already: a server that was killed may have written it down and not answered."""
    if heard_at is not None and heard_at > at:
        return True
    if talk is None:
        return False
    is_known = talk.teller is Teller.HOOKS and talk.turn is Turn.IDLE and happening.moment in _ENDS_A_TURN
    return is_known or talk.turn_at > at
