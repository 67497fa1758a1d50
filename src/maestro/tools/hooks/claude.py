"""The hook dialect of Claude Code, tested with 2.1.325."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from maestro.tools.claude import transcripts
from maestro.tools.claude.actions import action
from maestro.tools.claude.questions import answered, question
from maestro.tools.hooks.base import (
    Beginning,
    Happening,
    Kind,
    Moment,
    Payload,
    Question,
    Recorded,
    Reply,
    arguments,
    call,
    context,
    details,
    wanted,
)

_BEGINNINGS = {"resume": Beginning.RESUMED, "clear": Beginning.CLEARED, "compact": Beginning.COMPACTED}
_MOMENTS = {
    "SessionStart": Moment.STARTS,
    "UserPromptSubmit": Moment.PROMPT,
    "PreToolUse": Moment.BEFORE_TOOL,
    "PostToolUse": Moment.AFTER_TOOL,
    "PostToolUseFailure": Moment.AFTER_TOOL,
    "PostToolBatch": Moment.MODEL,
    "Stop": Moment.STOP,
    "StopFailure": Moment.FAILS,
    "PermissionRequest": Moment.ASKS,
    "Notification": Moment.WAITS,
    "SessionEnd": Moment.ENDS,
}
_LIMIT = "rate_limit"
_NOT_FINAL = frozenset({"clear", "resume"})  # reasons after which the process continues


class Claude:
    tool = "claude"
    events: Mapping[str, int] = dict.fromkeys(_MOMENTS, 10)
    asks = "PermissionRequest"

    def own_folder(self, environment: Mapping[str, str]) -> str:
        default = Path(environment.get("HOME") or "~").expanduser() / ".claude"
        return environment.get("CLAUDE_CONFIG_DIR") or str(default)

    def read(self, event: str, payload: Payload) -> Happening | None:
        moment = _MOMENTS.get(event)
        if moment is None or (moment is Moment.WAITS and payload.notification_type == "auth_success"):
            return None
        is_dialog = payload.notification_type != "idle_prompt"
        given = arguments(payload) if moment is Moment.ASKS else {}
        asked_question = question(payload.tool_name, given)
        return Happening(
            tool=self.tool,
            event=event,
            moment=moment,
            directory=payload.cwd,
            is_aside=bool(payload.agent_id),
            beginning=_BEGINNINGS.get(payload.source, Beginning.NEW),
            asked=payload.message if moment is Moment.WAITS else wanted(payload),
            details=details(payload) if moment is Moment.ASKS else "",
            call=call(payload) if moment is Moment.ASKS else "",
            action=action(payload.tool_name, given),
            question=Question(asked_question.title, asked_question.text, asked_question.choices, given)
            if asked_question
            else None,
            conversation=payload.session_id or "",
            prompt=str(payload.prompt or ""),
            transcript=payload.transcript_path or "",
            problem=str(payload.last_assistant_message or payload.error) if moment is Moment.FAILS else "",
            is_limited=payload.error == _LIMIT,
            needs_person=is_dialog,
            is_final=payload.reason not in _NOT_FINAL,
            tells_models=True,
        )

    def recorded(self, kept: bytes) -> Recorded:
        return Recorded(transcripts.used(kept), transcripts.said(kept))

    def spell(self, event: str, reply: Reply) -> dict[str, Any] | None:
        return spell(event, reply)


def spell(event: str, reply: Reply) -> dict[str, Any] | None:
    """Return a reply in the format of Claude, which is also the format of Codex."""
    match reply.kind:
        case Kind.CONTEXT:
            return context(event, reply.text)
        case Kind.REFUSE:
            refusal = {"permissionDecision": "deny", "permissionDecisionReason": reply.text}
            return {"hookSpecificOutput": {"hookEventName": event, **refusal}}
        case Kind.GO_ON:
            return {"decision": "block", "reason": reply.text}
        case Kind.ALLOW:
            return _permission_decision(event, {"behavior": "allow"})
        case Kind.ANSWER if reply.question is not None:
            return _permission_decision(
                event, {"behavior": "allow", "updatedInput": answered(reply.question.given, reply.text)}
            )
        case Kind.DENY:
            return _permission_decision(event, {"behavior": "deny", "message": reply.text})
    return None


def _permission_decision(event: str, decision: dict[str, Any]) -> dict[str, Any]:
    return {"hookSpecificOutput": {"hookEventName": event, "decision": decision}}
