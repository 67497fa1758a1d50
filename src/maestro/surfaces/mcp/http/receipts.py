"""Confirm mail that an answer showed: delivered when the answer is sent, read when the client has proved to have it.

Three things prove that the client has the answer. The client sends the cursor back (the mail service handles the
cursor). The client calls over the same connection, which means that the client has read the answer. The client calls
so much later that the call cannot have been sent before the answer. Mail is offered again when the client closed the
connection before it read the answer, or cancelled the request.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Protocol

from maestro.domain.callers import Caller
from maestro.domain.messages import ReceiptStep
from maestro.operations.app import App
from maestro.surfaces.mcp.tools.receipts import confirm_receipt

_TRANSIT_SECONDS_MAX = 1.0
_KEPT_MAX = 32


class ConnectionOutcome(Protocol):
    """How a connection ended."""

    is_watched: bool  # an answer with mail was sent over the connection
    is_broken: bool  # the client left without reading every answer


@dataclass(frozen=True)
class ShownMail:
    """An answer that showed mail, and the request behind it."""

    receipt: str
    caller: Caller
    connection: object
    request_id: int | str | None
    outcome: ConnectionOutcome | None = None
    at: float = field(default_factory=time.monotonic)


class MailReceipts:
    """The answers with mail to one client that the client may not have read."""

    def __init__(self, app: App) -> None:
        self._app = app
        self._shown: list[ShownMail] = []

    def add_answer(self, shown: ShownMail) -> None:
        """Record an answer with mail, before the answer is sent."""
        if shown.outcome is not None:
            shown.outcome.is_watched = True
        self._shown = [*self._shown[-_KEPT_MAX:], shown]

    async def finish_answer(self, shown: ShownMail, *, is_sent: bool) -> None:
        """Confirm the mail of a sent answer as delivered, or forget an answer that could not be sent."""
        if is_sent:
            await confirm_receipt(self._app, shown.receipt, shown.caller, ReceiptStep.DELIVERED)
        elif shown in self._shown:
            self._shown.remove(shown)

    def forget_request(self, request_id: int | str) -> None:
        """Forget the answer to a cancelled request: the client may not have read the answer."""
        self._shown = [shown for shown in self._shown if shown.request_id != request_id]

    async def confirm_read_mail(self, caller: Caller, connection: object) -> None:
        """Confirm as read the mail that the client must have read before the present call."""
        if not self._shown:
            return
        now = time.monotonic()
        self._shown = [shown for shown in self._shown if shown.outcome is None or not shown.outcome.is_broken]
        read = [
            shown for shown in self._shown if shown.caller.name == caller.name and _has_read(shown, connection, now)
        ]
        self._shown = [shown for shown in self._shown if shown not in read]
        for shown in read:
            await confirm_receipt(self._app, shown.receipt, caller, ReceiptStep.READ)


def _has_read(shown: ShownMail, connection: object, now: float) -> bool:
    return (shown.connection is not None and shown.connection == connection) or now - shown.at >= _TRANSIT_SECONDS_MAX
