"""When hooks of agent programs ran. Hook events themselves do not come as operations (docs/hooks.md)."""

from __future__ import annotations

import msgspec

from maestro.domain.callers import Callers
from maestro.domain.hooks import HookFiring
from maestro.operations.base import GET, CommandSyntax, Effect, Operation, Request


class ListHooks(Request, frozen=True, kw_only=True):
    pass


class HookList(msgspec.Struct, frozen=True, kw_only=True):
    """When each program's hooks last fired, and the last error of each."""

    hooks: list[HookFiring]


LIST = Operation(
    "hook.list",
    ListHooks,
    HookList,
    callers=Callers.KNOWN,
    http=GET("/api/hooks"),
    summary="Show when each agent program's hooks last fired, and their last error.",
    effect=Effect.READ,
    command=CommandSyntax("hooks"),
    examples=("maestro hooks",),
)

ALL = (LIST,)
