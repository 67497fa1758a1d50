"""Render notifications as text."""

from __future__ import annotations

from maestro.domain.notifications import Notification
from maestro.operations.notifications import NotificationList, NotificationTest
from maestro.surfaces.cli.render.base import Rendered, format_time
from maestro.surfaces.cli.render.style import View, align_rows, paint, safe_line

_NO_CHANNEL = (
    "no channel is switched on: maestro config set notify_desktop true, or maestro config set notify_webhook URL"
)


def render_test(value: NotificationTest, view: View) -> Rendered:
    rows = [
        [result.channel, paint(safe_line(result.problem), "red") if result.problem else "sent"]
        for result in value.channels
    ]
    return Rendered(align_rows(rows), [] if rows else [_NO_CHANNEL])


def render_notification_list(value: NotificationList, view: View) -> Rendered:
    rows = [
        [
            format_time(notification.created_at),
            notification.kind,
            safe_line(notification.session or "–"),
            safe_line(notification.project or "–"),
            _state_text(notification),
        ]
        for notification in value.notifications
    ]
    return Rendered(align_rows(rows), [] if rows else ["no notifications"])


def _state_text(notification: Notification) -> str:
    """Return how far a notification is sent, and why the last attempt failed."""
    if notification.problem:
        again = f"; next attempt {format_time(notification.due_at)}" if notification.due_at else "; given up"
        attempts = "1 attempt" if notification.attempts == 1 else f"{notification.attempts} attempts"
        return paint(f"{attempts}: {safe_line(notification.problem)}{again}", "red")
    return "waits" if notification.due_at is not None else "sent"
