"""A tool call: arguments in, one operation called, text out. Whatever goes wrong is said in words that help.

Models read the answers, so they are what the command would print, without colours, and errors say what to do next.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from maestro.core import errors
from maestro.domain.callers import Caller, Role
from maestro.operations.app import App
from maestro.operations.base import Effect
from maestro.surfaces.mcp import schemas
from maestro.surfaces.mcp.tools import BY_NAME, Tool, Use
from maestro.surfaces.refusals import REFUSALS

log = logging.getLogger(__name__)

STRUCTURED = "maestro/structured"  # in a call's `_meta`: data besides words
WAIT_SECONDS_DEFAULT = 50  # what a client that says nothing of itself is trusted to allow
_TIME = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,3})?)(ms|s|m|h|)")
_UNITS = {"ms": 1, "s": 1_000, "": 1_000, "m": 60_000, "h": 3_600_000}
_PLACE = re.compile(r"(?P<said>.*?) - at `\$\.(?P<field>\w+)(?P<rest>.*)`")

Words = Callable[[Any], str]  # an answer as text
Hints = Callable[[str], str]  # a hint that names commands, naming tools


@dataclass(frozen=True)
class Answer:
    """What a call came to."""

    text: str
    is_error: bool = False
    receipt: str = ""  # what it showed of the caller's mail
    data: dict[str, Any] | None = None  # the same as the API gives it, for programs that ask for it


@dataclass(frozen=True)
class Order:
    """How a call is to be carried out, besides what it says."""

    key: str = ""  # an idempotency key
    seconds_max: float = WAIT_SECONDS_DEFAULT  # how long its client waits for an answer
    directory: str = ""
    again: bool = False  # it was sent before, and nobody knows how far that came
    structured: bool = False  # its client is a program, and wants data too


_PLAIN = Order()


class Calls:
    """Carries out tool calls."""

    def __init__(self, app: App, *, words: Words, hints: Hints) -> None:
        self._app = app
        self._words = words
        self._hints = hints

    def chosen(self, name: str, arguments: Mapping[str, Any], caller: Caller) -> Use | None:
        """The use that a call means; None where that is not clear, or not the caller's."""
        tool = BY_NAME.get(name)
        return _choose(tool.uses_for(caller), arguments) if tool is not None else None

    def is_known(self, name: str, caller: Caller) -> bool:
        """Whether a caller has such a tool."""
        tool = BY_NAME.get(name)
        return tool is not None and bool(tool.uses_for(caller))

    def waits(self, name: str, arguments: Mapping[str, Any], caller: Caller) -> bool:
        """Whether a call does nothing but wait, from here on or once it has done its part."""
        use = self.chosen(name, arguments, caller)
        return use is not None and (use.is_wait or bool(use.waits_with and arguments.get(use.waits_with)))

    def is_quick(self, name: str, arguments: Mapping[str, Any], caller: Caller) -> bool:
        """Whether a call is answered at once. One that is wrong is: its answer says what is wrong."""
        tool = BY_NAME.get(name)
        uses = tool.uses_for(caller) if tool is not None else ()
        if not uses:
            return False
        use = _choose(uses, arguments)
        return use is None or (use.quick and not (use.waits_with and arguments.get(use.waits_with)))

    async def call(self, name: str, arguments: Mapping[str, Any], caller: Caller, order: Order = _PLAIN) -> Answer:
        """Carry out one call. This is the surface's top-level handler: what goes wrong below becomes an answer."""
        try:
            return await self._call(BY_NAME[name], arguments, caller, order)
        except errors.MaestroError as error:
            REFUSALS.note(error)
            return self.refusal(error, order)
        except asyncio.CancelledError:
            raise
        except Exception as problem:
            if fault := REFUSALS.fault_of(problem):
                return self.refusal(fault, order)
            log.exception("the tool call %s failed", name)
            return Answer(f"Internal error ({type(problem).__name__}); the server's log has it.", is_error=True)

    async def _call(self, tool: Tool, arguments: Mapping[str, Any], caller: Caller, order: Order) -> Answer:
        uses = tool.uses_for(caller)
        use = _choose(uses, arguments)
        if use is None:
            raise _no_such_use(tool, uses, arguments)
        if order.again and not use.is_wait and use.operation.effect in (Effect.ACTION, Effect.STREAM):
            raise errors.NotConfirmed(
                "The server went away while this was under way: nobody knows how far it came.",
                hint="Look first; then call it again if need be.",
            )
        request = self._request(tool, use, arguments, caller, order)
        key = order.key if use.operation.effect is Effect.WRITE else ""
        try:
            answer = await self._app.call(use.operation, request, caller=caller, key=key)
        except errors.TimedOut as late:
            # Nothing went wrong, and nothing is lost: the next call goes on from here.
            said = [late.message, self._hints(late.hint), "Nothing is lost: call it again to go on waiting."]
            return Answer("\n".join(filter(None, said)), data=late.as_dict() if order.structured else None)
        data = msgspec.to_builtins(answer) if order.structured else None
        return Answer(self._words(answer), receipt=getattr(answer, "receipt", ""), data=data)

    def _request(
        self, tool: Tool, use: Use, arguments: Mapping[str, Any], caller: Caller, order: Order
    ) -> msgspec.Struct:
        known = schemas.fields(use.operation.request)
        found: dict[str, Any] = dict(use.fixed)
        shown = schemas.arguments(use, with_project=caller.role is Role.PERSON)
        for argument, value in arguments.items():
            if argument not in shown and argument != "action":
                raise _unknown(tool, use, argument, shown)
            if argument != "action" and value is not None:
                field = known[use.field_of(argument)]
                found[field.name] = _plain(field, value)
        if "path" in known and order.directory:
            found["path"] = order.directory
        if "timeout" in known and "timeout" in use.shows:
            most = max(int(order.seconds_max * 1000), 1)
            given = found.get("timeout", most)
            found["timeout"] = min(given, most) if isinstance(given, int) else given
        try:
            return msgspec.convert(found, use.operation.request, strict=False, builtin_types=(bytes,))
        except msgspec.ValidationError as error:
            raise _explained(str(error), use, shown) from None

    def refusal(self, error: errors.MaestroError, order: Order = _PLAIN) -> Answer:
        """An error as an agent can act on it."""
        said = [f"{error.message} ({error.code})"]
        named = error.data.get("id")
        if isinstance(named, str) and named not in error.message:
            said.append(f"id: {named}")
        if error.hint:
            said.append(self._hints(error.hint))
        elif error.retryable:
            said.append("Try again.")
        return Answer("\n".join(said), is_error=True, data=error.as_dict() if order.structured else None)


