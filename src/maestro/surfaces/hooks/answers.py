"""Answer a hook: decode its payload, call the hook handler, encode the reply in the format of the tool."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import msgspec

from maestro.core import errors
from maestro.domain.callers import Caller
from maestro.surfaces.hooks.ports import AnnounceHold, HookHandling, HookRecords
from maestro.tools import hook_dialect, registry
from maestro.tools.hook_dialect import HookDialect, HookEvent, HookMoment, HookPayload, HookReply

_encode = msgspec.json.encode


@dataclass(frozen=True)
class HookAnswer:
    """The answer to a hook: the body to send, and the reply whose mail is confirmed after the send."""

    body: bytes
    caller: Caller | None = None
    reply: HookReply = hook_dialect.EMPTY_REPLY


NO_ANSWER = HookAnswer(b"")
IdentifyHookCaller = Callable[[HookEvent], Awaitable[Caller]]


class HookAnswers:
    """The answers to hooks, for HTTP and for the command."""

    def __init__(self, handler: HookHandling, notes: HookRecords) -> None:
        self._handler = handler
        self._notes = notes

    async def answer_hook(
        self, tool: str, event: str, raw: bytes, identify: IdentifyHookCaller, *, before_hold: AnnounceHold
    ) -> HookAnswer:
        """Return the answer to a hook. A MaestroError must not reach the agent; the caller records the error."""
        dialect = registry.DIALECTS.get(tool)
        if dialect is None:
            raise errors.NotFound(
                f"{tool!r} has no hooks in Maestro.", hint=f"Use one of: {', '.join(registry.DIALECTS)}."
            )
        payload = _decode_payload(raw, dialect)
        if payload.maestro_test:
            return HookAnswer(_encode({"maestro": "ok", "tool": tool, "event": event, "test": payload.maestro_test}))
        hook_event = dialect.read_event(event, payload)
        if hook_event is None:
            return NO_ANSWER
        self._notes.record_firing(tool, event)
        caller = await identify(hook_event)
        reply = await self._handler.answer_hook(caller, hook_event, before_hold=before_hold)
        output = dialect.encode_reply(event, reply)
        return HookAnswer(_encode(output), caller, reply) if output is not None else NO_ANSWER

    async def settle_answer(self, answered: HookAnswer, *, is_delivered: bool) -> None:
        """Tell the hook handler whether an answer was sent."""
        if answered.caller is not None:
            await self._handler.settle_reply(answered.caller, answered.reply, is_delivered=is_delivered)

    def record_failure(self, tool: str, event: str, problem: str) -> None:
        """Record the failure of a hook. Unknown tools and events are not recorded."""
        if tool in registry.DIALECTS and event in registry.DIALECTS[tool].events:
            self._notes.record_failure(tool, event, problem)


def may_wait_for_person(tool: str, event: str) -> bool:
    """Return whether a hook may wait for a person's answer."""
    dialect = registry.DIALECTS.get(tool)
    hook_event = dialect.read_event(event, dialect.payload_type()) if dialect is not None else None
    return hook_event is not None and hook_event.moment is HookMoment.ASKS


def _decode_payload(raw: bytes, dialect: HookDialect) -> HookPayload:
    try:
        return hook_dialect.decode_payload(raw, dialect.payload_type)
    except msgspec.DecodeError as error:
        raise errors.Invalid(f"The hook's payload cannot be read: {error}.") from None
