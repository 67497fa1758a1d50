"""An agent in a terminal: what it has taken, and what has come in, by its program's own record of the conversation.

Read at the end of a turn, as far as it is new. Hooks tell sooner what comes in, but not to a server that is away.

How such a record is written, the program's dialect knows.
"""

from __future__ import annotations

import os
from collections.abc import Callable

import msgspec

from maestro.domain.callers import Caller
from maestro.domain.talks import Talk, Teller
from maestro.services.hooks import record_files
from maestro.services.hooks.turns import came_in
from maestro.services.sessions import kin
from maestro.services.talks import taking, words
from maestro.store.base import Tx
from maestro.tools.hooks import known
from maestro.tools.hooks.base import Beginning, Happening, Kind, Moment, Recorded, Reply

_MOMENTS = (Moment.STOP, Moment.FAILS, Moment.WAITS, Moment.ENDS)
_OF_A_TURN = (Moment.STOP, Moment.FAILS)


class Spent(msgspec.Struct, frozen=True):
    new: Recorded
    record: str
    read_to: int  # where the next look begins
    turns: int


async def look(
    talk: Talk | None, happening: Happening, reply: Reply, *, folder_of: Callable[[str], str]
) -> Spent | None:
    """Return what is new at the end of a turn; None if nobody keeps a record.

    `folder_of` returns the folder that Maestro keeps for a session. Most hooks need no folder and do not ask for it.
    """
    if talk is None or talk.teller is not Teller.HOOKS or happening.is_aside or not happening.transcript:
        return None
    is_resumed = happening.moment is Moment.STARTS and happening.beginning is Beginning.RESUMED
    if not is_resumed and happening.moment not in _MOMENTS:
        return None
    folders = _folders(happening.tool, folder_of(talk.session_id))
    if is_resumed:
        return await _passed_over(talk, happening.transcript, folders)
    # What is new later belongs to a turn that has ended, and one that is told to go on has not ended yet.
    count = 1 if happening.moment in _OF_A_TURN and reply.kind is not Kind.GO_ON else 0
    start = talk.heard if talk.record in (None, happening.transcript) else 0  # another conversation has its own file
    return await _read(happening.tool, happening.transcript, folders, start, count)


async def _passed_over(talk: Talk, record: str, folders: tuple[str, ...]) -> Spent | None:
    """An older conversation that someone went back to: what was taken there before was none of this one's."""
    if talk.record in (None, record):
        return None
    found = await record_files.read(record, folders, start=None)
    return Spent(Recorded(), record, found.size_bytes, 0) if found is not None else None


async def unheard(tool: str, talk: Talk, *, folder: str = "") -> str:
    """What was said, by its record, since hooks told of it last."""
    if talk.record is None:
        return ""
    found = await _read(tool, talk.record, _folders(tool, folder), talk.heard, 0)
    return found.new.text if found is not None else ""


async def _read(tool: str, record: str, folders: tuple[str, ...], start: int, turns: int) -> Spent | None:
    found = await record_files.read(record, folders, start=start)
    if found is None:
        return None
    whole = found.data[: found.data.rfind(b"\n") + 1]
    return Spent(known.DIALECTS[tool].recorded(whole), record, found.start + len(whole), turns)


def _folders(tool: str, folder: str) -> tuple[str, ...]:
    """Return the folders of a tool's records: its own, and the one that Maestro made for the session."""
    return tuple(filter(None, (known.DIALECTS[tool].own_folder(os.environ), folder)))


def count(tx: Tx, caller: Caller, spent: Spent) -> None:
    tx.talks.set_heard(caller.name, spent.read_to, record=spent.record)
    came_in(tx, caller, spent.new.text, is_record=True)
    if spent.new.usage is not None:
        taking.count(tx, kin.own(tx, caller), words.usage_of(spent.new.usage), turns=spent.turns)
