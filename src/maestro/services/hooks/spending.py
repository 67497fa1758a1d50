"""An agent in a terminal: what it has taken, and what has come in, by its program's own record of the conversation.

Read at the end of a turn, as far as it is new. Hooks tell sooner what comes in, but not to a server that is away.

How such a record is written, the program's dialect knows.
"""

from __future__ import annotations

import asyncio
from pathlib import Path

import msgspec

from maestro import limits
from maestro.agents.hooks import known
from maestro.agents.hooks.base import Happening, Kind, Moment, Recorded, Reply
from maestro.domain.callers import Caller
from maestro.domain.talks import Talk, Teller
from maestro.services.hooks.turns import came_in
from maestro.services.sessions import kin
from maestro.services.talks import taking, words
from maestro.store.base import Tx

_MOMENTS = (Moment.STOP, Moment.FAILS, Moment.WAITS, Moment.ENDS)
_OF_A_TURN = (Moment.STOP, Moment.FAILS)


class Spent(msgspec.Struct, frozen=True):
    new: Recorded
    read_to: int  # where the next look begins
    turns: int


async def look(talk: Talk | None, happening: Happening, reply: Reply) -> Spent | None:
    """What is new at the end of a turn; None if nobody keeps a record."""
    if talk is None or talk.teller is not Teller.HOOKS or happening.moment not in _MOMENTS or happening.is_aside:
        return None
    if not happening.transcript:
        return None
    # What is new later belongs to a turn that has ended, and one that is told to go on has not ended yet.
    count = 1 if happening.moment in _OF_A_TURN and reply.kind is not Kind.GO_ON else 0
    return await asyncio.to_thread(_read, happening.tool, Path(happening.transcript), talk.heard, count)


def _read(tool: str, path: Path, start: int, turns: int) -> Spent | None:
    try:
        with path.open("rb") as file:
            start = start if start <= path.stat().st_size else 0  # another conversation than last time
            file.seek(start)
            kept = file.read(limits.transcript_bytes_max)
    except OSError:
        return None
    whole = kept[: kept.rfind(b"\n") + 1]
    return Spent(known.DIALECTS[tool].recorded(whole), start + len(whole), turns)


def count(tx: Tx, caller: Caller, spent: Spent) -> None:
    tx.talks.set_heard(caller.name, spent.read_to)
    came_in(tx, caller, spent.new.text, is_record=True)
    if spent.new.usage is not None:
        taking.count(tx, kin.own(tx, caller), words.usage_of(spent.new.usage), turns=spent.turns)
