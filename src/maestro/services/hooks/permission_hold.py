"""Hold a tool call until the person answers its ask. The agent's program waits for the hook's reply meanwhile."""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta

from maestro.core import errors, limits
from maestro.domain import asks as rules
from maestro.domain.asks import Ask
from maestro.domain.callers import Caller
from maestro.domain.messages import MessageType, ReceiptStep, ReceivedMessage
from maestro.domain.sessions import SessionStatus, StatusSource
from maestro.events.hub import Hub
from maestro.operations import asks as ops
from maestro.services.access import session_relations
from maestro.services.asks import asks
from maestro.services.asks.withdrawal import withdraw_asks
from maestro.services.mail import receipts
from maestro.services.sessions import status
from maestro.store.base import Store, Tx
from maestro.store.repositories.deliveries import MessageFilter
from maestro.tools.hook_dialect import EMPTY_REPLY, HookEvent, HookMoment, HookReply, ReplyKind

_REPEAT_SECONDS = 2.0  # two hooks of the same call fire within this time
_DENIED_BY_PERSON = "The person did not allow this."


_Key = tuple[str, str, str]  # the session, the call's text, and the call's digest


@dataclass
class _Held:
    """An ask, and the number of the program's hooks that wait for the answer."""

    opening: asyncio.Future[Ask]
    waiting: int = 0


def _allow_all(tx: Tx, caller: Caller) -> None:
    """Allow every ask."""


class PermissionHolds:
    """Holds tool calls until their asks are answered, each for a bounded time."""

    def __init__(
        self,
        store: Store,
        hub: Hub,
        *,
        may_ask: Callable[[Tx, Caller], None] = _allow_all,
    ) -> None:
        """`may_ask` refuses an ask that exceeds a quota."""
        self._store = store
        self._may_ask = may_ask
        self._hub = hub
        self._held: dict[_Key, _Held] = {}
        self._recent_replies: dict[_Key, tuple[float, HookReply]] = {}  # kept for _REPEAT_SECONDS

    async def hold_call(self, caller: Caller, event: HookEvent, *, has_window: bool = False) -> HookReply:
        """Return the person's answer as a reply.

        When the hook goes away or waits too long, withdraw the ask and return no reply. The program then falls back
        to its own behaviour, which never allows the call. `has_window`: the program shows its own dialog too. It ends
        the hook when the person has answered there.
        """
        key = (caller.name, event.summary, event.call_digest)
        if decided := self._recent_reply(key):
            return decided
        held = self._held.get(key) or self._open_ask(caller, event, key, has_window=has_window)
        held.waiting += 1
        ask = None
        try:
            async with asyncio.timeout(limits.hook_hold_seconds_max):
                ask = await self._wait_for_answer(caller, await asyncio.shield(held.opening))
        except TimeoutError:
            pass
        finally:
            held.waiting -= 1
            if not held.waiting:
                self._held.pop(key, None)
            if not held.waiting and ask is None:
                await asyncio.shield(self._withdraw_ask(caller, held.opening))
        if ask is None or ask.status is not rules.AskStatus.ANSWERED:
            return EMPTY_REPLY
        answered = ask
        await self._store.write(lambda tx: _mark_answer_read(tx, caller, answered))
        reply = _reply_for_answer(event, answered.answer or "")
        self._recent_replies[key] = (time.monotonic() + _REPEAT_SECONDS, reply)
        return reply

    def is_within_quota(self, tx: Tx, caller: Caller) -> bool:
        """Count a new ask of the caller; return whether the caller may open the ask."""
        try:
            self._may_ask(tx, caller)
        except errors.LimitReached:
            return False
        return True

    def _recent_reply(self, key: _Key) -> HookReply | None:
        """Return the reply that the same call got a moment ago.

        A program that the user connected as well has two hooks for the same call, and the second may come late.
        """
        now = time.monotonic()
        for expired in [key for key, (until, _) in self._recent_replies.items() if until < now]:
            del self._recent_replies[expired]
        return self._recent_replies[key][1] if key in self._recent_replies else None

    def _open_ask(self, caller: Caller, event: HookEvent, key: _Key, *, has_window: bool) -> _Held:
        work = self._store.write(lambda tx: self._find_or_create_ask(tx, caller, event, has_window=has_window))
        self._held[key] = held = _Held(asyncio.ensure_future(work))
        return held

    def _find_or_create_ask(self, tx: Tx, caller: Caller, event: HookEvent, *, has_window: bool) -> Ask:
        digest = digest_of_call(event)
        found = _ask_of_same_call(tx, caller, digest)
        if found is not None:
            return found
        self._may_ask(tx, caller)
        ask = _open_in_window(tx, caller, event) if has_window else asks.create_ask(tx, caller, ask_for_call(event))
        tx.asks.set_call(ask.id, digest)
        record_since = tx.at + timedelta(seconds=limits.held_ask_settle_seconds)
        tx.asks.set_record(ask.id, event.transcript, record_since=record_since)
        return ask

    async def _withdraw_ask(self, caller: Caller, opening: asyncio.Future[Ask]) -> None:
        """Withdraw an ask that no hook waits for, even if the write of the ask had not finished."""
        ask = await opening
        await self._store.write(lambda tx: withdraw_asks(tx, caller, [ask.id]))

    def outlived_asks(self, caller: Caller, event: HookEvent) -> list[str]:
        """Return the asks that the person answered in the program itself: the call was made, or the turn is over.

        A program whose hooks use HTTP goes on without reporting the answer.
        """
        match event.moment:
            case HookMoment.AFTER_TOOL:
                finished = self._keys_of_finished_call(caller, event)
                self._recent_replies = {
                    key: reply for key, reply in self._recent_replies.items() if key not in finished
                }
                keys = [key for key in self._held if key in finished]
            case HookMoment.STOP | HookMoment.PROMPT:
                keys = [key for key in self._held if key[0] == caller.name]
            case _:
                return []
        openings = [self._held[key].opening for key in keys if key in self._held]
        return [opening.result().id for opening in openings if opening.done() and not opening.exception()]

    def _keys_of_finished_call(self, caller: Caller, event: HookEvent) -> set[_Key]:
        """Return the keys of a call that was made, by the digest of the call.

        A program may name the input of a finished call in another form. Then the text of the call decides.
        """
        known = [key for key in (*self._held, *self._recent_replies) if key[0] == caller.name]
        same_call = {key for key in known if event.call_digest and key[2] == event.call_digest}
        return same_call or {key for key in known if key[1] == event.summary}

    async def _wait_for_answer(self, caller: Caller, ask: Ask) -> Ask:
        keys = [*session_relations.own_end_subjects(caller), ask.id]
        with self._hub.subscribe(keys) as subscription:
            while (ask := await self._read_ask(caller, ask)).status is rules.AskStatus.OPEN:
                await subscription.wait_for_event()
                subscription.take_events()
        return ask

    async def _read_ask(self, caller: Caller, ask: Ask) -> Ask:
        def read_current(tx: Tx) -> Ask:
            session_relations.require_live_caller(tx, caller)
            return tx.asks.get(ask.id) or ask

        return await self._store.read(read_current, quick=True)


