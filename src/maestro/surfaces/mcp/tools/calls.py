"""Carry out a tool call: read the arguments, call one operation, return text.

Models read the answers. An answer is the text that the command prints, without colours. An error names the next
step.
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
from maestro.surfaces.mcp.tools import schemas
from maestro.surfaces.mcp.tools.tool_list import TOOLS_BY_NAME, McpTool, ToolUse
from maestro.surfaces.mcp.tools.wait_limits import WAIT_SECONDS_DEFAULT
from maestro.surfaces.refusal_log import REFUSAL_LOG

log = logging.getLogger(__name__)

STRUCTURED = "maestro/structured"  # in a call's `_meta`: the client wants data besides text
_DURATION = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,3})?)(ms|s|m|h|)")
_UNITS = {"ms": 1, "s": 1_000, "": 1_000, "m": 60_000, "h": 3_600_000}
_VALIDATION_ERROR = re.compile(r"(?P<reason>.*?) - at `\$\.(?P<field>\w+)(?P<rest>.*)`")

RenderAnswer = Callable[[Any], str]  # renders an answer as text
RenderHint = Callable[[str], str]  # replaces the commands in a hint by tools


@dataclass(frozen=True)
class ToolAnswer:
    """The answer to a tool call."""

    text: str
    is_error: bool = False
    receipt: str = ""  # names the mail that the answer shows
    data: dict[str, Any] | None = None  # the answer of the API, for clients that ask for data


@dataclass(frozen=True)
class CallOptions:
    """The options of a tool call, besides its arguments."""

    idempotency_key: str = ""  # an idempotency key
    seconds_max: float = WAIT_SECONDS_DEFAULT  # how long the client waits for an answer
    directory: str = ""
    is_repeated: bool = False  # the client sent the call before, and the result is not known
    wants_data: bool = False  # the client is a program, and wants data too


_DEFAULT_OPTIONS = CallOptions()


class ToolCalls:
    """The tool calls of all MCP clients."""

    def __init__(self, app: App, *, render_answer: RenderAnswer, render_hint: RenderHint) -> None:
        self._app = app
        self._render_answer = render_answer
        self._render_hint = render_hint

    def choose_use(self, name: str, arguments: Mapping[str, Any], caller: Caller) -> ToolUse | None:
        """Return the use that the arguments choose; None if the arguments fit no use of the caller."""
        tool = TOOLS_BY_NAME.get(name)
        return _choose_use(tool.uses_for(caller), arguments) if tool is not None else None

    def has_tool(self, name: str, caller: Caller) -> bool:
        """Return whether a caller has a tool."""
        tool = TOOLS_BY_NAME.get(name)
        return tool is not None and bool(tool.uses_for(caller))

    def is_wait(self, name: str, arguments: Mapping[str, Any], caller: Caller) -> bool:
        """Return whether a call only waits, at once or after its other work."""
        use = self.choose_use(name, arguments, caller)
        return use is not None and (use.is_wait or bool(use.wait_argument and arguments.get(use.wait_argument)))

    def is_quick(self, name: str, arguments: Mapping[str, Any], caller: Caller) -> bool:
        """Return whether a call is answered at once. A wrong call is: its answer is an error."""
        tool = TOOLS_BY_NAME.get(name)
        uses = tool.uses_for(caller) if tool is not None else ()
        if not uses:
            return False
        use = _choose_use(uses, arguments)
        return use is None or (
            use.is_answered_at_once and not (use.wait_argument and arguments.get(use.wait_argument))
        )

    async def call_tool(
        self, name: str, arguments: Mapping[str, Any], caller: Caller, options: CallOptions = _DEFAULT_OPTIONS
    ) -> ToolAnswer:
        """Carry out one call. As the top-level handler of the surface, turn every exception into an answer."""
        try:
            return await self._carry_out(TOOLS_BY_NAME[name], arguments, caller, options)
        except errors.MaestroError as error:
            REFUSAL_LOG.log_refusal(error)
            return self.error_answer(error, options)
        except asyncio.CancelledError:
            raise
        except Exception as problem:
            if fault := REFUSAL_LOG.find_system_fault(problem):
                return self.error_answer(fault, options)
            log.exception("the tool call %s failed", name)
            return ToolAnswer(
                f"Internal error ({type(problem).__name__}). The server's log has the details.", is_error=True
            )

    async def _carry_out(
        self, tool: McpTool, arguments: Mapping[str, Any], caller: Caller, options: CallOptions
    ) -> ToolAnswer:
        uses = tool.uses_for(caller)
        use = _choose_use(uses, arguments)
        if use is None:
            raise _wrong_use_error(tool, uses, arguments)
        if options.is_repeated and not use.is_wait and use.operation.effect in (Effect.ACTION, Effect.STREAM):
            raise errors.NotConfirmed(
                "The server stopped during this call. The result of the call is not known.",
                hint="Check the result first, then call again if necessary.",
            )
        request = self._build_request(tool, use, arguments, caller, options)
        key = options.idempotency_key if use.operation.effect is Effect.WRITE else ""
        try:
            answer = await self._app.call(use.operation, request, caller=caller, key=key)
        except errors.TimedOut as late:
            # The timeout is not an error: the next call continues the wait.
            lines = [late.message, self._render_hint(late.hint), "Nothing is lost. Call again to continue the wait."]
            return ToolAnswer("\n".join(filter(None, lines)), data=late.as_dict() if options.wants_data else None)
        data = msgspec.to_builtins(answer) if options.wants_data else None
        return ToolAnswer(self._render_answer(answer), receipt=getattr(answer, "receipt", ""), data=data)

    def _build_request(
        self, tool: McpTool, use: ToolUse, arguments: Mapping[str, Any], caller: Caller, options: CallOptions
    ) -> msgspec.Struct:
        fields = schemas.request_fields(use.operation.request)
        values: dict[str, Any] = dict(use.fixed_values)
        shown = schemas.argument_names(use, with_project=caller.role is Role.PERSON)
        for argument, value in arguments.items():
            if argument not in shown and argument != "action":
                raise _unknown_argument_error(tool, use, argument, shown)
            if argument != "action" and value is not None:
                field = fields[use.field_of(argument)]
                values[field.name] = _convert_value(field, value)
        if "path" in fields and options.directory:
            values["path"] = options.directory
        if "timeout" in fields and "timeout" in use.arguments:
            timeout_max = max(int(options.seconds_max * 1000), 1)
            timeout = values.get("timeout", timeout_max)
            values["timeout"] = min(timeout, timeout_max) if isinstance(timeout, int) else timeout
        try:
            return msgspec.convert(values, use.operation.request, strict=False, builtin_types=(bytes,))
        except msgspec.ValidationError as error:
            raise _explain_validation_error(str(error), use, shown) from None

    def error_answer(self, error: errors.MaestroError, options: CallOptions = _DEFAULT_OPTIONS) -> ToolAnswer:
        """Return an error as an answer that tells an agent what to do next."""
        lines = [f"{error.message} ({error.code})"]
        subject_id = error.data.get("id")
        if isinstance(subject_id, str) and subject_id not in error.message:
            lines.append(f"id: {subject_id}")
        if error.hint:
            lines.append(self._render_hint(error.hint))
        elif error.retryable:
            lines.append("Try again.")
        return ToolAnswer("\n".join(lines), is_error=True, data=error.as_dict() if options.wants_data else None)


def _choose_use(uses: tuple[ToolUse, ...], arguments: Mapping[str, Any]) -> ToolUse | None:
    action = arguments.get("action")
    for use in uses:
        if use.action:
            if use.action == action:
                return use
        elif not use.chosen_by or arguments.get(use.chosen_by) not in (None, "", []):
            return use
    return None


def _wrong_use_error(tool: McpTool, uses: tuple[ToolUse, ...], arguments: Mapping[str, Any]) -> errors.MaestroError:
    actions = ", ".join(use.action for use in uses if use.action)
    needed = ", ".join(use.chosen_by for use in uses if use.chosen_by)
    hint = f"Your actions are: {actions}." if actions else f"Give one of: {needed}."
    action = arguments.get("action")
    if _choose_use(tool.uses, arguments) is not None:
        call = f"{tool.name} with action {action}" if actions else f"{tool.name} with these arguments"
        return errors.NotPermitted(f"You may not call {call}.", hint=hint)
    message = (
        f"{tool.name} has no action {action!r}."
        if action
        else f"{tool.name} needs an {'action' if actions else 'argument'}."
    )
    return errors.Invalid(message, hint=hint)


def _unknown_argument_error(
    tool: McpTool, use: ToolUse, argument: str, shown: tuple[str, ...]
) -> errors.MaestroError:
    call = f"{tool.name} with action {use.action}" if use.action else tool.name
    return errors.Invalid(f"{call} has no argument {argument!r}.", hint=_argument_hint(shown))


def _argument_hint(shown: tuple[str, ...]) -> str:
    return f"The arguments are: {', '.join(shown)}." if shown else "The call takes no arguments."


def _convert_value(field: schemas.RequestField, value: Any) -> Any:
    """Convert a value to its field's type. Models write a single value for a list, and seconds for a duration."""
    if field.is_bytes and isinstance(value, str):
        return value.encode()
    if field.is_duration:
        return _parse_duration(value)
    if field.parts and field.is_list:
        return [_convert_object(field, item) for item in (value if isinstance(value, list) else [value])]
    if field.is_list and isinstance(value, str):
        return [part.strip() for part in value.split(",") if part.strip()] if field.is_comma_separated else [value]
    return value


