"""One hook, whichever way it came: its payload is read, the desk asked, the answer spelt as the program wants it."""

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
    """What to send, and what to say once it is out."""

    body: bytes
    caller: Caller | None = None
    reply: Reply = base.NOTHING


QUIET = Answered(b"")
Who = Callable[[Happening], Awaitable[Caller]]


class Hooks:
    """Answers hooks."""

    def __init__(self, desk: Desk, notes: Notes) -> None:
        self._desk = desk
        self._notes = notes

    async def answer(self, tool: str, event: str, raw: bytes, who: Who, *, holds: Waits) -> Answered:
        """What to say; MaestroError if nobody knows, which is for the caller to keep quiet about."""
        dialect = known.DIALECTS.get(tool)
        if dialect is None:
            raise errors.NotFound(f"There are no hooks for {tool!r}.", hint=f"Only for: {', '.join(known.DIALECTS)}.")
        payload = _payload(raw)
        if payload.maestro_test:
            return Answered(_encode({"maestro": "ok", "tool": tool, "event": event, "test": payload.maestro_test}))
        happening = dialect.read(event, payload)
        if happening is None:
            return QUIET
        self._notes.fired(tool, event)
        caller = await who(happening)
        reply = await self._desk.happened(caller, happening, holds=holds)
        said = dialect.spell(event, reply)
        return Answered(_encode(said), caller, reply) if said is not None else QUIET

    async def handed(self, answered: Answered, *, is_out: bool) -> None:
        if answered.caller is not None:
            await self._desk.handed(answered.caller, answered.reply, is_out=is_out)

    def failed(self, tool: str, event: str, problem: str) -> None:
        if tool in known.DIALECTS and event in known.DIALECTS[tool].events:
            self._notes.failed(tool, event, problem)


def may_hold(tool: str, event: str) -> bool:
    """Whether an event may be answered late."""
    dialect = known.DIALECTS.get(tool)
    happening = dialect.read(event, Payload()) if dialect is not None else None
    return happening is not None and happening.moment is Moment.ASKS


def _payload(raw: bytes) -> Payload:
    try:
        return base.decode(raw)
    except msgspec.DecodeError as error:
        raise errors.Invalid(f"The hook's payload cannot be read: {error}.") from None