def _choose(uses: tuple[Use, ...], arguments: Mapping[str, Any]) -> Use | None:
    action = arguments.get("action")
    for use in uses:
        if use.action:
            if use.action == action:
                return use
        elif not use.given or arguments.get(use.given) not in (None, "", []):
            return use
    return None


def _no_such_use(tool: Tool, uses: tuple[Use, ...], arguments: Mapping[str, Any]) -> errors.MaestroError:
    actions = ", ".join(use.action for use in uses if use.action)
    needed = ", ".join(use.given for use in uses if use.given)
    way_out = f"You may: {actions}." if actions else f"You may give: {needed}."
    action = arguments.get("action")
    if _choose(tool.uses, arguments) is not None:
        what = f"{tool.name} with action {action}" if actions else f"{tool.name} with these arguments"
        return errors.NotPermitted(f"You may not call {what}.", hint=way_out)
    said = f"{tool.name} has no action {action!r}." if action else "Say an action."
    return errors.Invalid(said, hint=way_out)


def _unknown(tool: Tool, use: Use, argument: str, shown: tuple[str, ...]) -> errors.MaestroError:
    what = f"{tool.name} with action {use.action}" if use.action else tool.name
    return errors.Invalid(f"{what} has no argument {argument!r}.", hint=_takes(shown))


def _takes(shown: tuple[str, ...]) -> str:
    return f"It takes: {', '.join(shown)}." if shown else "It takes no arguments."


def _plain(field: schemas.Field, value: Any) -> Any:
    """A value as its field takes it; models write one where there could be several, and seconds."""
    if field.is_bytes and isinstance(value, str):
        return value.encode()
    if field.is_duration:
        return _milliseconds(value)
    if field.parts and field.many:
        return [_object(field, one) for one in (value if isinstance(value, list) else [value])]
    if field.many and isinstance(value, str):
        return [part.strip() for part in value.split(",") if part.strip()] if field.splits else [value]
    return value


def _object(field: schemas.Field, value: Any) -> Any:
    """A value that has parts, each as its field takes it; what is no such value is left to be refused."""
    known = {part.name: part for part in field.parts}
    if not isinstance(value, dict):
        return value
    return {name: _plain(known[name], one) if name in known else one for name, one in value.items()}


def _milliseconds(value: Any) -> Any:
    """A time in seconds, or as the command writes it: 90, "90", "90s", "5m"."""
    written = _TIME.fullmatch(value) if isinstance(value, str) else None
    if written is not None:
        return int(float(written[1]) * _UNITS[written[2]])
    return int(value * 1000) if isinstance(value, int | float) and not isinstance(value, bool) else value


def _explained(said: str, use: Use, shown: tuple[str, ...]) -> errors.MaestroError:
    """What msgspec says, in the words of the tool."""
    missing = re.search(r"missing required field `(\w+)`", said)
    names = {use.field_of(argument): argument for argument in use.shows}
    if missing:
        return errors.Invalid(f"{names.get(missing[1], missing[1])} is missing.", hint=_takes(shown))
    place = _PLACE.fullmatch(said)
    if place is None:
        return errors.Invalid(said)
    argument = names.get(place["field"], place["field"])
    field = schemas.fields(use.operation.request).get(place["field"])
    choices = f"One of: {', '.join(field.choices)}." if field and field.choices else ""
    return errors.Invalid(f"{argument} is not valid: {place['said']}.", hint=choices)
