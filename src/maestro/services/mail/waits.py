"""Waiting for mail: at once with what is there, else until something comes and the burst is over."""

from __future__ import annotations

import asyncio

from maestro.core import errors, limits
from maestro.domain.callers import Caller
from maestro.domain.events import Event, Kind
from maestro.domain.messages import Received
from maestro.domain.tasks import Priority
from maestro.events.hub import Hub, Subscription, box_key
from maestro.operations import mail_shapes as ops
from maestro.services.mail import reading, receipts
from maestro.services.mail.post import own_boxes
from maestro.services.sessions.kin import own_end, require_live
from maestro.services.sessions.presence import Presence
from maestro.store.base import Store, Tx
from maestro.store.repositories.deliveries import Wanted
from maestro.store.repositories.mail import RANKS

_ENDS = (Kind.SESSION_ENDED, Kind.SESSION_LOST)


class MailWaits:
    """Blocks until there is mail."""

    def __init__(self, store: Store, hub: Hub, presence: Presence) -> None:
        self._store = store
        self._hub = hub
        self._presence = presence

    async def wait(self, caller: Caller, request: ops.WaitMail) -> ops.Inbox:
        """Subscribes first and looks second, so that nothing slips between."""
        if receipts.is_receipt(request.cursor):
            given = ops.Confirm(receipt=request.cursor)
            await self._store.write(lambda tx: receipts.confirm(tx, caller, given), quick=True)
        wanted = await self._store.read(lambda tx: reading.wanted_by(tx, caller, request), quick=True)
        keys = [*own_end(caller), *map(box_key, own_boxes(caller))]
        with self._hub.subscribe(keys) as subscription, self._presence.attached(caller.session_id):
            try:
                async with asyncio.timeout(request.timeout / 1000):
                    found = await self._gather(subscription, caller, request, wanted)
            except TimeoutError:
                found = await self._look(caller, wanted)
            return await self._answer(caller, request, found)

    async def _gather(
        self, subscription: Subscription, caller: Caller, request: ops.WaitMail, wanted: Wanted
    ) -> list[Received]:
        """Until so many are there, or one is and it is quiet, or something critical is; what others took is not."""
        found = await self._look(caller, wanted)
        while not _is_enough(found, request.count):
            await subscription.wait()
            if request.count == 1:
                await self._quiet(subscription, caller, wanted, seconds=request.debounce / 1000)
            subscription.take()
            found = await self._look(caller, wanted)
        return found

    async def _quiet(self, subscription: Subscription, caller: Caller, wanted: Wanted, *, seconds: float) -> None:
        """Until nothing more that is wanted has come for a while, or something urgent has, or no more fits an answer.

        Letters are known by their events: of thousands who are woken by one, each looks once, at the end.
        """
        loop = asyncio.get_running_loop()
        quiet_at, known = loop.time(), set[str]()
        while True:
            lagging, heard = subscription.lagging, subscription.take()
            if any(event.kind in _ENDS for event in heard):
                return
            if lagging or not all(map(_says_itself, heard)):
                found = await self._look(caller, wanted)
                there, urgent = {one.id for one in found}, _is_urgent(found)
            else:
                letters = [event for event in heard if _is_wanted(event, wanted)]
                there = known | {event.subject for event in letters}
                urgent = any(event.data["priority"] == Priority.CRITICAL for event in letters)
            if there - known:
                quiet_at = loop.time() + seconds
            known = there
            if urgent or not 0 < len(known) < limits.wait_messages_max:
                return
            if not await _stirs(subscription, quiet_at - loop.time()):
                return

    async def _look(self, caller: Caller, wanted: Wanted) -> list[Received]:
        def look(tx: Tx) -> list[Received]:
            require_live(tx, caller)
            return reading.fresh(tx, caller, wanted, limit=limits.wait_messages_max + 1)

        return await self._store.read(look, quick=True)

    async def _answer(self, caller: Caller, request: ops.WaitMail, found: list[Received]) -> ops.Inbox:
        """What was found last; whoever is woken with thousands of others is not made to look again."""
        coordinator = None
        if caller.parent_id is not None:
            coordinator = await self._store.read(lambda tx: reading.coordinator_contact(tx, caller), quick=True)
        shown, more = found[: limits.wait_messages_max], len(found) > limits.wait_messages_max
        inbox = reading.answer(shown, peek=request.peek, more=more, coordinator=coordinator)
        if inbox.messages:
            return inbox
        raise _timed_out(request, inbox)


def _says_itself(event: Event) -> bool:
    """Whether an event tells all that a wait must know of it. Of a conversation that was given back it does not."""
    return event.kind == Kind.MAIL_SENT or "to" not in event.data


def _is_wanted(event: Event, wanted: Wanted) -> bool:
    data = event.data
    return (
        event.kind == Kind.MAIL_SENT
        and (wanted.type is None or wanted.type.value == data["type"])
        and (wanted.priority is None or RANKS[Priority(data["priority"])] <= RANKS[wanted.priority])
        and (wanted.task_id is None or wanted.task_id == data.get("task"))
    )


async def _stirs(subscription: Subscription, seconds: float) -> bool:
    """Whether something comes within a time."""
    try:
        async with asyncio.timeout(seconds):
            await subscription.wait()
    except TimeoutError:
        return False
    return True


def _is_enough(found: list[Received], count: int) -> bool:
    return len(found) >= count or _is_urgent(found)


def _is_urgent(found: list[Received]) -> bool:
    return bool(found) and found[0].priority is Priority.CRITICAL


def _timed_out(request: ops.WaitMail, inbox: ops.Inbox) -> errors.TimedOut:
    hint, told = "", inbox.coordinator
    if told is not None and not told.fresh:
        hint = (
            f"Your coordinator {told.name} was last heard of at {told.last_seen:%H:%M:%S} UTC; it is {told.status}."
        )
    return errors.TimedOut(f"No mail within {request.timeout / 1000:g} s.", hint=hint)
