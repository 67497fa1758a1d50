"""The hook dialect of Codex. Codex silently skips hooks that the person has not reviewed."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from maestro.tools.hook_dialect import (
    HookDialect,
    HookEvent,
    HookMoment,
    HookPayload,
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


class CodexHooks(HookDialect):
    """Codex takes the replies in the shared format."""

    tool = "codex"
    events: Mapping[str, int] = dict.fromkeys(_MOMENTS, 10) | {"SessionEnd": _END_SECONDS}
    permission_event = "PermissionRequest"
    events_of_protocol = frozenset({"PermissionRequest", "SessionEnd"})

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
            call_digest=tool_call_digest(payload) if moment in (HookMoment.ASKS, HookMoment.AFTER_TOOL) else "",
            conversation=payload.session_id or "",
            prompt=str(payload.prompt or ""),
            transcript=payload.transcript_path or "",
            is_final=payload.reason not in _NOT_FINAL,
        )


DIALECT = CodexHooks()
