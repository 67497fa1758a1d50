"""The way through the dispatcher of a server in this process."""

from __future__ import annotations

from typing import Any

import msgspec

from maestro.core import errors
from maestro.operations.base import Operation
from maestro.server.app import Server


class ServiceWay:
    """Calls operations at the dispatcher."""

    shows_as, is_out_at_once, offers_again = "sent", False, True

    def __init__(self, server: Server) -> None:
        self.server = server
        self.person = server.secrets._person

    async def call(self, operation: Operation, token: str, fields: dict[str, Any], key: str) -> Any:
        caller = await self.server.identify(token=token, peer=None)
        try:
            request = msgspec.convert(fields, operation.request)
        except msgspec.ValidationError as error:
            raise errors.Invalid(str(error)) from None
        return msgspec.to_builtins(await self.server.call(operation, request, caller=caller, key=key))
