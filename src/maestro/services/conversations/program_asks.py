"""Turn a tool's questions and permission requests into asks to the person, and the person's answers into replies.

The tool waits without a time limit. Its session works again once the tool has reported the end of its last open ask.
"""

from __future__ import annotations

from maestro.core import limits
from maestro.domain import asks as rules
from maestro.domain.asks import Ask
from maestro.domain.callers import Caller
from maestro.domain.conversations import ToolAsk, TurnState
from maestro.domain.sessions import ENDED_STATUSES, Session, SessionStatus, StatusSource
from maestro.domain.spawns import Spawn
from maestro.services.asks import asks
from maestro.services.conversations import reported_events
from maestro.services.sessions import status
from maestro.store.base import Tx
from maestro.tools.conversation_events import ALLOW, DENY, PERMISSION, UNANSWERED


def open_ask(tx: Tx, session: Session, spawn: Spawn, event: reported_events.AskedEvent, actor: Caller) -> None:
    """Open an ask for the tool. The session needs input until the ask is settled."""
    kind = rules.AskKind.PERMISSION if event.what == PERMISSION else rules.AskKind.QUESTION
    task_ids = [task_id for task_id in session.tasks if tx.tasks.get(task_id) is not None]
    ask = asks.open_ask_for_tool(
        tx,
        session,
        kind=kind,
        title=_on_one_line(event.title),
        text=event.text[: limits.reason_chars_max],
        choices=event.choices[: limits.choices_max],
        task_id=task_ids[0] if len(task_ids) == 1 else None,
    )
    tx.conversations.insert_ask(ToolAsk(ask.id, session.id, spawn.epoch, event.ask))
    tx.conversations.set_turn(session.id, TurnState.ASKING, at=tx.at)
    if session.ended_at is None and session.status not in ENDED_STATUSES:
        detail = f"asks: {ask.title}"
        status.apply_signal(
            tx, session, SessionStatus.NEEDS_INPUT, source=StatusSource.PROTOCOL, detail=detail, actor=actor.name
        )


def _on_one_line(title: str) -> str:
    """Return the whole title on one line: the first line of a longer command says too little. Mark a cut with `…`."""
    line = " ".join(title.split()) or "The agent asks for an answer."
    return line if len(line) <= limits.subject_chars_max else f"{line[: limits.subject_chars_max - 1]}…"


def close_ask(tx: Tx, session: Session, spawn: Spawn, event: reported_events.AskGoneEvent, actor: Caller) -> None:
    """Withdraw the ask of a tool that no longer waits: the tool has its answer, or went on without an answer."""
    tool_ask = tx.conversations.find_ask(session.id, epoch=spawn.epoch, asked_as=event.ask)
    if tool_ask is None:
        return
    tx.conversations.delete_ask(tool_ask.ask_id)
    asks.withdraw_if_open(tx, tool_ask.ask_id, actor=actor.name)
    conversation = tx.conversations.get(session.id)
    if conversation is None or conversation.turn is not TurnState.ASKING or _has_open_tool_ask(tx, session):
        return
    tx.conversations.set_turn(session.id, TurnState.WORKING, at=tx.at)
    if (
        session.ended_at is None
        and session.status is SessionStatus.NEEDS_INPUT
        and not asks.has_open_asks(tx, session)
    ):
        status.apply_signal(
            tx, session, SessionStatus.WORKING, source=StatusSource.PROTOCOL, detail="answered", actor=actor.name
        )


def _has_open_tool_ask(tx: Tx, session: Session) -> bool:
    """Return whether the tool waits for the answer to another ask. A tool may make several calls at a time."""
    open_asks = tx.asks.open_of_session(session.id, limit=limits.page_items_max)
    return any(tx.conversations.get_ask(ask.id) is not None for ask in open_asks)


def reply_for_tool(ask: Ask) -> str:
    """Return the reply that a tool gets for an ask. Every answer but `allow` refuses, also a withdrawn request."""
    if ask.kind is rules.AskKind.PERMISSION:
        return ALLOW if ask.answer == ALLOW else DENY
    return UNANSWERED if ask.answer is None else ask.answer
