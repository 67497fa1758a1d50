"""The hook dialect of Codex, tested with 0.166.0. Codex silently skips hooks that the person has not reviewed."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from maestro.tools.claude.hooks import encode_reply
from maestro.tools.hook_dialect import (
    HookEvent,
    HookMoment,
    HookPayload,
    HookReply,
    RecordContent,
    StartReason,
    describe_tool_call,
    tool_call_digest,
    tool_input_text,
)

_BEGINNINGS = {"resume": StartReason.RESUMED, "clear": StartReason.CLEARED, "compact": StartReason.COMPACTED}
_MOMENTS = {
    "SessionStart": HookMoment.STARTS,
    "UserPromptSubmit": HookMoment.PROMPT,
    "PreToolUse": HookMoment.BEFORE_TOOL,
    "PostToolUse": HookMoment.AFTER_TOOL,
    "Stop": HookMoment.STOP,
    "PermissionRequest": HookMoment.ASKS,
    "PostCompact": HookMoment.COMPACTS,
    "SessionEnd": HookMoment.ENDS,
}
_NOT_FINAL = frozenset({"clear", "resume"})
_END_SECONDS = 3  # Codex waits no longer for SessionEnd, and rejects a larger value


class CodexHooks:
    tool = "codex"
    events: Mapping[str, int] = dict.fromkeys(_MOMENTS, 10) | {"SessionEnd": _END_SECONDS}
    permission_event = "PermissionRequest"

    def own_folder(self, environment: Mapping[str, str]) -> str:
        default = Path(environment.get("HOME") or "~").expanduser() / ".codex"
        return environment.get("CODEX_HOME") or str(default)

    def read_event(self, event: str, payload: HookPayload) -> HookEvent | None:
        moment = _MOMENTS.get(event)
        if moment is None:
            return None
        return HookEvent(
            tool=self.tool,
            event=event,
            moment=moment,
            directory=payload.cwd,
            is_from_subagent=bool(payload.agent_id),
            start_reason=_BEGINNINGS.get(payload.source, StartReason.NEW),
            summary=describe_tool_call(payload),
            details=tool_input_text(payload) if moment is HookMoment.ASKS else "",
            call_digest=tool_call_digest(payload) if moment is HookMoment.ASKS else "",
            is_final=payload.reason not in _NOT_FINAL,
        )

    def read_record(self, piece: bytes) -> RecordContent:
        return RecordContent()

    def encode_reply(self, event: str, reply: HookReply) -> dict[str, Any] | None:
        return encode_reply(event, reply)
