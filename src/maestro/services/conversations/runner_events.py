"""Apply the conversation events that a runner reports, each event once and in a single transaction."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec

from maestro.core import limits
from maestro.domain.callers import Caller
from maestro.domain.conversations import ReminderState, SessionUsage, TurnState, is_attempt_of_push
from maestro.domain.events import EventKind, NewEvent
from maestro.domain.messages import ReceiptStep
from maestro.domain.sessions import ENDED_STATUSES, Session, SessionStatus, StatusSource
from maestro.domain.spawns import Spawn
from maestro.operations.mail_shapes import ConfirmReceipt
from maestro.services.conversations import pending_pushes, program_asks, reported_events, unconfirmed_mail
from maestro.services.mail import receipts
from maestro.services.sessions import notices, report_effects, status
from maestro.store.base import Tx
from maestro.tools.conversation_events import START


def apply_event(tx: Tx, session: Session, spawn: Spawn, event: reported_events.RunnerEvent, actor: Caller) -> None:
    if not tx.conversations.record_event(session.id, epoch=spawn.epoch, number=event.n):
        return  # a repeated report: the runner did not get our first answer
    match event:
        case reported_events.BeganEvent():
            tx.conversations.set_conversation(session.id, event.conversation or None)
        case reported_events.TurnStartedEvent():
            _start_turn(tx, session, actor)
        case reported_events.TurnEndedEvent():
            _finish_turn(tx, session, event, actor)
        case reported_events.AskedEvent():
            program_asks.open_ask(tx, session, spawn, event, actor)
        case reported_events.AskGoneEvent():
            program_asks.close_ask(tx, session, spawn, event, actor)
        case reported_events.PushConfirmedEvent():
            confirm_push(tx, session, event.prompt)
        case reported_events.RateLimitedEvent():
            park_session(tx, session, event, actor)


def end_conversation(tx: Tx, session: Session) -> None:
    """Mark the session's conversation as over: its program has ended. The tool may resume the conversation later."""
    if tx.conversations.get(session.id) is not None:
        tx.conversations.set_turn(session.id, TurnState.NONE, at=tx.at)
        tx.conversations.park_until(session.id, None)
        tx.conversations.delete_push(session.id)
        tx.hooks.clear_answers(session.id)  # the model may not have seen their mail: hooks offer the mail again


def end_turn(tx: Tx, session: Session, actor: Caller, *, problem: str = "", interrupted: bool = False) -> None:
    """Mark the session's turn as ended. The caller sets the session's status."""
    tx.conversations.set_turn(session.id, TurnState.IDLE, at=tx.at)
    unconfirmed_mail.settle_at_turn_end(tx, session.id, has_succeeded=not problem and not interrupted)
    data: dict[str, Any] = {"interrupted": interrupted, "problem": problem[:500]}
    tx.log(NewEvent(EventKind.SESSION_TURN_ENDED, session.id, session.project_id, data), actor=actor.name)
    if session.ended_at is None and session.status not in ENDED_STATUSES:
        _report_ignored_reminder(tx, session)


def _start_turn(tx: Tx, session: Session, actor: Caller) -> None:
    tx.conversations.set_turn(session.id, TurnState.WORKING, at=tx.at)
    if session.ended_at is None:
        status.apply_signal(
            tx, session, SessionStatus.WORKING, source=StatusSource.PROTOCOL, detail="turn began", actor=actor.name
        )


def _finish_turn(tx: Tx, session: Session, event: reported_events.TurnEndedEvent, actor: Caller) -> None:
    tx.conversations.set_turn(session.id, TurnState.IDLE, at=tx.at)
    unconfirmed_mail.settle_at_turn_end(tx, session.id, has_succeeded=not event.problem and not event.interrupted)
    data: dict[str, Any] = {"interrupted": event.interrupted, "problem": event.problem[:500]}
    if event.usage is not None:
        add_usage(tx, session, event.usage)
        data |= msgspec.structs.asdict(event.usage)
    tx.log(NewEvent(EventKind.SESSION_TURN_ENDED, session.id, session.project_id, data), actor=actor.name)
    if session.ended_at is not None or session.status in ENDED_STATUSES:
        return  # the session's own report stands
    conversation = tx.conversations.get(session.id)
    is_parked = conversation is not None and conversation.parked_until is not None
    if event.problem and not is_parked:
        report_problem(tx, session, event.problem)
    if session.status is SessionStatus.NEEDS_INPUT and session.status_source is StatusSource.REPORT:
        return  # by its own report the session waits for an answer
    _report_ignored_reminder(tx, session)
    detail = event.problem or ("turn was interrupted" if event.interrupted else "turn ended")
    status.apply_signal(
        tx, session, SessionStatus.IDLE, source=StatusSource.PROTOCOL, detail=detail[:500], actor=actor.name
    )


