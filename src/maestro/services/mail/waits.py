"""Wait for mail. A wait answers at once if the caller has unread mail, else after the next burst of messages."""

from __future__ import annotations

import asyncio

from maestro.core import errors, limits
from maestro.domain.callers import Caller
from maestro.domain.events import Event, EventKind
from maestro.domain.messages import ReceivedMessage
from maestro.domain.priorities import Priority
from maestro.events.hub import Hub, Subscription, mailbox_key
from maestro.operations import mail_shapes as ops
from maestro.services.access.session_relations import own_end_subjects, require_live_caller
from maestro.services.mail import reading, receipts
from maestro.services.mail.create import own_mailboxes
from maestro.services.presence.tracker import PresenceTracker
from maestro.store.base import Store, Tx
from maestro.store.repositories.deliveries import MessageFilter

_SESSION_ENDS = (EventKind.SESSION_ENDED, EventKind.SESSION_LOST)


class MailWaits:
    """Waits of callers for mail."""

    def __init__(self, store: Store, hub: Hub, presence: PresenceTracker) -> None:
        self._store = store
        self._hub = hub
        self._presence = presence

    async def wait_for_mail(self, caller: Caller, request: ops.WaitMail) -> ops.InboxPage:
        """Wait until the caller has mail, and return the mail; raise `TimedOut` when none has come.

        Subscribes to the mailboxes before reading them, because a message between the two steps would be missed.
        """
        if receipts.is_receipt(request.cursor):
            confirmation = ops.ConfirmReceipt(receipt=request.cursor)
            await self._store.write(lambda tx: receipts.confirm(tx, caller, confirmation), quick=True)
        wanted = await self._store.read(lambda tx: reading.message_filter(tx, caller, request), quick=True)
        keys = [*own_end_subjects(caller), *map(mailbox_key, own_mailboxes(caller))]
        with self._hub.subscribe(keys) as subscription, self._presence.keep_connected(caller.session_id):
            try:
                async with asyncio.timeout(request.timeout / 1000):
                    messages = await self._wait_for_messages(subscription, caller, request, wanted)
            except TimeoutError:
                messages = await self._find_unshown(caller, wanted)
            return await self._inbox_answer(caller, request, messages)

    async def _wait_for_messages(
        self, subscription: Subscription, caller: Caller, request: ops.WaitMail, wanted: MessageFilter
    ) -> list[ReceivedMessage]:
        """Wait for `count` messages, for the end of a burst, or for a critical message.

        Messages that another session has read meanwhile do not count.
        """
        messages = await self._find_unshown(caller, wanted)
        while not _is_enough(messages, request.count):
            await subscription.wait_for_event()
            if request.count == 1:
                await self._wait_for_end_of_burst(subscription, caller, wanted, seconds=request.debounce / 1000)
            subscription.take_events()
            messages = await self._find_unshown(caller, wanted)
        return messages

    async def _wait_for_end_of_burst(
        self, subscription: Subscription, caller: Caller, wanted: MessageFilter, *, seconds: float
    ) -> None:
        """Return after `seconds` without a matching message, on a critical message, or when the answer is full.

        New messages are recognised from their events, so that thousands of woken waits do not each query the store.
        """
        loop = asyncio.get_running_loop()
        burst_ends_at, known_ids = loop.time(), set[str]()
        while True:
            lagging, events = subscription.is_lagging, subscription.take_events()
            if any(event.kind in _SESSION_ENDS for event in events):
                return
            if lagging or not all(map(_is_complete, events)):
                messages = await self._find_unshown(caller, wanted)
                present, urgent = {message.id for message in messages}, _is_urgent(messages)
            else:
                matching = [event for event in events if _matches_filter(event, wanted)]
                present = known_ids | {event.subject for event in matching}
                urgent = any(event.data["priority"] == Priority.CRITICAL for event in matching)
            if present - known_ids:
                burst_ends_at = loop.time() + seconds
            known_ids = present
            if urgent or not 0 < len(known_ids) < limits.wait_messages_max:
                return
            if not await _has_event_within(subscription, burst_ends_at - loop.time()):
                return

    async def _find_unshown(self, caller: Caller, wanted: MessageFilter) -> list[ReceivedMessage]:
        def find_unshown(tx: Tx) -> list[ReceivedMessage]:
            require_live_caller(tx, caller)
            return reading.find_unshown(tx, caller, wanted, limit=limits.wait_messages_max + 1)

        return await self._store.read(find_unshown, quick=True)

    async def _inbox_answer(
        self, caller: Caller, request: ops.WaitMail, messages: list[ReceivedMessage]
    ) -> ops.InboxPage:
        """Return the messages found last, without a second query: thousands of waits may be woken at once."""
        coordinator = None
        if caller.parent_id is not None:
            coordinator = await self._store.read(lambda tx: reading.coordinator_contact(tx, caller), quick=True)
        shown, has_more = messages[: limits.wait_messages_max], len(messages) > limits.wait_messages_max
        inbox = reading.inbox_answer(shown, peek=request.peek, has_more=has_more, coordinator=coordinator)
        if inbox.messages:
            return inbox
        raise _timeout_error(request, inbox)


def _is_complete(event: Event) -> bool:
    """Return whether a wait can use the event without a query. The event of a released thread needs a query."""
    return event.kind == EventKind.MAIL_SENT or "to" not in event.data


def _matches_filter(event: Event, wanted: MessageFilter) -> bool:
    data = event.data
    return (
        event.kind == EventKind.MAIL_SENT
        and (wanted.type is None or wanted.type.value == data["type"])
        and (wanted.priority is None or Priority(data["priority"]).rank <= wanted.priority.rank)
        and (wanted.task_id is None or wanted.task_id == data.get("task"))
    )


async def _has_event_within(subscription: Subscription, seconds: float) -> bool:
    """Return whether an event arrives within `seconds`."""
    try:
        async with asyncio.timeout(seconds):
            await subscription.wait_for_event()
    except TimeoutError:
        return False
    return True


def _is_enough(messages: list[ReceivedMessage], count: int) -> bool:
    return len(messages) >= count or _is_urgent(messages)


def _is_urgent(messages: list[ReceivedMessage]) -> bool:
    return bool(messages) and messages[0].priority is Priority.CRITICAL


def _timeout_error(request: ops.WaitMail, inbox: ops.InboxPage) -> errors.TimedOut:
    hint, coordinator = "", inbox.coordinator
    if coordinator is not None and not coordinator.fresh:
        hint = (
            f"Your coordinator {coordinator.name} was last heard of at {coordinator.last_seen:%H:%M:%S} UTC; "
            f"its status is {coordinator.status}."
        )
    return errors.TimedOut(f"No mail within {request.timeout / 1000:g} s.", hint=hint)
