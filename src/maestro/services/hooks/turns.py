"""Track turns and received texts of conversations that hooks report.

For programs with a protocol the runner reports the same facts; see `services/talks`.
"""

from __future__ import annotations

from datetime import timedelta

import msgspec

from maestro.domain.callers import Caller
from maestro.domain.members import Permission
from maestro.domain.messages import Message
from maestro.domain.prompts import is_prompt
from maestro.domain.spawns import Spawn
from maestro.domain.talks import Reminded, Talk, Teller, Turn
from maestro.services.hooks.holding import withdraw_left
from maestro.services.mail import receipts
from maestro.services.sessions import kin
from maestro.services.talks import taking, told, words
from maestro.store.base import Tx
from maestro.tools.hooks.base import Happening, Kind, Moment, Reply
from maestro.tools.hooks.resets import reset_at
from maestro.tools.policy import Policy

_RESET_GRACE = timedelta(minutes=2)  # after a reset the program continues by itself: give the program time to do so
_NOT_ALLOWED = "This run does not allow that."
_NOT_ANSWERED = "The person has not allowed this."
_TURN_AFTER = {
    Moment.PROMPT: Turn.WORKING,
    Moment.BEFORE_TOOL: Turn.WORKING,
    Moment.AFTER_TOOL: Turn.WORKING,
    Moment.ASKS: Turn.ASKING,
    Moment.STOP: Turn.IDLE,
    Moment.FAILS: Turn.IDLE,
}

_TURN_BOUNDARIES = (Moment.PROMPT, Moment.STOP, Moment.FAILS)


def tells(happening: Happening) -> bool:
    """Return whether a hook event reports a turn."""
    return not happening.is_aside and (happening.moment in _TURN_AFTER or happening.moment is Moment.WAITS)


def turn_after(talk: Talk | None, happening: Happening, reply: Reply) -> Turn | None:
    """Return the turn to write, or None if the turn did not change.

    The beginning and the end of a turn are always written: the server may have missed the hook event before.
    """
    if talk is None or talk.teller is not Teller.HOOKS or happening.is_aside:
        return None
    now = _TURN_AFTER.get(happening.moment)
    if happening.moment is Moment.STOP and reply.kind is Kind.GO_ON:
        now = Turn.WORKING
    elif happening.moment is Moment.WAITS:
        now = Turn.ASKING if happening.needs_person else Turn.IDLE
    return now if now is not talk.turn or happening.moment in _TURN_BOUNDARIES else None


def decided(talk: Talk | None, spawn: Spawn | None, happening: Happening) -> Reply | None:
    """Return the reply of the run's policy to a permission request; None if the person has to decide."""
    if talk is None or spawn is None or happening.question is not None:
        return None
    is_allowed = Policy(tuple(talk.allow), talk.rest.value, spawn.directory).decide(happening.action)
    if spawn.permission is Permission.FULL or is_allowed:
        return Reply(Kind.ALLOW)
    return Reply(Kind.DENY, _NOT_ALLOWED) if is_allowed is False else None


def gated(decided: Reply) -> Reply:
    """Turn an empty reply into a denial, for a program that takes an empty reply as permission."""
    return Reply(Kind.DENY, _NOT_ANSWERED) if decided.kind is Kind.NOTHING else decided


def asked_no_more(tx: Tx, session_id: str) -> None:
    """Set the turn back to working: the ask has its answer, or the program went on without an answer."""
    conversation = tx.talks.get(session_id)
    if conversation is not None and conversation.turn is Turn.ASKING:
        tx.talks.set_turn(session_id, Turn.WORKING, at=tx.at)


def take(tx: Tx, caller: Caller, happening: Happening, now: Turn) -> None:
    """Write a session's turn and the consequences of the hook event."""
    session, conversation = kin.own(tx, caller), tx.talks.get(caller.name)
    assert conversation is not None
    if conversation.turn is Turn.NONE:  # the first hook event of this start, of any kind
        _put_shown(tx, caller, receipts.receipt_for(told.in_first_prompt(tx, caller, session)))
        tx.talks.set_reminded(session.id, Reminded.NOT)
    if happening.conversation and happening.conversation != conversation.conversation:
        tx.talks.set_conversation(session.id, happening.conversation)
    if happening.moment is Moment.PROMPT:
        withdraw_left(tx, caller)
        came_in(tx, caller, happening.prompt)
    if not happening.is_limited:
        tx.talks.park(session.id, None)  # the program went on by itself
    if now is not Turn.IDLE:
        tx.talks.set_turn(session.id, now, at=tx.at)
        return
    withdraw_left(tx, caller)
    taking.stopped(tx, session, caller, problem=happening.problem)
    if happening.is_limited:
        reset = reset_at(happening.problem, tx.at)
        until = (reset + _RESET_GRACE).timestamp() if reset is not None else None
        taking.limited(tx, session, words.RateLimited(n=0, until=until, detail=happening.problem), caller)
    elif happening.problem:
        taking.could_not_go_on(tx, session, happening.problem)


def came_in(tx: Tx, caller: Caller, text: str, *, is_record: bool = False) -> None:
    """End a push whose mail stands in a prompt or in a part of the program's record: no repetition is needed."""
    push = tx.talks.wake(caller.name)
    if push is not None and _holds_pushed_mail(tx, text, push.receipt, is_record=is_record):
        _put_shown(tx, caller, push.receipt)
        tx.talks.forget_wake(caller.name)


def _put_shown(tx: Tx, caller: Caller, receipt: str) -> None:
    """Store mail as shown: the model's next request holds it. As with hook replies, later proof marks it read."""
    if receipt:
        tx.hooks.put_answer(caller.name, receipt, at=tx.at)


def _holds_pushed_mail(tx: Tx, text: str, receipt: str, *, is_record: bool) -> bool:
    """Return whether a text holds pushed mail, by the messages' ids or by the person's own text.

    A push without messages is Maestro's own text, and needs no confirmation.
    """
    messages = [tx.mail.get(tx.mail.head(seq)[0]) for seq in receipts.places(receipt)]
    return any(_holds_message(text, message, is_record=is_record) for message in messages if message is not None)


def _holds_message(text: str, message: Message, *, is_record: bool) -> bool:
    if message.id in text:
        return True
    body = message.body.strip()
    # A record holds the message between other texts, on lines of its own.
    is_whole = f"\\n{msgspec.json.encode(body)[1:-1].decode()}\\n" in text if is_record else body == text.strip()
    return is_prompt(message) and is_whole
