"""The hook dialect of Claude Code."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from maestro.tools.claude import transcripts
from maestro.tools.claude.actions import tool_action
from maestro.tools.claude.questions import answer_input, find_question
from maestro.tools.hook_dialect import (
    HookDialect,
    HookEvent,
    HookMoment,
    HookPayload,
    HookQuestion,
    HookReply,
    RecordContent,
    ReplyKind,
    StartReason,
    describe_tool_call,
    encode_permission_reply,
    permission_decision,
    tool_call_digest,
    tool_input,
    tool_input_text,
)

_BEGINNINGS = {"resume": StartReason.RESUMED, "clear": StartReason.CLEARED, "compact": StartReason.COMPACTED}
_MOMENTS = {
    "SessionStart": HookMoment.STARTS,
    "UserPromptSubmit": HookMoment.PROMPT,
    "PreToolUse": HookMoment.BEFORE_TOOL,
    "PostToolUse": HookMoment.AFTER_TOOL,
    "PostToolUseFailure": HookMoment.AFTER_TOOL,
    "PostToolBatch": HookMoment.MODEL,
    "Stop": HookMoment.STOP,
    "StopFailure": HookMoment.FAILS,
    "PermissionRequest": HookMoment.ASKS,
    "Notification": HookMoment.WAITS,
    "SessionEnd": HookMoment.ENDS,
}
_LIMIT = "rate_limit"
_NOT_FINAL = frozenset({"clear", "resume"})  # reasons after which the process continues


class ClaudeHooks(HookDialect):
    """Claude Code refuses HTTP hooks for SessionStart."""

    tool = "claude"
    events: Mapping[str, int] = dict.fromkeys(_MOMENTS, 10)
    permission_event = "PermissionRequest"
    dialog_opens_during_hook = True
    events_of_protocol = frozenset({"PermissionRequest", "Notification", "SessionEnd"})
    takes_http_hooks = True
    events_by_command_only = frozenset({"SessionStart"})

    def own_folder(self, environment: Mapping[str, str]) -> str:
        default = Path(environment.get("HOME") or "~").expanduser() / ".claude"
        return environment.get("CLAUDE_CONFIG_DIR") or str(default)

    def read_event(self, event: str, payload: HookPayload) -> HookEvent | None:
        moment = _MOMENTS.get(event)
        if moment is None or (moment is HookMoment.WAITS and payload.notification_type == "auth_success"):
            return None
        is_dialog = payload.notification_type != "idle_prompt"
        given = tool_input(payload) if moment is HookMoment.ASKS else {}
        asked_question = find_question(payload.tool_name, given)
        return HookEvent(
            tool=self.tool,
            event=event,
            moment=moment,
            directory=payload.cwd,
            is_from_subagent=bool(payload.agent_id),
            start_reason=_BEGINNINGS.get(payload.source, StartReason.NEW),
            summary=payload.message if moment is HookMoment.WAITS else describe_tool_call(payload),
            details=tool_input_text(payload) if moment is HookMoment.ASKS else "",
            call_digest=tool_call_digest(payload) if moment in (HookMoment.ASKS, HookMoment.AFTER_TOOL) else "",
            action=tool_action(payload.tool_name, given),
            question=HookQuestion(asked_question.title, asked_question.text, asked_question.choices, given)
            if asked_question
            else None,
            conversation=payload.session_id or "",
            prompt=str(payload.prompt or ""),
            transcript=payload.transcript_path or "",
            problem=str(payload.last_assistant_message or payload.error) if moment is HookMoment.FAILS else "",
            is_limited=payload.error == _LIMIT,
            needs_person=is_dialog,
            is_final=payload.reason not in _NOT_FINAL,
            reports_model_calls=True,
        )

    def read_record(self, piece: bytes) -> RecordContent:
        return RecordContent(transcripts.read_usage(piece), transcripts.read_text(piece))

    def encode_reply(self, event: str, reply: HookReply) -> dict[str, Any] | None:
        if reply.kind is ReplyKind.ANSWER and reply.question is not None:
            decision = {"behavior": "allow", "updatedInput": answer_input(reply.question.given, reply.text)}
            return permission_decision(event, decision)
        return encode_permission_reply(event, reply)


DIALECT = ClaudeHooks()
