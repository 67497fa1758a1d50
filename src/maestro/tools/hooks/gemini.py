"""The hook dialect of Gemini CLI, tested with 0.61.0.

Gemini has no hook for permissions: if it runs without dialogs, the hook before each tool call decides. Gemini ignores
Claude's format of a refusal (the tool would run), takes an empty answer for consent, and fires PreCompress before
every call of its model, even if it does not compress.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from maestro.tools.gemini import records
from maestro.tools.gemini.actions import action, touch
from maestro.tools.hooks.base import (
    Beginning,
    Happening,
    Kind,
    Moment,
    Payload,
    Recorded,
    Reply,
    arguments,
    call,
    context,
    described,
    details,
    wanted,
)

_BEGINNINGS = {"resume": Beginning.RESUMED, "clear": Beginning.CLEARED, "compress": Beginning.COMPACTED}
_MOMENTS = {
    "SessionStart": Moment.STARTS,
    "BeforeAgent": Moment.PROMPT,
    "BeforeTool": Moment.BEFORE_TOOL,
    "AfterTool": Moment.AFTER_TOOL,
    "PreCompress": Moment.MODEL,
    "AfterAgent": Moment.STOP,
    "Notification": Moment.WAITS,
    "SessionEnd": Moment.ENDS,
}
_NOT_FINAL = frozenset({"clear"})
_EMPTY_ANSWERS = ("", "[no response text]")  # the model could not be called, or its answer was cut
_UNANSWERED = "The model gave no answer."


class Gemini:
    tool = "gemini"
    events: Mapping[str, int] = dict.fromkeys(_MOMENTS, 10)
    asks = "BeforeTool"

    def own_folder(self, environment: Mapping[str, str]) -> str:
        home = environment.get("GEMINI_CLI_HOME") or environment.get("HOME") or "~"
        return str(Path(home).expanduser() / ".gemini")

    def read(self, event: str, payload: Payload) -> Happening | None:
        moment = _MOMENTS.get(event)
        if moment is None:
            return None
        if moment is Moment.MODEL and payload.trigger == "manual":
            moment = Moment.COMPACTS
        if moment is Moment.STOP and payload.prompt_response in _EMPTY_ANSWERS:
            moment = Moment.FAILS
        is_gate = moment is Moment.BEFORE_TOOL
        return Happening(
            tool=self.tool,
            event=event,
            moment=moment,
            directory=payload.cwd,
            is_aside=bool(payload.agent_id),
            beginning=_BEGINNINGS.get(payload.source, Beginning.NEW),
            asked=described(payload.message, bytes(payload.details)) if moment is Moment.WAITS else wanted(payload),
            details=details(payload) if is_gate else "",
            call=call(payload) if is_gate else "",
            is_gate=is_gate,
            action=action(payload.tool_name, arguments(payload)) if is_gate else "",
            touch=touch(payload.tool_name, str((payload.mcp_context or {}).get("server_name", ""))),
            conversation=payload.session_id or "",
            prompt=str(payload.prompt or ""),
            transcript=payload.transcript_path or "",
            problem=_UNANSWERED if moment is Moment.FAILS else "",
            is_final=payload.reason not in _NOT_FINAL,
            tells_models=True,
        )

    def recorded(self, kept: bytes) -> Recorded:
        return Recorded(records.used(kept))

    def spell(self, event: str, reply: Reply) -> dict[str, Any] | None:
        match reply.kind:
            case Kind.CONTEXT:
                return context(event, reply.text)
            case Kind.REFUSE | Kind.DENY:
                return {"decision": "deny", "reason": reply.text}
            case Kind.GO_ON:
                return {"decision": "block", "reason": reply.text}
        return None