def _convert_object(field: schemas.RequestField, value: Any) -> Any:
    """Convert the parts of an object. A value that is no object stays, and is refused later."""
    parts = {part.name: part for part in field.parts}
    if not isinstance(value, dict):
        return value
    return {name: _convert_value(parts[name], item) if name in parts else item for name, item in value.items()}


def _parse_duration(value: Any) -> Any:
    """Return a duration in milliseconds: 90, "90" and "90s" are seconds, "5m" is minutes. Keep other values."""
    match = _DURATION.fullmatch(value) if isinstance(value, str) else None
    if match is not None:
        return int(float(match[1]) * _UNITS[match[2]])
    return int(value * 1000) if isinstance(value, int | float) and not isinstance(value, bool) else value


def _explain_validation_error(text: str, use: ToolUse, shown: tuple[str, ...]) -> errors.MaestroError:
    """Return the error for a message of msgspec, with the argument names of the tool."""
    missing = re.search(r"missing required field `(\w+)`", text)
    names = {use.field_of(argument): argument for argument in use.arguments}
    if missing:
        return errors.Invalid(f"{names.get(missing[1], missing[1])} is missing.", hint=_argument_hint(shown))
    match = _VALIDATION_ERROR.fullmatch(text)
    if match is None:
        return errors.Invalid(text)
    argument = names.get(match["field"], match["field"])
    field = schemas.request_fields(use.operation.request).get(match["field"])
    choices = f"One of: {', '.join(field.choices)}." if field and field.choices else ""
    return errors.Invalid(f"{argument} is not valid: {match['reason']}.", hint=choices)
