"""Late hooks: hook events that fired while no server ran. Newer events may have made a late hook outdated."""

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
_TURN_ENDS = (Moment.STOP, Moment.FAILS)


def framed(work: Work, caller: Caller, happening: Happening, memory: Remembered, at: datetime) -> Work:
    """Return the writes of a late hook after a check that refuses an outdated hook.

    The last write stores the hook's time, so that an older late hook is refused later.
    """

    def check(tx: Tx) -> None:
        if is_over(tx.talks.get(caller.name), happening, at=at, heard_at=memory.heard_at):
            raise errors.Conflict(f"A newer event of session {caller.name} is known: this late hook is ignored.")

    return [check, *work, lambda tx: tx.talks.set_turn_at(caller.name, at)]


def is_over(talk: Talk | None, happening: Happening, *, at: datetime, heard_at: datetime | None) -> bool:
    """Return whether a late hook is older than the known state, or known already.

    A killed server may have written the consequences of the hook without answering it.
    """
    if heard_at is not None and heard_at > at:
        return True
    if talk is None:
        return False
    is_known = talk.teller is Teller.HOOKS and talk.turn is Turn.IDLE and happening.moment in _TURN_ENDS
    return is_known or talk.turn_at > at
