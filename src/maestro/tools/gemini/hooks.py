"""The hook dialect of Gemini CLI.

Gemini has no hook for permissions: if it runs without dialogs, the hook before each tool call decides. Gemini ignores
Claude's format of a refusal (the tool would run), takes an empty answer for consent, and fires PreCompress before
every call of its model, even if it does not compress.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import msgspec

from maestro.tools.gemini import records
from maestro.tools.gemini.actions import tool_action, tool_scope
from maestro.tools.hook_dialect import (
    HookDialect,
    HookEvent,
    HookMoment,
    HookPayload,
    HookReply,
    RecordContent,
    ReplyKind,
    StartReason,
    context_answer,
    describe_details,
    describe_tool_call,
    tool_call_digest,
    tool_input,
    tool_input_text,
)

HOOK_NAME = "maestro"  # the name of Maestro's hooks in the settings
_BEGINNINGS = {"resume": StartReason.RESUMED, "clear": StartReason.CLEARED, "compress": StartReason.COMPACTED}
_MOMENTS = {
    "SessionStart": HookMoment.STARTS,
    "BeforeAgent": HookMoment.PROMPT,
    "BeforeTool": HookMoment.BEFORE_TOOL,
    "AfterTool": HookMoment.AFTER_TOOL,
    "PreCompress": HookMoment.MODEL,
    "AfterAgent": HookMoment.STOP,
    "Notification": HookMoment.WAITS,
    "SessionEnd": HookMoment.ENDS,
}
_NOT_FINAL = frozenset({"clear"})
_EMPTY_ANSWERS = ("", "[no response text]")  # the model could not be called, or its answer was cut
_UNANSWERED = "The model gave no answer."


class GeminiPayload(HookPayload, frozen=True):
    """The payload of Gemini's hooks."""

    prompt_response: str | None = None
    mcp_context: dict[str, Any] | None = None  # the MCP server of a tool
    details: msgspec.Raw = msgspec.Raw(b"")  # the details of a notification


class GeminiHooks(HookDialect):
    """Gemini counts timeouts in milliseconds, and names its hooks."""

    tool = "gemini"
    payload_type = GeminiPayload
    events: Mapping[str, int] = dict.fromkeys(_MOMENTS, 10)
    permission_event = "BeforeTool"
    gates_tool_calls = True
    shows_single_dialogs = True
    timeout_units_per_second = 1_000
    hook_fields: Mapping[str, str] = MappingProxyType({"name": HOOK_NAME})

    def own_folder(self, environment: Mapping[str, str]) -> str:
        home = environment.get("GEMINI_CLI_HOME") or environment.get("HOME") or "~"
        return str(Path(home).expanduser() / ".gemini")

    def read_event(self, event: str, payload: HookPayload) -> HookEvent | None:
        moment = _MOMENTS.get(event)
        if moment is None or not isinstance(payload, GeminiPayload):
            return None
        if moment is HookMoment.MODEL and payload.trigger == "manual":
            moment = HookMoment.COMPACTS
        if moment is HookMoment.STOP and payload.prompt_response in _EMPTY_ANSWERS:
            moment = HookMoment.FAILS
        is_gate = moment is HookMoment.BEFORE_TOOL
        return HookEvent(
            tool=self.tool,
            event=event,
            moment=moment,
            directory=payload.cwd,
            is_from_subagent=bool(payload.agent_id),
            start_reason=_BEGINNINGS.get(payload.source, StartReason.NEW),
            summary=describe_details(payload.message, bytes(payload.details))
            if moment is HookMoment.WAITS
            else describe_tool_call(payload),
            details=tool_input_text(payload) if is_gate else "",
            call_digest=tool_call_digest(payload) if is_gate or moment is HookMoment.AFTER_TOOL else "",
            is_gate=is_gate,
            action=tool_action(payload.tool_name, tool_input(payload)) if is_gate else "",
            scope=tool_scope(payload.tool_name, str((payload.mcp_context or {}).get("server_name", ""))),
            conversation=payload.session_id or "",
            prompt=str(payload.prompt or ""),
            transcript=payload.transcript_path or "",
            problem=_UNANSWERED if moment is HookMoment.FAILS else "",
            is_final=payload.reason not in _NOT_FINAL,
            reports_model_calls=True,
        )

    def read_record(self, piece: bytes) -> RecordContent:
        return RecordContent(records.read_usage(piece))

    def encode_reply(self, event: str, reply: HookReply) -> dict[str, Any] | None:
        match reply.kind:
            case ReplyKind.CONTEXT:
                return context_answer(event, reply.text)
            case ReplyKind.REFUSE | ReplyKind.DENY:
                return {"decision": "deny", "reason": reply.text}
            case ReplyKind.GO_ON:
                return {"decision": "block", "reason": reply.text}
        return None


DIALECT = GeminiHooks()
