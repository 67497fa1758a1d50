"""A request for permission that waits for the person: the agent's own program holds its tool call meanwhile."""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections.abc import Callable
from dataclasses import dataclass

from maestro.core import limits
from maestro.domain import asks as rules
from maestro.domain.asks import Ask
from maestro.domain.callers import Caller
from maestro.domain.messages import Received, Step, Type
from maestro.events.hub import Hub
from maestro.operations import asks as ops
from maestro.services import asks
from maestro.services.mail import receipts
from maestro.services.sessions import kin
from maestro.store.base import Store, Tx
from maestro.store.repositories.deliveries import Wanted
from maestro.tools.hooks.base import NOTHING, Happening, Kind, Moment, Reply

_ALLOW, _DENY = "allow", "deny"
_SAME_SECONDS = 2.0  # within which two hooks of one moment fire
_REFUSED = "The person did not allow this."


_Key = tuple[str, str, str]  # the session, what it asks, and what tells that from another call


@dataclass
class _Held:
    """One request, and how many of the program's hooks wait for the same answer."""

    opening: asyncio.Future[Ask]
    waiting: int = 0


def _anyone(tx: Tx, caller: Caller) -> None:
    """Refuse nobody."""


class Holding:
    """Holds requests, each for a bounded time."""

    def __init__(self, store: Store, hub: Hub, *, may_ask: Callable[[Tx, Caller], None] = _anyone) -> None:
        """`may_ask` refuses a request that goes beyond a quota."""
        self._store = store
        self._may_ask = may_ask
        self._hub = hub
        self._held: dict[_Key, _Held] = {}
        self._decided: dict[_Key, tuple[float, Reply]] = {}  # for a moment

    async def hold(self, caller: Caller, happening: Happening) -> Reply:
        """What the person answers. Who goes away, or waits too long, takes the request back and is told nothing:
        then the program does what it does without us, and that is never to allow."""
        key = (caller.name, happening.asked, happening.call)
        if decided := self._decided_just_now(key):
            return decided
        held = self._held.get(key) or self._open(caller, happening, key)
        held.waiting += 1
        ask = None
        try:
            async with asyncio.timeout(limits.hook_hold_seconds_max):
                ask = await self._answered(caller, await asyncio.shield(held.opening))
        except TimeoutError:
            pass
        finally:
            held.waiting -= 1
            if not held.waiting:
                self._held.pop(key, None)
            if not held.waiting and ask is None:
                await asyncio.shield(self._take_back(caller, held.opening))
        if ask is None or ask.status is not rules.Status.ANSWERED:
            return NOTHING
        answered = ask
        await self._store.write(lambda tx: _told(tx, caller, answered))
        reply = _verdict(happening, answered.answer or "")
        self._decided[key] = (time.monotonic() + _SAME_SECONDS, reply)
        return reply

    def _decided_just_now(self, key: _Key) -> Reply | None:
        """A program that is connected by its user too has two hooks for the same request: one may come late."""
        now = time.monotonic()
        for old in [one for one, (until, _) in self._decided.items() if until < now]:
            del self._decided[old]
        return self._decided[key][1] if key in self._decided else None

    def _open(self, caller: Caller, happening: Happening, key: _Key) -> _Held:
        work = self._store.write(lambda tx: self._found_or_made(tx, caller, happening))
        self._held[key] = held = _Held(asyncio.ensure_future(work))
        return held

    def _found_or_made(self, tx: Tx, caller: Caller, happening: Happening) -> Ask:
        digest = digest_of(happening)
        found = _asked_before(tx, caller, digest)
        if found is not None:
            return found
        self._may_ask(tx, caller)
        ask = asks.create(tx, caller, request_for(happening))
        tx.asks.set_call(ask.id, digest)
        return ask

    async def _take_back(self, caller: Caller, opening: asyncio.Future[Ask]) -> None:
        """Also what was still being written when nobody wanted it any more."""
        ask = await opening
        await self._store.write(lambda tx: withdraw_all(tx, caller, [ask.id]))

    def outlived(self, caller: Caller, happening: Happening) -> list[str]:
        """Requests that the person answered in the program itself: the call was made, or the turn is over.

        A program that asks over HTTP goes on without a word to us.
        """
        match happening.moment:
            case Moment.AFTER_TOOL:
                is_this = (caller.name, happening.asked)
                self._decided = {key: one for key, one in self._decided.items() if key[:2] != is_this}
                keys = [key for key in self._held if key[:2] == is_this]
            case Moment.STOP | Moment.PROMPT:
                keys = [key for key in self._held if key[0] == caller.name]
            case _:
                return []
        found = [self._held[key].opening for key in keys if key in self._held]
        return [opening.result().id for opening in found if opening.done() and not opening.exception()]

    async def _answered(self, caller: Caller, ask: Ask) -> Ask:
        keys = [*kin.own_end(caller), ask.id]
        with self._hub.subscribe(keys) as subscription:
            while (ask := await self._look(caller, ask)).status is rules.Status.OPEN:
                await subscription.wait()
                subscription.take()
        return ask

    async def _look(self, caller: Caller, ask: Ask) -> Ask:
        def now(tx: Tx) -> Ask:
            kin.require_live(tx, caller)
            return tx.asks.get(ask.id) or ask

        return await self._store.read(now, quick=True)


