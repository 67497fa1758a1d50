"""Apply the conversation events that a runner reports, each event once and in a single transaction."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec

from maestro.core import limits
from maestro.domain.callers import Caller
from maestro.domain.events import Change, Kind
from maestro.domain.messages import Step
from maestro.domain.sessions import FINAL, Session, Source, Status
from maestro.domain.spawns import Spawn
from maestro.domain.talks import Reminded, Turn, Used, is_said_as
from maestro.operations.mail_shapes import Confirm
from maestro.services.hooks import pending
from maestro.services.mail import receipts
from maestro.services.sessions import notices, reports, status
from maestro.services.talks import asking, told, words
from maestro.store.base import Tx
from maestro.tools.happenings import START


def take(tx: Tx, session: Session, spawn: Spawn, word: words.Word, actor: Caller) -> None:
    if not tx.talks.hear(session.id, epoch=spawn.epoch, number=word.n):
        return  # a repeated report: the runner did not get our first answer
    match word:
        case words.Began():
            tx.talks.set_conversation(session.id, word.conversation or None)
        case words.TurnStarted():
            _start_turn(tx, session, actor)
        case words.TurnEnded():
            _finish_turn(tx, session, word, actor)
        case words.Asked():
            asking.opened(tx, session, spawn, word, actor)
        case words.AskGone():
            asking.gone(tx, session, spawn, word, actor)
        case words.TakenIn():
            taken_in(tx, session, word.prompt)
        case words.RateLimited():
            limited(tx, session, word, actor)


def over(tx: Tx, session: Session) -> None:
    """Mark the session's conversation as over: its program has ended. The tool may resume the conversation later."""
    if tx.talks.get(session.id) is not None:
        tx.talks.set_turn(session.id, Turn.NONE, at=tx.at)
        tx.talks.park(session.id, None)
        tx.talks.forget_wake(session.id)
        tx.hooks.clear_answers(session.id)  # the model may not have seen their mail: hooks offer the mail again


def stopped(tx: Tx, session: Session, actor: Caller, *, problem: str = "", interrupted: bool = False) -> None:
    """Mark the session's turn as ended. The caller sets the session's status."""
    tx.talks.set_turn(session.id, Turn.IDLE, at=tx.at)
    pending.turn_ended(tx, session.id, well=not problem and not interrupted)
    data: dict[str, Any] = {"interrupted": interrupted, "problem": problem[:500]}
    tx.log(Change(Kind.SESSION_TURN_ENDED, session.id, session.project_id, data), actor=actor.name)
    if session.ended_at is None and session.status not in FINAL:
        _report_ignored_reminder(tx, session)


def _start_turn(tx: Tx, session: Session, actor: Caller) -> None:
    tx.talks.set_turn(session.id, Turn.WORKING, at=tx.at)
    if session.ended_at is None:
        status.say(tx, session, Status.WORKING, source=Source.PROTOCOL, detail="turn began", actor=actor.name)


def _finish_turn(tx: Tx, session: Session, event: words.TurnEnded, actor: Caller) -> None:
    tx.talks.set_turn(session.id, Turn.IDLE, at=tx.at)
    pending.turn_ended(tx, session.id, well=not event.problem and not event.interrupted)
    data: dict[str, Any] = {"interrupted": event.interrupted, "problem": event.problem[:500]}
    if event.usage is not None:
        count(tx, session, event.usage)
        data |= msgspec.structs.asdict(event.usage)
    tx.log(Change(Kind.SESSION_TURN_ENDED, session.id, session.project_id, data), actor=actor.name)
    if session.ended_at is not None or session.status in FINAL:
        return  # the session's own report stands
    conversation = tx.talks.get(session.id)
    is_parked = conversation is not None and conversation.parked_until is not None
    if event.problem and not is_parked:
        could_not_go_on(tx, session, event.problem)
    if session.status is Status.NEEDS_INPUT and session.status_source is Source.REPORT:
        return  # by its own report the session waits for an answer
    _report_ignored_reminder(tx, session)
    detail = event.problem or ("turn was interrupted" if event.interrupted else "turn ended")
    status.say(tx, session, Status.IDLE, source=Source.PROTOCOL, detail=detail[:500], actor=actor.name)


