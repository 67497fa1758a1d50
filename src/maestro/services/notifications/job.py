"""Send due notifications to the person, and repeat the attempts of a webhook that fails with growing pauses."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from datetime import datetime, timedelta

from maestro.core import ids, limits
from maestro.domain.callers import Caller
from maestro.domain.notifications import Notification, NotificationKind, next_attempt_at
from maestro.operations import notifications as ops
from maestro.services.notifications.channels import ChannelFailed, NotificationChannel
from maestro.store.base import Store, Tx

log = logging.getLogger(__name__)


class NotificationJob:
    """A job that runs when a notification is due."""

    name = "notifications"

    def __init__(self, store: Store, channels: Sequence[NotificationChannel], *, with_content: bool) -> None:
        self._store = store
        self._channels = channels
        self._with_content = with_content

    async def run_once(self) -> datetime | None:
        due = await self._store.read(
            lambda tx: tx.notifications.list_due(tx.at, limit=limits.notifications_in_round_max)
        )
        for notification in due:
            await self._send(notification)
        return await self._store.read(lambda tx: tx.notifications.next_due())

    async def send_test(self, caller: Caller, request: ops.TestNotification) -> ops.NotificationTest:
        """Send a test over every channel at once, and return what each channel says."""
        at = await self._store.read(lambda tx: tx.at, quick=True)
        test = Notification(
            id=ids.new_id("ntf", at), kind=NotificationKind.TEST, content="This is a test.", created_at=at
        )
        results = [
            ops.ChannelResult(channel=channel.name, problem=await self._try_channel(channel, test))
            for channel in self._channels
        ]
        return ops.NotificationTest(channels=results)

    async def _send(self, notification: Notification) -> None:
        """Send a notification. The attempt is recorded first: a kill must not repeat the attempt for ever."""
        attempts = notification.attempts + 1
        retried = [channel for channel in self._channels if channel.is_retried]
        await self._store.write(lambda tx: _record_attempt(tx, notification, attempts, is_final=not retried))
        if attempts == 1:
            for channel in self._channels:
                if not channel.is_retried:  # a server without a desktop is usual: `notify test` names the problem
                    await self._try_channel(channel, notification)
        problems = [await self._try_channel(channel, notification) for channel in retried]
        for problem in filter(None, problems):
            log.warning("notification %s, attempt %d: %s", notification.id, attempts, problem)
        if retried:
            text = "; ".join(filter(None, problems))
            await self._store.write(lambda tx: _record_result(tx, notification, attempts, text))

    async def _try_channel(self, channel: NotificationChannel, notification: Notification) -> str:
        """Send a notification over a channel; return the reason of a failure, or an empty text."""
        try:
            await asyncio.to_thread(channel.send, notification, with_content=self._with_content)
        except ChannelFailed as failed:
            return str(failed)[: limits.hook_problem_chars_max]
        return ""


def list_notifications(tx: Tx, caller: Caller, request: ops.ListNotifications) -> ops.NotificationList:
    """Return the newest notifications, or only the failed notifications of the last day."""
    if request.failed:
        since = tx.at - timedelta(days=1)
        return ops.NotificationList(notifications=tx.notifications.list_failed(since=since, limit=request.limit))
    return ops.NotificationList(notifications=tx.notifications.list_newest(limit=request.limit))


def _record_attempt(tx: Tx, notification: Notification, attempts: int, *, is_final: bool) -> None:
    """Record an attempt before it is made. `is_final`: no channel repeats its attempts."""
    due_at = None if is_final else next_attempt_at(attempts, tx.at, limits.notification_pauses_seconds)
    problem = "" if is_final else notification.problem or "the server ended during the attempt"
    tx.notifications.set_state(notification.id, due_at=due_at, attempts=attempts, problem=problem)
    tx.notifications.delete_old(before=tx.at - timedelta(days=limits.notification_days))


def _record_result(tx: Tx, notification: Notification, attempts: int, problem: str) -> None:
    due_at = next_attempt_at(attempts, tx.at, limits.notification_pauses_seconds) if problem else None
    tx.notifications.set_state(notification.id, due_at=due_at, attempts=attempts, problem=problem)
