"""Notify the person once per change of an ask (opened, answered, withdrawn), on the desktop and over a webhook."""

from __future__ import annotations

import asyncio
import logging
import os
import shutil
import subprocess
import urllib.error
import urllib.request
from collections.abc import Callable
from datetime import datetime

import msgspec

from maestro.core import limits
from maestro.domain.asks import Ask, AskStatus
from maestro.store.base import Store, Tx

log = logging.getLogger(__name__)
_BATCH = 20


class NotificationJob:
    """A job that runs when an ask was opened, answered or withdrawn. `webhook` is an address for JSON."""

    name = "ask-notifications"

    def __init__(self, store: Store, *, desktop: bool, webhook: str) -> None:
        self._store = store
        channels: list[Callable[[Ask], None]] = []
        if desktop and (program := _desktop_notifier()):
            channels.append(lambda ask: _show_on_desktop(program, ask))
        if webhook:
            channels.append(lambda ask: _post_to_webhook(webhook, ask))
        self._channels = channels

    async def run_once(self) -> datetime | None:
        changed, now = await self._store.read(lambda tx: (tx.asks.list_unnotified(limit=_BATCH), tx.at))
        if not changed:
            return None
        # Mark first: a channel that hangs or fails must not be tried endlessly for the same ask.
        await self._store.write(lambda tx: _mark_notified(tx, changed))
        for ask in changed:
            await asyncio.to_thread(self._notify, ask)
        return now

    def _notify(self, ask: Ask) -> None:
        for channel in self._channels:
            try:
                channel(ask)
            except (OSError, subprocess.SubprocessError, ValueError) as error:
                log.warning("the person could not be notified of %s: %s", ask.id, error)


def _mark_notified(tx: Tx, changed: list[Ask]) -> None:
    for ask in changed:
        tx.asks.mark_notified(ask.id, at=tx.at)


def _desktop_notifier() -> str | None:
    """Return the notification program of the desktop, or None without a desktop."""
    if shutil.which("osascript"):
        return "osascript"
    return shutil.which("notify-send") if os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY") else None


def _show_on_desktop(program: str, ask: Ask) -> None:
    if ask.status is AskStatus.ANSWERED:
        return  # the person gave the answer and needs no notification
    needs = "needs you" if ask.status is AskStatus.OPEN else "no longer needs you"
    title, text = f"{ask.asked_by} {needs}", ask.title
    if program == "osascript":
        # Title and text are arguments, so that no text of an agent becomes part of the script.
        script = "on run argv\ndisplay notification (item 2 of argv) with title (item 1 of argv)\nend run"
        command = [program, "-e", script, title, text]
    else:
        command = [program, "--app-name=Maestro", "--", title, text]
    subprocess.run(command, check=False, capture_output=True, timeout=limits.webhook_seconds_max)


def _post_to_webhook(address: str, ask: Ask) -> None:
    kind = "opened" if ask.status is AskStatus.OPEN else ask.status.value
    body = msgspec.json.encode({"kind": f"ask.{kind}", "ask": ask})
    request = urllib.request.Request(address, data=body, headers={"Content-Type": "application/json"}, method="POST")
    with urllib.request.urlopen(request, timeout=limits.webhook_seconds_max):
        pass
