"""Read usage and received texts of an agent in a terminal from the conversation's record, a file of its program.

The new part is read at the end of each turn. Hooks report received texts earlier, but not while no server runs.
The tool's hook dialect knows the format of the record.
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

_READING_MOMENTS = (Moment.STOP, Moment.FAILS, Moment.WAITS, Moment.ENDS)
_TURN_ENDS = (Moment.STOP, Moment.FAILS)


class Spent(msgspec.Struct, frozen=True):
    new: Recorded
    record: str
    read_to: int  # where the next read begins
    turns: int


async def look(
    talk: Talk | None, happening: Happening, reply: Reply, *, folder_of: Callable[[str], str]
) -> Spent | None:
    """Return the new part of the record at the end of a turn, or None without a record.

    `folder_of` returns the folder that Maestro keeps for a session. Most hooks need no folder and do not ask for it.
    """
    if talk is None or talk.teller is not Teller.HOOKS or happening.is_aside or not happening.transcript:
        return None
    is_resumed = happening.moment is Moment.STARTS and happening.beginning is Beginning.RESUMED
    if not is_resumed and happening.moment not in _READING_MOMENTS:
        return None
    folders = _record_folders(happening.tool, folder_of(talk.session_id))
    if is_resumed:
        return await _skip_resumed_record(talk, happening.transcript, folders)
    # Later parts belong to a turn that was counted before. A turn that is told to go on has not ended.
    count = 1 if happening.moment in _TURN_ENDS and reply.kind is not Kind.GO_ON else 0
    start = talk.heard if talk.record in (None, happening.transcript) else 0  # each conversation has its own file
    return await _read_from(happening.tool, happening.transcript, folders, start, count)


async def _skip_resumed_record(conversation: Talk, record: str, folders: tuple[str, ...]) -> Spent | None:
    """Skip the present content of a resumed conversation's record: its usage does not belong to the session."""
    if conversation.record in (None, record):
        return None
    piece = await record_files.read(record, folders, start=None)
    return Spent(Recorded(), record, piece.size_bytes, 0) if piece is not None else None


async def unheard(tool: str, talk: Talk, *, folder: str = "") -> str:
    """Return the text of the record after the part that the last hook event read."""
    if talk.record is None:
        return ""
    reading = await _read_from(tool, talk.record, _record_folders(tool, folder), talk.heard, 0)
    return reading.new.text if reading is not None else ""


async def _read_from(tool: str, record: str, folders: tuple[str, ...], start: int, turns: int) -> Spent | None:
    piece = await record_files.read(record, folders, start=start)
    if piece is None:
        return None
    whole_lines = piece.data[: piece.data.rfind(b"\n") + 1]
    return Spent(known.DIALECTS[tool].recorded(whole_lines), record, piece.start + len(whole_lines), turns)


def _record_folders(tool: str, folder: str) -> tuple[str, ...]:
    """Return the folders that may hold a tool's records: the tool's own, and Maestro's folder for the session."""
    return tuple(filter(None, (known.DIALECTS[tool].own_folder(os.environ), folder)))


def count(tx: Tx, caller: Caller, spent: Spent) -> None:
    tx.talks.set_heard(caller.name, spent.read_to, record=spent.record)
    came_in(tx, caller, spent.new.text, is_record=True)
    if spent.new.usage is not None:
        taking.count(tx, kin.own(tx, caller), words.usage_of(spent.new.usage), turns=spent.turns)