def _open_in_window(tx: Tx, caller: Caller, event: HookEvent) -> Ask:
    """Open an ask that the person answers in Maestro or in the session's own window. The hook reports the status."""
    session, wanted = session_relations.own_session(tx, caller), ask_for_call(event)
    ask = asks.open_ask_for_tool(
        tx,
        session,
        kind=wanted.kind,
        title=wanted.title,
        text=wanted.message,
        choices=wanted.choice,
        task_id=None,
    )
    status.apply_signal(
        tx,
        session,
        SessionStatus.NEEDS_INPUT,
        source=StatusSource.HOOK,
        detail=event.summary,
        actor=caller.name,
    )
    return ask


def _reply_for_answer(event: HookEvent, answer: str) -> HookReply:
    if event.question is not None:
        return HookReply(ReplyKind.ANSWER, answer, question=event.question)
    return HookReply(ReplyKind.ALLOW) if answer == rules.ALLOW else HookReply(ReplyKind.DENY, _DENIED_BY_PERSON)


def ask_for_call(event: HookEvent) -> ops.CreateAsk:
    """Return the ask that shows a tool call or a question to the person."""
    question, chars_max = event.question, limits.subject_chars_max
    if question is not None:
        choices = list(question.choices[: limits.choices_max])
        kind = rules.AskKind.QUESTION
        return ops.CreateAsk(title=question.title[:chars_max], message=question.text, kind=kind, choice=choices)
    return ops.CreateAsk(
        title=f"May it use {event.summary or 'a tool'}?"[:chars_max],
        message=f"{event.tool} waits for permission.\n\n{event.details}".strip(),
        kind=rules.AskKind.PERMISSION,
        choice=[rules.ALLOW, rules.DENY],
    )


def digest_of_call(event: HookEvent) -> str:
    """Return a digest that differs for any two tool calls, also for calls whose shortened texts are equal."""
    parts = (event.tool, event.summary, event.call_digest or event.details)
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()


def _ask_of_same_call(tx: Tx, caller: Caller, digest: str) -> Ask | None:
    """Return the ask that a killed server opened for the same call, if the ask is open or the answer unread."""
    for ask in tx.asks.asks_of_call(caller.name, digest, limit=limits.page_items_default):
        if ask.status is rules.AskStatus.OPEN or _unread_answer(tx, caller, ask) is not None:
            return ask
    return None


def _mark_answer_read(tx: Tx, caller: Caller, ask: Ask) -> None:
    """Mark the answer in the agent's mailbox as read: the program has it from the hook."""
    message = _unread_answer(tx, caller, ask)
    if message is not None:
        receipts.record_step(tx, caller, ReceiptStep.READ, message.mailbox, message.seq, via="hook")


def _unread_answer(tx: Tx, caller: Caller, ask: Ask) -> ReceivedMessage | None:
    """Return the message with an ask's answer, if it lies unread in the agent's mailbox."""
    message_id = tx.asks.answer_message(ask.id)
    if message_id is None:
        return None
    wanted, mailbox = MessageFilter(type=MessageType.RESPONSE), caller.session_id or ""
    found = tx.deliveries.list_offered(mailbox, reader=caller.name, wanted=wanted, limit=limits.page_items_max)
    return next((message for message in found if message.id == message_id), None)
