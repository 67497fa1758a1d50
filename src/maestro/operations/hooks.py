"""Agents' hooks, as people look at them. What hooks themselves send comes another way (docs/hooks.md)."""

from __future__ import annotations

import msgspec

from maestro.domain.callers import Callers
from maestro.domain.hooks import Firing
from maestro.operations.base import GET, Command, Effect, Operation, Request


class ListHooks(Request, frozen=True, kw_only=True):
    pass


class HookList(msgspec.Struct, frozen=True, kw_only=True):
    """When each program's hooks fired last, and what went wrong last."""

    hooks: list[Firing]


LIST = Operation(
    "hook.list",
    ListHooks,
    HookList,
    callers=Callers.KNOWN,
    http=GET("/api/hooks"),
    summary="Say when each agent program's hooks fired last, and what went wrong.",
    effect=Effect.READ,
    command=Command("hooks"),
    examples=("maestro hooks",),
)

ALL = (LIST,)
