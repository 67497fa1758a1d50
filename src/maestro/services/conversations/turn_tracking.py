"""Track turns and received texts of conversations that hooks report.

For programs with a protocol the runner reports the same facts; see `runner_events`.
"""

from __future__ import annotations

from datetime import timedelta

import msgspec

from maestro.domain.callers import Caller
from maestro.domain.conversations import ReminderState, SessionConversation, StateReporter, TurnState
from maestro.domain.members import Permission
from maestro.domain.messages import Message
from maestro.domain.prompts import is_prompt
from maestro.domain.spawns import Spawn
from maestro.services.access import session_relations
from maestro.services.asks.withdrawal import withdraw_permission_asks
from maestro.services.conversations import pending_pushes, reported_events, runner_events
from maestro.services.mail import receipts
from maestro.store.base import Tx
from maestro.tools.hook_dialect import HookEvent, HookMoment, HookReply, ReplyKind
from maestro.tools.limit_resets import reset_at
from maestro.tools.policy import PermissionPolicy

_RESET_GRACE = timedelta(minutes=2)  # after a reset the program continues by itself: give the program time to do so
_NOT_ALLOWED = "This run does not allow that."
_NOT_ANSWERED = "The person has not allowed this."
_TURN_AFTER = {
    HookMoment.PROMPT: TurnState.WORKING,
    HookMoment.BEFORE_TOOL: TurnState.WORKING,
    HookMoment.AFTER_TOOL: TurnState.WORKING,
    HookMoment.ASKS: TurnState.ASKING,
    HookMoment.STOP: TurnState.IDLE,
    HookMoment.FAILS: TurnState.IDLE,
}

_TURN_BOUNDARIES = (HookMoment.PROMPT, HookMoment.STOP, HookMoment.FAILS)


def reports_turn(event: HookEvent) -> bool:
    """Return whether a hook event reports a turn."""
    return not event.is_from_subagent and (event.moment in _TURN_AFTER or event.moment is HookMoment.WAITS)


def turn_after(conversation: SessionConversation | None, event: HookEvent, reply: HookReply) -> TurnState | None:
    """Return the turn to write, or None if the turn did not change.

    The beginning and the end of a turn are always written: the server may have missed the hook event before.
    """
    if conversation is None or conversation.state_reporter is not StateReporter.HOOKS or event.is_from_subagent:
        return None
    now = _TURN_AFTER.get(event.moment)
    if event.moment is HookMoment.STOP and reply.kind is ReplyKind.GO_ON:
        now = TurnState.WORKING
    elif event.moment is HookMoment.WAITS:
        now = TurnState.ASKING if event.needs_person else TurnState.IDLE
    return now if now is not conversation.turn or event.moment in _TURN_BOUNDARIES else None


def policy_reply(conversation: SessionConversation | None, spawn: Spawn | None, event: HookEvent) -> HookReply | None:
    """Return the reply of the run's policy to a permission request; None if the person has to decide."""
    if conversation is None or spawn is None or event.question is not None:
        return None
    is_allowed = PermissionPolicy(
        tuple(conversation.allow), conversation.ask_policy.value, spawn.directory
    ).decide_actions(event.action)
    if spawn.permission is Permission.FULL or is_allowed:
        return HookReply(ReplyKind.ALLOW)
    return HookReply(ReplyKind.DENY, _NOT_ALLOWED) if is_allowed is False else None


def deny_without_answer(reply: HookReply) -> HookReply:
    """Turn an empty reply into a denial, for a program that takes an empty reply as permission."""
    return HookReply(ReplyKind.DENY, _NOT_ANSWERED) if reply.kind is ReplyKind.NOTHING else reply


def end_asking(tx: Tx, session_id: str) -> None:
    """Set the turn back to working: the ask has its answer, or the program went on without an answer."""
    conversation = tx.conversations.get(session_id)
    if conversation is not None and conversation.turn is TurnState.ASKING:
        tx.conversations.set_turn(session_id, TurnState.WORKING, at=tx.at)


def apply_turn(tx: Tx, caller: Caller, event: HookEvent, turn: TurnState) -> None:
    """Write a session's turn and the consequences of the hook event."""
    session, conversation = session_relations.own_session(tx, caller), tx.conversations.get(caller.name)
    assert conversation is not None
    if conversation.turn is TurnState.NONE:  # the first hook event of this start, of any kind
        _put_shown(tx, caller, receipts.receipt_for(pending_pushes.unread_mail_of_first_prompt(tx, caller, session)))
        tx.conversations.set_reminded(session.id, ReminderState.NOT_REMINDED)
    if event.conversation and event.conversation != conversation.tool_conversation_id:
        tx.conversations.set_conversation(session.id, event.conversation)
    if event.moment is HookMoment.PROMPT:
        withdraw_permission_asks(tx, caller)
        confirm_pushed_mail(tx, caller, event.prompt)
    if not event.is_limited:
        tx.conversations.park_until(session.id, None)  # the program went on by itself
    if turn is not TurnState.IDLE:
        tx.conversations.set_turn(session.id, turn, at=tx.at)
        return
    withdraw_permission_asks(tx, caller)
    runner_events.end_turn(tx, session, caller, problem=event.problem)
    if event.is_limited:
        reset = reset_at(event.problem, tx.at)
        until = (reset + _RESET_GRACE).timestamp() if reset is not None else None
        runner_events.park_session(
            tx, session, reported_events.RateLimitedEvent(n=0, until=until, detail=event.problem), caller
        )
    elif event.problem:
        runner_events.report_problem(tx, session, event.problem)


def confirm_pushed_mail(tx: Tx, caller: Caller, text: str, *, is_record: bool = False) -> None:
    """End a push whose mail stands in a prompt or in a part of the program's record: no repetition is needed."""
    push = tx.conversations.get_push(caller.name)
    if push is not None and _holds_pushed_mail(tx, text, push.receipt, is_record=is_record):
        _put_shown(tx, caller, push.receipt)
        tx.conversations.delete_push(caller.name)


def _put_shown(tx: Tx, caller: Caller, receipt: str) -> None:
    """Store mail as shown: the model's next request holds it. As with hook replies, later proof marks it read."""
    if receipt:
        tx.hooks.put_answer(caller.name, receipt, at=tx.at)


def _holds_pushed_mail(tx: Tx, text: str, receipt: str, *, is_record: bool) -> bool:
    """Return whether a text holds pushed mail, by the messages' ids or by the person's own text.

    A push without messages is Maestro's own text, and needs no confirmation.
    """
    messages = [tx.mail.get(tx.mail.get_head(seq).id) for seq in receipts.sequence_numbers(receipt)]
    return any(_holds_message(text, message, is_record=is_record) for message in messages if message is not None)


def _holds_message(text: str, message: Message, *, is_record: bool) -> bool:
    if message.id in text:
        return True
    body = message.body.strip()
    # A record holds the message between other texts, on lines of its own.
    is_whole = f"\\n{msgspec.json.encode(body)[1:-1].decode()}\\n" in text if is_record else body == text.strip()
    return is_prompt(message) and is_whole