def report_problem(tx: Tx, session: Session, problem: str) -> None:
    """Tell the coordinator why the session's turn ended early."""
    notices.notify_coordinator(
        tx, session, subject=f"{session.name} could not go on", text=problem, is_for_person=True
    )


def _report_ignored_reminder(tx: Tx, session: Session) -> None:
    """Tell the coordinator when a reminded session stops again and still holds tasks."""
    conversation, held_tasks = tx.conversations.get(session.id), report_effects.held_tasks(tx, session)
    if conversation is None or conversation.reminded is not ReminderState.ONCE or not held_tasks:
        return
    tx.conversations.set_reminded(session.id, ReminderState.IGNORED)
    refs = ", ".join(task.ref for task in held_tasks)
    text = f"{session.name} still holds {refs}. Maestro reminded the session once, and it has not reported."
    subject = f"{session.name} has stopped without a report"
    notices.notify_coordinator(tx, session, subject=subject, text=text, is_for_person=True)


def add_usage(tx: Tx, session: Session, usage: reported_events.ReportedUsage, *, turns: int = 1) -> None:
    """Add usage to the session, and to its task when the session holds exactly one."""
    tasks = report_effects.held_tasks(tx, session) or [
        task for task_id in session.tasks if (task := tx.tasks.get(task_id)) is not None
    ]
    tx.conversations.add_usage(
        SessionUsage(
            session_id=session.id,
            task_id=tasks[0].id if len(tasks) == 1 else None,
            turns=turns,
            input_tokens=usage.input_tokens,
            output_tokens=usage.output_tokens,
            cached_tokens=usage.cached_tokens,
            cost_usd=usage.cost_usd,
        )
    )


def confirm_push(tx: Tx, session: Session, push_id: str) -> None:
    """Confirm a push that has reached the session's model. Mark as read only the messages of the push."""
    caller = tx.sessions.live_caller(session.id)
    if caller is None:
        return
    push = tx.conversations.get_push(session.id)
    if push is not None and is_attempt_of_push(push, push_id):
        receipts.confirm(tx, caller, ConfirmReceipt(receipt=push.receipt, step=ReceiptStep.READ, via="push"))
        tx.conversations.delete_push(session.id)
    elif push_id == START:
        for message_id in pending_pushes.messages_of_first_prompt(tx, session):
            _mark_read(tx, caller, session, message_id, via="start")
        tx.conversations.set_reminded(session.id, ReminderState.NOT_REMINDED)
    else:
        # The id names a message, or a text of Maestro's own, which needs no receipt.
        _mark_read(tx, caller, session, push_id, via="prompt")


def _mark_read(tx: Tx, caller: Caller, session: Session, message_id: str, *, via: str) -> None:
    message = tx.mail.get(message_id)
    if message is not None:
        receipts.record_step(tx, caller, ReceiptStep.READ, session.id, message.seq, via=via)


def park_session(tx: Tx, session: Session, event: reported_events.RateLimitedEvent, actor: Caller) -> None:
    """Park the session until its provider's limit resets. Afterwards a background job tells it once to go on."""
    latest = tx.at + timedelta(seconds=limits.parked_seconds_max)
    until = tx.at + timedelta(seconds=limits.parked_seconds_default)
    if event.until is not None and event.until < latest.timestamp():
        until = max(datetime.fromtimestamp(event.until, UTC), tx.at)
    tx.conversations.park_until(session.id, until)
    if session.ended_at is not None or session.status in ENDED_STATUSES:
        return
    detail = f"its provider's limit is reached; it goes on at {until:%H:%M:%S} UTC"
    status.apply_signal(
        tx, session, SessionStatus.IDLE, source=StatusSource.PROTOCOL, detail=detail, actor=actor.name
    )
    subject = f"{session.name} waits for its provider"
    notices.notify_coordinator(tx, session, subject=subject, text=f"{detail}. {event.detail}".strip())
