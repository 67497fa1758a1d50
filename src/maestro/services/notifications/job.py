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
        await self._store.write(lambda tx: _record_attempt(tx, notification, attempts))
        # A later attempt repeats only the channels for which a repetition helps.
        channels = [channel for channel in self._channels if attempts == 1 or channel.is_retried]
        problems = {channel: await self._try_channel(channel, notification) for channel in channels}
        failed = [problem for channel, problem in problems.items() if problem and channel.is_retried]
        for problem in filter(None, problems.values()):
            log.warning("notification %s, attempt %d: %s", notification.id, attempts, problem)
        await self._store.write(lambda tx: _record_result(tx, notification, attempts, "; ".join(failed)))

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


def _record_attempt(tx: Tx, notification: Notification, attempts: int) -> None:
    due_at = next_attempt_at(attempts, tx.at, limits.notification_pauses_seconds)
    tx.notifications.set_state(
        notification.id, due_at=due_at, attempts=attempts, problem=notification.problem or "was not completed"
    )


def _record_result(tx: Tx, notification: Notification, attempts: int, problem: str) -> None:
    due_at = next_attempt_at(attempts, tx.at, limits.notification_pauses_seconds) if problem else None
    tx.notifications.set_state(notification.id, due_at=due_at, attempts=attempts, problem=problem)
    tx.notifications.delete_old(before=tx.at - timedelta(days=limits.notification_days))
