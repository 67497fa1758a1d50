"""The services that the hook surface uses, besides the `App` of every surface."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Protocol

from maestro.domain.callers import Caller
from maestro.tools.hook_dialect import HookEvent, HookReply

AnnounceHold = Callable[[], Awaitable[None]]


class HookHandling(Protocol):
    """The handler that decides the replies to hooks."""

    async def answer_hook(self, caller: Caller, event: HookEvent, *, before_hold: AnnounceHold) -> HookReply:
        """Return the reply to a session's hook. Announce the hold before a wait for a person's answer."""

    async def settle_reply(self, caller: Caller, reply: HookReply, *, is_delivered: bool) -> None:
        """Record whether an answer was sent."""


class HookRecords(Protocol):
    """The record of fired and failed hooks."""

    def record_firing(self, tool: str, event: str) -> None: ...

    def record_failure(self, tool: str, event: str, problem: str) -> None: ...
