"""What was shown of mail, and when that counts as read.

Handed over, it counts as delivered. Read it counts once the client has shown that it has the answer: it sent the
cursor back (the service sees to that), it goes on over the same connection, whose answer it must have read to do so,
or it calls again after so long that the call cannot have been under way when the answer was sent. A client that hung
up before it had read the answer, or took its request back, has shown nothing: its mail is offered again.
"""

from __future__ import annotations

import contextlib
import time
from dataclasses import dataclass, field
from typing import Protocol

from maestro.core import errors
from maestro.domain.callers import Caller
from maestro.domain.messages import Step
from maestro.operations import mail, mail_shapes
from maestro.operations.app import App

_VIA = "mcp"
_UNDER_WAY_SECONDS = 1.0
_KEPT_MAX = 32


class Fate(Protocol):
    """What became of a connection."""

    is_watched: bool  # something that was sent over it matters to somebody
    is_broken: bool  # its client went away without having read all that it was sent


@dataclass(frozen=True)
class Shown:
    """An answer with mail."""

    receipt: str
    caller: Caller
    connection: object
    request_id: int | str | None
    fate: Fate | None = None
    at: float = field(default_factory=time.monotonic)


class Handing:
    """Answers with mail of one client that it may or may not have read."""

    def __init__(self, app: App) -> None:
        self._app = app
        self._shown: list[Shown] = []

    def begin(self, shown: Shown) -> None:
        """An answer with mail is about to be sent."""
        if shown.fate is not None:
            shown.fate.is_watched = True
        self._shown = [*self._shown[-_KEPT_MAX:], shown]

    async def end(self, shown: Shown, *, is_out: bool) -> None:
        """It has been sent, or could not be."""
        if is_out:
            await confirm(self._app, shown.receipt, shown.caller, Step.DELIVERED)
        elif shown in self._shown:
            self._shown.remove(shown)

    def taken_back(self, request_id: int | str) -> None:
        """The client no longer wants the answer to a request: whoever sends it may not have looked."""
        self._shown = [one for one in self._shown if one.request_id != request_id]

    async def called(self, caller: Caller, connection: object) -> None:
        """The client calls: what it must have read by now is read."""
        if not self._shown:
            return
        now = time.monotonic()
        self._shown = [one for one in self._shown if one.fate is None or not one.fate.is_broken]
        read = [one for one in self._shown if one.caller.name == caller.name and _has_read(one, connection, now)]
        self._shown = [one for one in self._shown if one not in read]
        for one in read:
            await confirm(self._app, one.receipt, caller, Step.READ)


def _has_read(one: Shown, connection: object, now: float) -> bool:
    return (one.connection is not None and one.connection == connection) or now - one.at >= _UNDER_WAY_SECONDS


async def confirm(app: App, receipt: str, caller: Caller, step: Step) -> None:
    """Take a step; that it cannot be noted harms nobody, the mail is offered again."""
    with contextlib.suppress(errors.MaestroError):
        await app.call(mail.CONFIRM, mail_shapes.Confirm(receipt=receipt, step=step, via=_VIA), caller=caller)
