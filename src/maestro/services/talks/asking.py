"""Turn a tool's questions and permission requests into asks to the person, and the person's answers into replies.

The tool waits without a time limit. Its session works again once the tool reports that the ask is gone.
"""

from __future__ import annotations

from maestro.core import limits
from maestro.domain import asks as rules
from maestro.domain.asks import Ask
from maestro.domain.callers import Caller
from maestro.domain.sessions import FINAL, Session, Source, Status
from maestro.domain.spawns import Spawn
from maestro.domain.talks import ToolAsk, Turn
from maestro.services import asks
from maestro.services.sessions import status
from maestro.services.talks import words
from maestro.store.base import Tx
from maestro.tools.happenings import ALLOW, DENY, PERMISSION, PUT_ASIDE


def opened(tx: Tx, session: Session, spawn: Spawn, word: words.Asked, actor: Caller) -> None:
    """Open an ask for the tool. The session needs input until the ask is settled."""
    kind = rules.Kind.PERMISSION if word.what == PERMISSION else rules.Kind.QUESTION
    task_ids = [task_id for task_id in session.tasks if tx.tasks.get(task_id) is not None]
    ask = asks.open_for_tool(
        tx,
        session,
        kind=kind,
        title=_on_one_line(word.title),
        text=word.text[: limits.reason_chars_max],
        choices=word.choices[: limits.choices_max],
        task_id=task_ids[0] if len(task_ids) == 1 else None,
    )
    tx.talks.insert_ask(ToolAsk(ask.id, session.id, spawn.epoch, word.ask))
    tx.talks.set_turn(session.id, Turn.ASKING, at=tx.at)
    if session.ended_at is None and session.status not in FINAL:
        detail = f"asks: {ask.title}"
        status.say(tx, session, Status.NEEDS_INPUT, source=Source.PROTOCOL, detail=detail, actor=actor.name)


def _on_one_line(title: str) -> str:
    """Return the whole title on one line: the first line of a longer command says too little. Mark a cut with `…`."""
    line = " ".join(title.split()) or "The agent asks for an answer."
    return line if len(line) <= limits.subject_chars_max else f"{line[: limits.subject_chars_max - 1]}…"


def gone(tx: Tx, session: Session, spawn: Spawn, word: words.AskGone, actor: Caller) -> None:
    """Withdraw the ask of a tool that no longer waits: the tool has its answer, or went on without an answer."""
    tool_ask = tx.talks.ask_named(session.id, epoch=spawn.epoch, asked_as=word.ask)
    if tool_ask is None:
        return
    tx.talks.forget_ask(tool_ask.ask_id)
    asks.withdraw_if_open(tx, tool_ask.ask_id, actor=actor.name)
    conversation = tx.talks.get(session.id)
    if conversation is None or conversation.turn is not Turn.ASKING:
        return
    tx.talks.set_turn(session.id, Turn.WORKING, at=tx.at)
    if session.ended_at is None and session.status is Status.NEEDS_INPUT and not asks.has_open(tx, session):
        status.say(tx, session, Status.WORKING, source=Source.PROTOCOL, detail="answered", actor=actor.name)


def choice_of(ask: Ask) -> str:
    """Return the reply that a tool gets for an ask. A permission request that was put aside counts as refused."""
    if ask.kind is rules.Kind.PERMISSION:
        return ALLOW if ask.answer == ALLOW else DENY
    return PUT_ASIDE if ask.answer is None else ask.answer
