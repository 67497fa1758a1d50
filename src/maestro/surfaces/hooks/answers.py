"""Answer a hook: decode its payload, call the hook handler, encode the reply in the format of the tool."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import msgspec

from maestro.core import errors
from maestro.domain.callers import Caller
from maestro.surfaces.hooks.ports import Desk, Notes, Waits
from maestro.tools.hooks import base, known
from maestro.tools.hooks.base import Happening, Moment, Payload, Reply

_encode = msgspec.json.encode


@dataclass(frozen=True)
class Answered:
    """The answer to a hook: the body to send, and the reply whose mail is confirmed after the send."""

    body: bytes
    caller: Caller | None = None
    reply: Reply = base.NOTHING


QUIET = Answered(b"")
Who = Callable[[Happening], Awaitable[Caller]]


class Hooks:
    """The answers to hooks, for HTTP and for the command."""

    def __init__(self, desk: Desk, notes: Notes) -> None:
        self._desk = desk
        self._notes = notes

    async def answer(self, tool: str, event: str, raw: bytes, who: Who, *, holds: Waits) -> Answered:
        """Return the answer to a hook. A MaestroError must not reach the agent; the caller records the error."""
        dialect = known.DIALECTS.get(tool)
        if dialect is None:
            raise errors.NotFound(
                f"{tool!r} has no hooks in Maestro.", hint=f"Use one of: {', '.join(known.DIALECTS)}."
            )
        payload = _decode_payload(raw)
        if payload.maestro_test:
            return Answered(_encode({"maestro": "ok", "tool": tool, "event": event, "test": payload.maestro_test}))
        happening = dialect.read(event, payload)
        if happening is None:
            return QUIET
        self._notes.fired(tool, event)
        caller = await who(happening)
        reply = await self._desk.happened(caller, happening, holds=holds)
        output = dialect.spell(event, reply)
        return Answered(_encode(output), caller, reply) if output is not None else QUIET

    async def handed(self, answered: Answered, *, is_out: bool) -> None:
        """Tell the hook handler whether an answer was sent."""
        if answered.caller is not None:
            await self._desk.handed(answered.caller, answered.reply, is_out=is_out)

    def failed(self, tool: str, event: str, problem: str) -> None:
        """Record the failure of a hook. Unknown tools and events are not recorded."""
        if tool in known.DIALECTS and event in known.DIALECTS[tool].events:
            self._notes.failed(tool, event, problem)


def may_hold(tool: str, event: str) -> bool:
    """Return whether a hook may wait for a person's answer."""
    dialect = known.DIALECTS.get(tool)
    happening = dialect.read(event, Payload()) if dialect is not None else None
    return happening is not None and happening.moment is Moment.ASKS


def _decode_payload(raw: bytes) -> Payload:
    try:
        return base.decode(raw)
    except msgspec.DecodeError as error:
        raise errors.Invalid(f"The hook's payload cannot be read: {error}.") from None
