"""Waiting for mail: at once with what is there, else until something comes and the burst is over."""

from __future__ import annotations

import asyncio

from maestro import errors, limits
from maestro.domain.callers import Caller
from maestro.domain.messages import Received
from maestro.domain.tasks import Priority
from maestro.events.hub import Hub, Subscription, box_key
from maestro.operations import mail_shapes as ops
from maestro.services.kin import own_end, require_live
from maestro.services.mail import reading, receipts
from maestro.services.mail.post import own_boxes
from maestro.services.presence import Presence
from maestro.store.base import Store, Tx
from maestro.store.repositories.deliveries import Wanted


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
        if len(found) >= request.count:
            return found
        while not _is_enough(found, request.count):
            await subscription.wait()
            subscription.take()
            found = await self._look(caller, wanted)
            if request.count == 1 and found:
                found = await self._quietly(subscription, caller, wanted, found, seconds=request.debounce / 1000)
        return found

    async def _quietly(
        self, subscription: Subscription, caller: Caller, wanted: Wanted, found: list[Received], *, seconds: float
    ) -> list[Received]:
        """What is there once nothing more that is wanted has come for a while, or no more fits into an answer."""
        loop = asyncio.get_running_loop()
        quiet_at = loop.time() + seconds
        stirs = True
        while stirs and not _is_urgent(found) and len(found) < limits.wait_messages_max:
            stirs = await _stirs(subscription, quiet_at - loop.time())
            subscription.take()
            known, found = {one.seq for one in found}, await self._look(caller, wanted)
            if any(one.seq not in known for one in found):
                quiet_at = loop.time() + seconds
        return found

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
