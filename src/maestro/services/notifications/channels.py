"""The channels of notifications: the desktop and a webhook. Each sends one notification or raises ChannelFailed.

Without the setting `notify_content`, a notification says who needs the person, where and why, and nothing of the
content: a desktop may be shared, and a webhook leaves the machine.
"""

from __future__ import annotations

import http.client
import os
import shutil
import subprocess
import urllib.error
import urllib.request
from typing import Any, Protocol

import msgspec

from maestro.core import limits
from maestro.domain.asks import AskKind
from maestro.domain.notifications import Notification, NotificationKind

_PHRASES = {
    NotificationKind.ASK_OPENED: "needs you",
    NotificationKind.ASK_ANSWERED: "has its answer",
    NotificationKind.ASK_WITHDRAWN: "no longer needs you",
    NotificationKind.SESSION_LOST: "is lost",
    NotificationKind.SESSION_FAILED: "has failed",
    NotificationKind.SESSION_BLOCKED: "is blocked",
    NotificationKind.TEST: "can notify you",
}
_ASK_NOUNS = {AskKind.PERMISSION: "asks for a permission", AskKind.QUESTION: "has a question"}


class ChannelFailed(Exception):
    """A channel could not send a notification; the text says why."""


class NotificationChannel(Protocol):
    """A way to the person."""

    name: str
    is_retried: bool  # whether a later attempt still helps

    def send(self, notification: Notification, *, with_content: bool) -> None:
        """Send a notification, or raise ChannelFailed."""


class DesktopChannel:
    """The notifications of the desktop on which the server runs."""

    name = "desktop"
    is_retried = False

    def send(self, notification: Notification, *, with_content: bool) -> None:
        if notification.kind is NotificationKind.ASK_ANSWERED:
            return  # the person gave the answer and needs no notification
        program = _desktop_program()
        title = f"{notification.session or 'Maestro'} {_PHRASES[notification.kind]}"
        text = notification.content if with_content else _plain_text(notification)
        if os.path.basename(program) == "osascript":  # noqa: PTH119
            # Title and text are arguments, so that no text of an agent becomes part of the script.
            script = "on run argv\ndisplay notification (item 2 of argv) with title (item 1 of argv)\nend run"
            command = [program, "-e", script, title, text]
        else:
            command = [program, "--app-name=Maestro", "--", title, text]
        try:
            subprocess.run(command, check=True, capture_output=True, timeout=limits.notification_seconds_max)
        except (OSError, subprocess.SubprocessError) as error:
            raise ChannelFailed(f"{program} failed: {error}") from None


class WebhookChannel:
    """A web address that gets each notification as JSON (POST)."""

    name = "webhook"
    is_retried = True

    def __init__(self, address: str) -> None:
        self._address = address

    def send(self, notification: Notification, *, with_content: bool) -> None:
        request = urllib.request.Request(
            self._address,
            data=msgspec.json.encode(webhook_body(notification, with_content=with_content)),
            headers={"Content-Type": "application/json", "User-Agent": "maestro"},
            method="POST",
        )
        try:
            with urllib.request.urlopen(request, timeout=limits.notification_seconds_max):
                pass
        except (OSError, ValueError, http.client.HTTPException) as error:
            raise ChannelFailed(f"the webhook failed: {error}") from None


def webhook_body(notification: Notification, *, with_content: bool) -> dict[str, Any]:
    """Return the JSON that the webhook gets. Repeated attempts have the same `id`."""
    body: dict[str, Any] = {
        "id": notification.id,
        "kind": notification.kind.value,
        "at": notification.created_at,
        "who": notification.session,
        "project": notification.project,
        "session_id": notification.session_id,
    }
    if notification.ask_id is not None:
        body["ask"] = {"id": notification.ask_id, "kind": notification.ask_kind}
    if with_content:
        body["content"] = notification.content
    return body


def _plain_text(notification: Notification) -> str:
    """Return the text of a notification without the content of the ask."""
    project = f" in {notification.project}" if notification.project else ""
    if notification.ask_kind is not None:
        return f"It {_ASK_NOUNS[notification.ask_kind]}{project}: maestro ask show {notification.ask_id}"
    return f"maestro session show {notification.session_id}" if notification.session_id else "This is a test."


def _desktop_program() -> str:
    """Return the notification program of the desktop."""
    if program := shutil.which("osascript"):
        return program
    if not (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
        raise ChannelFailed("the server runs without a desktop (neither DISPLAY nor WAYLAND_DISPLAY is set)")
    program = shutil.which("notify-send")
    if program is None:
        raise ChannelFailed("the program notify-send is not installed")
    return program
