"""Takes in what runners tell of conversations: each word once, each in the transaction of what follows from it."""

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
        return  # it came before: the answer to it was lost
    match word:
        case words.Began():
            tx.talks.set_conversation(session.id, word.conversation or None)
        case words.TurnStarted():
            _started(tx, session, actor)
        case words.TurnEnded():
            _ended(tx, session, word, actor)
        case words.Asked():
            asking.opened(tx, session, spawn, word, actor)
        case words.AskGone():
            asking.gone(tx, session, spawn, word, actor)
        case words.TakenIn():
            taken_in(tx, session, word.prompt)
        case words.RateLimited():
            limited(tx, session, word, actor)


def over(tx: Tx, session: Session) -> None:
    """Its program has ended, and the conversation with it; the tool may bring it back."""
    if tx.talks.get(session.id) is not None:
        tx.talks.set_turn(session.id, Turn.NONE, at=tx.at)
        tx.talks.park(session.id, None)
        tx.talks.forget_wake(session.id)
        tx.hooks.clear_answers(session.id)  # what its model may not have seen is offered again


def stopped(tx: Tx, session: Session, actor: Caller, *, problem: str = "", interrupted: bool = False) -> None:
    """Its turn is over, by its program's hooks or ours; its status whoever says so tells."""
    tx.talks.set_turn(session.id, Turn.IDLE, at=tx.at)
    pending.turn_ended(tx, session.id, well=not problem and not interrupted)
    data: dict[str, Any] = {"interrupted": interrupted, "problem": problem[:500]}
    tx.log(Change(Kind.SESSION_TURN_ENDED, session.id, session.project_id, data), actor=actor.name)
    if session.ended_at is None and session.status not in FINAL:
        _reminded_in_vain(tx, session)


def _started(tx: Tx, session: Session, actor: Caller) -> None:
    tx.talks.set_turn(session.id, Turn.WORKING, at=tx.at)
    if session.ended_at is None:
        status.say(tx, session, Status.WORKING, source=Source.PROTOCOL, detail="its turn began", actor=actor.name)


def _ended(tx: Tx, session: Session, word: words.TurnEnded, actor: Caller) -> None:
    tx.talks.set_turn(session.id, Turn.IDLE, at=tx.at)
    pending.turn_ended(tx, session.id, well=not word.problem and not word.interrupted)
    data: dict[str, Any] = {"interrupted": word.interrupted, "problem": word.problem[:500]}
    if word.usage is not None:
        count(tx, session, word.usage)
        data |= msgspec.structs.asdict(word.usage)
    tx.log(Change(Kind.SESSION_TURN_ENDED, session.id, session.project_id, data), actor=actor.name)
    if session.ended_at is not None or session.status in FINAL:
        return  # what it reported itself stands
    talk = tx.talks.get(session.id)
    is_parked = talk is not None and talk.parked_until is not None
    if word.problem and not is_parked:
        could_not_go_on(tx, session, word.problem)
    if session.status is Status.NEEDS_INPUT and session.status_source is Source.REPORT:
        return  # it said itself that it waits for someone
    _reminded_in_vain(tx, session)
    detail = word.problem or ("it was interrupted" if word.interrupted else "its turn ended")
    status.say(tx, session, Status.IDLE, source=Source.PROTOCOL, detail=detail[:500], actor=actor.name)


def could_not_go_on(tx: Tx, session: Session, problem: str) -> None:
    """Whoever leads it hears why its turn ended before its time."""
    notices.to_coordinator(tx, session, subject=f"{session.name} could not go on", text=problem, person_too=True)


def _reminded_in_vain(tx: Tx, session: Session) -> None:
    """It was told once that it holds tasks, and has stopped again without a word of them."""
    talk, held = tx.talks.get(session.id), reports.holds(tx, session)
    if talk is None or talk.reminded is not Reminded.ONCE or not held:
        return
    tx.talks.set_reminded(session.id, Reminded.IN_VAIN)
    text = f"It still holds {', '.join(task.ref for task in held)}, was reminded, and has said nothing of it."
    subject = f"{session.name} has stopped without a report"
    notices.to_coordinator(tx, session, subject=subject, text=text, person_too=True)


def count(tx: Tx, session: Session, usage: words.Usage, *, turns: int = 1) -> None:
    """For the task it holds; with several, or none, for itself alone."""
    held = reports.holds(tx, session) or [
        task for task_id in session.tasks if (task := tx.tasks.get(task_id)) is not None
    ]
    tx.talks.add_usage(
        Used(
            session_id=session.id,
            task_id=held[0].id if len(held) == 1 else None,
            turns=turns,
            input_tokens=usage.input_tokens,
            output_tokens=usage.output_tokens,
            cached_tokens=usage.cached_tokens,
            cost_usd=usage.cost_usd,
        )
    )


def taken_in(tx: Tx, session: Session, prompt: str) -> None:
    """Something it was told has come to its model: what came out that way is read, and nothing else."""
    caller = tx.sessions.caller(session.id)
    if caller is None:
        return
    wake = tx.talks.wake(session.id)
    if wake is not None and is_said_as(wake, prompt):
        receipts.confirm(tx, caller, Confirm(receipt=wake.receipt, step=Step.READ, via="wake"))
        tx.talks.forget_wake(session.id)
    elif prompt == START:
        for message_id in told.at_start(tx, session):
            _read(tx, caller, session, message_id, via="start")
        tx.talks.set_reminded(session.id, Reminded.NOT)
    else:
        _read(tx, caller, session, prompt, via="prompt")  # if it is mail, and no word of our own


def _read(tx: Tx, caller: Caller, session: Session, message_id: str, *, via: str) -> None:
    message = tx.mail.get(message_id)
    if message is not None:
        receipts.take(tx, caller, Step.READ, session.id, message.seq, via=via)


def limited(tx: Tx, session: Session, word: words.RateLimited, actor: Caller) -> None:
    """Left alone until its provider takes more; then it is told once to go on."""
    longest = tx.at + timedelta(seconds=limits.parked_seconds_max)
    until = tx.at + timedelta(seconds=limits.parked_seconds_default)
    if word.until is not None and word.until < longest.timestamp():
        until = max(datetime.fromtimestamp(word.until, UTC), tx.at)
    tx.talks.park(session.id, until)
    if session.ended_at is not None or session.status in FINAL:
        return
    said = f"its provider's limit is reached; it goes on at {until:%H:%M:%S} UTC"
    status.say(tx, session, Status.IDLE, source=Source.PROTOCOL, detail=said, actor=actor.name)
    subject = f"{session.name} waits for its provider"
    notices.to_coordinator(tx, session, subject=subject, text=f"{said}. {word.detail}".strip())
