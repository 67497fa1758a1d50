"""Tells the person, once per change, that an agent needs them or no longer does: on the desktop, and at an address
of their own."""

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
from maestro.domain.asks import Ask, Status
from maestro.store.base import Store, Tx

log = logging.getLogger(__name__)
_BATCH = 20


class Notifications:
    """Runs when something was asked, answered or withdrawn. `webhook`: an address that gets each change as JSON."""

    name = "notifications"

    def __init__(self, store: Store, *, desktop: bool, webhook: str) -> None:
        self._store = store
        ways: list[Callable[[Ask], None]] = []
        if desktop and (program := _notifier()):
            ways.append(lambda ask: _on_desktop(program, ask))
        if webhook:
            ways.append(lambda ask: _to_webhook(webhook, ask))
        self._ways = ways

    async def run_once(self) -> datetime | None:
        found, now = await self._store.read(lambda tx: (tx.asks.unnotified(limit=_BATCH), tx.at))
        if not found:
            return None
        # Marked first: a way that hangs or fails is not tried again and again for one request.
        await self._store.write(lambda tx: _mark(tx, found))
        for ask in found:
            await asyncio.to_thread(self._tell, ask)
        return now

    def _tell(self, ask: Ask) -> None:
        for way in self._ways:
            try:
                way(ask)
            except (OSError, subprocess.SubprocessError, ValueError) as error:
                log.warning("the person could not be notified of %s: %s", ask.id, error)


def _mark(tx: Tx, found: list[Ask]) -> None:
    for ask in found:
        tx.asks.mark_notified(ask.id, at=tx.at)


def _notifier() -> str | None:
    """The desktop's own program, where there is a desktop."""
    if shutil.which("osascript"):
        return "osascript"
    return shutil.which("notify-send") if os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY") else None


def _on_desktop(program: str, ask: Ask) -> None:
    if ask.status is Status.ANSWERED:
        return  # it was the person who answered
    needs = "needs you" if ask.status is Status.OPEN else "no longer needs you"
    title, text = f"{ask.asked_by} {needs}", ask.title
    if program == "osascript":
        # Given as arguments, so that no text of an agent becomes part of the script.
        script = "on run argv\ndisplay notification (item 2 of argv) with title (item 1 of argv)\nend run"
        words = [program, "-e", script, title, text]
    else:
        words = [program, "--app-name=Maestro", "--", title, text]
    subprocess.run(words, check=False, capture_output=True, timeout=limits.webhook_seconds_max)


def _to_webhook(address: str, ask: Ask) -> None:
    kind = "opened" if ask.status is Status.OPEN else ask.status.value
    body = msgspec.json.encode({"kind": f"ask.{kind}", "ask": ask})
    request = urllib.request.Request(address, data=body, headers={"Content-Type": "application/json"}, method="POST")
    with urllib.request.urlopen(request, timeout=limits.webhook_seconds_max):
        pass
