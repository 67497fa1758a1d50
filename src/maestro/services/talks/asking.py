"""What a tool asks, as requests to the person; and their answers, back to the tool.

The tool waits for as long as it takes. It is told what was decided, and when it says that it no longer waits, the
session goes on.
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
    """The tool asks: the session needs input until that is settled."""
    kind = rules.Kind.PERMISSION if word.what == PERMISSION else rules.Kind.QUESTION
    held = [task_id for task_id in session.tasks if tx.tasks.get(task_id) is not None]
    ask = asks.open_for_tool(
        tx,
        session,
        kind=kind,
        title=_on_one_line(word.title),
        text=word.text[: limits.reason_chars_max],
        choices=word.choices[: limits.choices_max],
        task_id=held[0] if len(held) == 1 else None,
    )
    tx.talks.insert_ask(ToolAsk(ask.id, session.id, spawn.epoch, word.ask))
    tx.talks.set_turn(session.id, Turn.ASKING, at=tx.at)
    if session.ended_at is None and session.status not in FINAL:
        detail = f"asks: {ask.title}"
        status.say(tx, session, Status.NEEDS_INPUT, source=Source.PROTOCOL, detail=detail, actor=actor.name)


def _on_one_line(title: str) -> str:
    """All of it, for a command of several lines is more than its first; that it is cut can be seen."""
    line = " ".join(title.split()) or "It asks."
    return line if len(line) <= limits.subject_chars_max else f"{line[: limits.subject_chars_max - 1]}…"


def gone(tx: Tx, session: Session, spawn: Spawn, word: words.AskGone, actor: Caller) -> None:
    """The tool no longer waits: it has its answer, or went on without."""
    known = tx.talks.ask_named(session.id, epoch=spawn.epoch, asked_as=word.ask)
    if known is None:
        return
    tx.talks.forget_ask(known.ask_id)
    asks.withdraw_if_open(tx, known.ask_id, actor=actor.name)
    talk = tx.talks.get(session.id)
    if talk is None or talk.turn is not Turn.ASKING:
        return
    tx.talks.set_turn(session.id, Turn.WORKING, at=tx.at)
    if session.ended_at is None and session.status is Status.NEEDS_INPUT and not asks.has_open(tx, session):
        status.say(tx, session, Status.WORKING, source=Source.PROTOCOL, detail="answered", actor=actor.name)


def choice_of(ask: Ask) -> str:
    """What a tool is told of what the person decided: a request that was put aside is one that was refused."""
    if ask.kind is rules.Kind.PERMISSION:
        return ALLOW if ask.answer == ALLOW else DENY
    return PUT_ASIDE if ask.answer is None else ask.answer
