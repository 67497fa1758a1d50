"""Confirm the mail that an answer to an MCP client showed."""

from __future__ import annotations

import contextlib

from maestro.core import errors
from maestro.domain.callers import Caller
from maestro.domain.messages import ReceiptStep
from maestro.operations import mail, mail_shapes
from maestro.operations.app import App

_VIA = "mcp"


async def confirm_receipt(app: App, receipt: str, caller: Caller, step: ReceiptStep) -> None:
    """Confirm a step for the mail of a receipt. Ignore a failure, because the mail is offered again."""
    with contextlib.suppress(errors.MaestroError):
        await app.call(mail.CONFIRM, mail_shapes.ConfirmReceipt(receipt=receipt, step=step, via=_VIA), caller=caller)