def could_not_go_on(tx: Tx, session: Session, problem: str) -> None:
    """Tell the coordinator why the session's turn ended early."""
    notices.to_coordinator(tx, session, subject=f"{session.name} could not go on", text=problem, person_too=True)


def _report_ignored_reminder(tx: Tx, session: Session) -> None:
    """Tell the coordinator when a reminded session stops again and still holds tasks."""
    conversation, held_tasks = tx.talks.get(session.id), reports.holds(tx, session)
    if conversation is None or conversation.reminded is not Reminded.ONCE or not held_tasks:
        return
    tx.talks.set_reminded(session.id, Reminded.IN_VAIN)
    refs = ", ".join(task.ref for task in held_tasks)
    text = f"{session.name} still holds {refs}. Maestro reminded the session once, and it has not reported."
    subject = f"{session.name} has stopped without a report"
    notices.to_coordinator(tx, session, subject=subject, text=text, person_too=True)


def count(tx: Tx, session: Session, usage: words.Usage, *, turns: int = 1) -> None:
    """Add usage to the session, and to its task when the session holds exactly one."""
    tasks = reports.holds(tx, session) or [
        task for task_id in session.tasks if (task := tx.tasks.get(task_id)) is not None
    ]
    tx.talks.add_usage(
        Used(
            session_id=session.id,
            task_id=tasks[0].id if len(tasks) == 1 else None,
            turns=turns,
            input_tokens=usage.input_tokens,
            output_tokens=usage.output_tokens,
            cached_tokens=usage.cached_tokens,
            cost_usd=usage.cost_usd,
        )
    )


def taken_in(tx: Tx, session: Session, prompt: str) -> None:
    """Confirm a push that has reached the session's model. Mark as read only the messages of the push."""
    caller = tx.sessions.caller(session.id)
    if caller is None:
        return
    push = tx.talks.wake(session.id)
    if push is not None and is_said_as(push, prompt):
        receipts.confirm(tx, caller, Confirm(receipt=push.receipt, step=Step.READ, via="wake"))
        tx.talks.forget_wake(session.id)
    elif prompt == START:
        for message_id in told.at_start(tx, session):
            _mark_read(tx, caller, session, message_id, via="start")
        tx.talks.set_reminded(session.id, Reminded.NOT)
    else:
        # The id names a message, or a text of Maestro's own, which needs no receipt.
        _mark_read(tx, caller, session, prompt, via="prompt")


def _mark_read(tx: Tx, caller: Caller, session: Session, message_id: str, *, via: str) -> None:
    message = tx.mail.get(message_id)
    if message is not None:
        receipts.take(tx, caller, Step.READ, session.id, message.seq, via=via)


def limited(tx: Tx, session: Session, word: words.RateLimited, actor: Caller) -> None:
    """Park the session until its provider's limit resets. Afterwards a background job tells it once to go on."""
    latest = tx.at + timedelta(seconds=limits.parked_seconds_max)
    until = tx.at + timedelta(seconds=limits.parked_seconds_default)
    if word.until is not None and word.until < latest.timestamp():
        until = max(datetime.fromtimestamp(word.until, UTC), tx.at)
    tx.talks.park(session.id, until)
    if session.ended_at is not None or session.status in FINAL:
        return
    detail = f"its provider's limit is reached; it goes on at {until:%H:%M:%S} UTC"
    status.say(tx, session, Status.IDLE, source=Source.PROTOCOL, detail=detail, actor=actor.name)
    subject = f"{session.name} waits for its provider"
    notices.to_coordinator(tx, session, subject=subject, text=f"{detail}. {word.detail}".strip())
