"""Conversations that a program's own hooks tell of: whose turn it is, and what has come in.

The other ones are told of by their runners; see `services/talks`.
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

_GOES_ON_BY_ITSELF = timedelta(minutes=2)  # such a program's own word comes first
_NOT_ALLOWED = "This run does not allow that."
_NOT_ANSWERED = "Nobody has allowed this."
_TURNS = {
    Moment.PROMPT: Turn.WORKING,
    Moment.BEFORE_TOOL: Turn.WORKING,
    Moment.AFTER_TOOL: Turn.WORKING,
    Moment.ASKS: Turn.ASKING,
    Moment.STOP: Turn.IDLE,
    Moment.FAILS: Turn.IDLE,
}

_ALWAYS = (Moment.PROMPT, Moment.STOP, Moment.FAILS)


def tells(happening: Happening) -> bool:
    """Whether a hook says whose turn it is."""
    return not happening.is_aside and (happening.moment in _TURNS or happening.moment is Moment.WAITS)


def turn_after(talk: Talk | None, happening: Happening, reply: Reply) -> Turn | None:
    """Whose turn it is now, if that is another one's than before; None if nothing is to be written. That a turn
    begins or ends is always worth it: the hook before may not have been heard."""
    if talk is None or talk.teller is not Teller.HOOKS or happening.is_aside:
        return None
    now = _TURNS.get(happening.moment)
    if happening.moment is Moment.STOP and reply.kind is Kind.GO_ON:
        now = Turn.WORKING
    elif happening.moment is Moment.WAITS:
        now = Turn.ASKING if happening.needs_person else Turn.IDLE
    return now if now is not talk.turn or happening.moment in _ALWAYS else None


def decided(talk: Talk | None, spawn: Spawn | None, happening: Happening) -> Reply | None:
    """What its run's policy says to what it asks; None if the person is to say it."""
    if talk is None or spawn is None or happening.question is not None:
        return None
    is_allowed = Policy(tuple(talk.allow), talk.rest.value, spawn.directory).decide(happening.action)
    if spawn.permission is Permission.FULL or is_allowed:
        return Reply(Kind.ALLOW)
    return Reply(Kind.DENY, _NOT_ALLOWED) if is_allowed is False else None


def gated(decided: Reply) -> Reply:
    """An answer for a program that takes silence for consent."""
    return Reply(Kind.DENY, _NOT_ANSWERED) if decided.kind is Kind.NOTHING else decided


def asked_no_more(tx: Tx, session_id: str) -> None:
    """It has its answer, or went on without."""
    talk = tx.talks.get(session_id)
    if talk is not None and talk.turn is Turn.ASKING:
        tx.talks.set_turn(session_id, Turn.WORKING, at=tx.at)


def take(tx: Tx, caller: Caller, happening: Happening, now: Turn) -> None:
    """Write it down, with what follows from it."""
    session, talk = kin.own(tx, caller), tx.talks.get(caller.name)
    assert talk is not None
    if talk.turn is Turn.NONE:  # whichever hook is the first that is heard
        _shows(tx, caller, receipts.receipt_for(told.in_first_prompt(tx, caller, session)))
        tx.talks.set_reminded(session.id, Reminded.NOT)
    if happening.conversation and happening.conversation != talk.conversation:
        tx.talks.set_conversation(session.id, happening.conversation)
    if happening.moment is Moment.PROMPT:
        withdraw_left(tx, caller)
        came_in(tx, caller, happening.prompt)
    if not happening.is_limited:
        tx.talks.park(session.id, None)  # it went on by itself, if only with words
    if now is not Turn.IDLE:
        tx.talks.set_turn(session.id, now, at=tx.at)
        return
    withdraw_left(tx, caller)
    taking.stopped(tx, session, caller, problem=happening.problem)
    if happening.is_limited:
        over = reset_at(happening.problem, tx.at)
        until = (over + _GOES_ON_BY_ITSELF).timestamp() if over is not None else None
        taking.limited(tx, session, words.RateLimited(n=0, until=until, detail=happening.problem), caller)
    elif happening.problem:
        taking.could_not_go_on(tx, session, happening.problem)


def came_in(tx: Tx, caller: Caller, text: str, *, is_record: bool = False) -> None:
    """A prompt, or some of the program's record of the conversation: if what was pushed is in it, it need not be
    pushed again."""
    wake = tx.talks.wake(caller.name)
    if wake is not None and _is_in(tx, text, wake.receipt, is_record=is_record):
        _shows(tx, caller, wake.receipt)
        tx.talks.forget_wake(caller.name)


def _shows(tx: Tx, caller: Caller, receipt: str) -> None:
    """It is in what the model is asked next: read once that has happened, as with all that hooks show."""
    if receipt:
        tx.hooks.put_answer(caller.name, receipt, at=tx.at)


def _is_in(tx: Tx, text: str, receipt: str, *, is_record: bool) -> bool:
    """Whether a text is, or holds, what was pushed: with the messages' ids, or a person's own words. What was pushed
    without messages is a word of ours, of which nobody asks what became."""
    found = [tx.mail.get(tx.mail.head(place)[0]) for place in receipts.places(receipt)]
    return any(_names(text, message, is_record=is_record) for message in found if message is not None)


def _names(text: str, message: Message, *, is_record: bool) -> bool:
    if message.id in text:
        return True
    said = message.body.strip()
    # In a record they stand between others, as lines of their own.
    whole = f"\\n{msgspec.json.encode(said)[1:-1].decode()}\\n" in text if is_record else said == text.strip()
    return is_prompt(message) and whole
