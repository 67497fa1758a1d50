"""Read usage and received texts of an agent in a terminal from the conversation's record, a file of its program.

The new part is read at the end of each turn. Hooks report received texts earlier, but not while no server runs.
The tool's hook dialect knows the format of the record.
"""

from __future__ import annotations

import os
from collections.abc import Callable

import msgspec

from maestro.domain.callers import Caller
from maestro.domain.conversations import SessionConversation, StateReporter
from maestro.services.access import session_relations
from maestro.services.conversations import record_files, reported_events, runner_events
from maestro.services.conversations.turn_tracking import confirm_pushed_mail
from maestro.store.base import Tx
from maestro.tools import registry
from maestro.tools.hook_dialect import HookEvent, HookMoment, HookReply, RecordContent, ReplyKind, StartReason

_READING_MOMENTS = (HookMoment.STOP, HookMoment.FAILS, HookMoment.WAITS, HookMoment.ENDS)
_TURN_ENDS = (HookMoment.STOP, HookMoment.FAILS)


class RecordReading(msgspec.Struct, frozen=True):
    recorded: RecordContent
    file: str
    next_start: int  # where the next read begins
    turns: int


async def read_new_part(
    conversation: SessionConversation | None, event: HookEvent, reply: HookReply, *, folder_of: Callable[[str], str]
) -> RecordReading | None:
    """Return the new part of the record at the end of a turn, or None without a record.

    `folder_of` returns the folder that Maestro keeps for a session. Most hooks need no folder and do not ask for it.
    """
    if (
        conversation is None
        or conversation.state_reporter is not StateReporter.HOOKS
        or event.is_from_subagent
        or not event.transcript
    ):
        return None
    is_resumed = event.moment is HookMoment.STARTS and event.start_reason is StartReason.RESUMED
    if not is_resumed and event.moment not in _READING_MOMENTS:
        return None
    folders = _record_folders(event.tool, folder_of(conversation.session_id))
    if is_resumed:
        return await _skip_resumed_record(conversation, event.transcript, folders)
    # Later parts belong to a turn that was counted before. A turn that a reply continues has not ended.
    count = 1 if event.moment in _TURN_ENDS and reply.kind is not ReplyKind.GO_ON else 0
    # Each conversation has its own file, so the position in another file does not count.
    is_known = await _is_known_record(conversation, event.transcript, folders)
    start = conversation.last_event_number if is_known else 0
    return await _read_from(event.tool, event.transcript, folders, start, count)


async def _skip_resumed_record(
    conversation: SessionConversation, record: str, folders: tuple[str, ...]
) -> RecordReading | None:
    """Skip the present content of a resumed conversation's record: its usage does not belong to the session."""
    if await _is_known_record(conversation, record, folders):
        return None
    piece = await record_files.read_record(record, folders, start=None)
    return RecordReading(RecordContent(), record, piece.size_bytes, 0) if piece is not None else None


async def _is_known_record(conversation: SessionConversation, record: str, folders: tuple[str, ...]) -> bool:
    """Return whether the read position belongs to the record. The first record of a conversation counts as known."""
    known = conversation.record_file
    return known is None or await record_files.is_same_record(known, record, folders)


async def unread_text(tool: str, conversation: SessionConversation, *, folder: str = "") -> str:
    """Return the text of the record after the part that the last hook event read."""
    if conversation.record_file is None:
        return ""
    reading = await _read_from(
        tool, conversation.record_file, _record_folders(tool, folder), conversation.last_event_number, 0
    )
    return reading.recorded.text if reading is not None else ""


async def _read_from(
    tool: str, record: str, folders: tuple[str, ...], start: int, turns: int
) -> RecordReading | None:
    piece = await record_files.read_record(record, folders, start=start)
    if piece is None:
        return None
    whole_lines = piece.data[: piece.data.rfind(b"\n") + 1]
    return RecordReading(
        registry.DIALECTS[tool].read_record(whole_lines), record, piece.start + len(whole_lines), turns
    )


def _record_folders(tool: str, folder: str) -> tuple[str, ...]:
    """Return the folders that may hold a tool's records: the tool's own, and Maestro's folder for the session."""
    return tuple(filter(None, (registry.DIALECTS[tool].own_folder(os.environ), folder)))


def apply_reading(tx: Tx, caller: Caller, reading: RecordReading) -> None:
    tx.conversations.set_read_position(caller.name, reading.next_start, record_file=reading.file)
    confirm_pushed_mail(tx, caller, reading.recorded.text, is_record=True)
    if reading.recorded.usage is not None:
        runner_events.add_usage(
            tx,
            session_relations.own_session(tx, caller),
            reported_events.usage_of(reading.recorded.usage),
            turns=reading.turns,
        )