def _verdict(happening: Happening, answer: str) -> Reply:
    if happening.question is not None:
        return Reply(Kind.ANSWER, answer, question=happening.question)
    return Reply(Kind.ALLOW) if answer == _ALLOW else Reply(Kind.DENY, _REFUSED)


def request_for(happening: Happening) -> ops.CreateAsk:
    """What the person is asked."""
    asks, many = happening.question, limits.subject_chars_max
    if asks is not None:
        choices = list(asks.choices[: limits.choices_max])
        kind = rules.Kind.QUESTION
        return ops.CreateAsk(title=asks.title[:many], message=asks.text, kind=kind, choice=choices)
    return ops.CreateAsk(
        title=f"May it use {happening.asked or 'a tool'}?"[:many],
        message=f"{happening.tool} asks before it goes on.\n\n{happening.details}".strip(),
        kind=rules.Kind.PERMISSION,
        choice=[_ALLOW, _DENY],
    )


def withdraw_all(tx: Tx, caller: Caller, ask_ids: list[str]) -> None:
    """Take requests back, unless they were answered just now."""
    for ask_id in ask_ids:
        found = tx.asks.get(ask_id)
        if found is not None and found.status is rules.Status.OPEN:
            asks.withdraw(tx, caller, ops.OneAsk(id=ask_id))


def withdraw_left(tx: Tx, caller: Caller) -> None:
    """Withdraw the open requests for permission of a program that no longer waits for them. What the agent asked for
    itself stays open: the agent may wait for that after its turn."""
    left = tx.asks.open_of_calls(caller.name, limit=limits.page_items_default)
    withdraw_all(tx, caller, [one.id for one in left if one.kind is rules.Kind.PERMISSION])


def digest_of(happening: Happening) -> str:
    """Return what tells one tool call from every other, also from one that reads alike where it is cut."""
    parts = (happening.tool, happening.asked, happening.call or happening.details)
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()


def _asked_before(tx: Tx, caller: Caller, digest: str) -> Ask | None:
    """Return the ask about the same call that a killed server had opened: still open, or with an unread answer."""
    for ask in tx.asks.of_call(caller.name, digest, limit=limits.page_items_default):
        if ask.status is rules.Status.OPEN or _unread_answer(tx, caller, ask) is not None:
            return ask
    return None


def _told(tx: Tx, caller: Caller, ask: Ask) -> None:
    """Mark the answer in the agent's mailbox as read: the program has it from the hook."""
    message = _unread_answer(tx, caller, ask)
    if message is not None:
        receipts.take(tx, caller, Step.READ, message.box, message.seq, via="hook")


def _unread_answer(tx: Tx, caller: Caller, ask: Ask) -> Received | None:
    """Return the message with an ask's answer, if it lies unread in the agent's mailbox."""
    message_id = tx.asks.answer_message(ask.id)
    if message_id is None:
        return None
    wanted, box = Wanted(type=Type.RESPONSE), caller.session_id or ""
    found = tx.deliveries.open_in(box, reader=caller.name, wanted=wanted, limit=limits.page_items_max)
    return next((message for message in found if message.id == message_id), None)
