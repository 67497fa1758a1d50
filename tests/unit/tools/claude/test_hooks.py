"""The hook dialect reads payloads of Claude Code and encodes replies in its format."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from hook_payloads import BASH, CLAUDE, read_hook

from maestro.tools import hook_dialect, registry
from maestro.tools.claude.hooks import DIALECT
from maestro.tools.hook_dialect import HookMoment, HookReply, ReplyKind, StartReason


@pytest.mark.parametrize(
    ("event", "payload", "expected"),
    [
        ("SessionStart", {**CLAUDE, "source": "startup"}, {"moment": HookMoment.STARTS}),
        (
            "SessionStart",
            {**CLAUDE, "source": "compact"},
            {"moment": HookMoment.STARTS, "start_reason": StartReason.COMPACTED},
        ),
        ("UserPromptSubmit", {**CLAUDE, "prompt": "Go"}, {"moment": HookMoment.PROMPT}),
        ("PreToolUse", {**CLAUDE, **BASH}, {"moment": HookMoment.BEFORE_TOOL, "summary": "Bash: touch a1"}),
        ("PreToolUse", {**CLAUDE, **BASH, "agent_id": "a7"}, {"is_from_subagent": True}),
        (
            "PostToolUse",
            {**CLAUDE, **BASH, "tool_response": {"stdout": "x", "isImage": False}, "duration_ms": 1},
            {"moment": HookMoment.AFTER_TOOL},
        ),
        ("PostToolUseFailure", {**CLAUDE, **BASH, "error": "1"}, {"moment": HookMoment.AFTER_TOOL}),
        ("PostToolBatch", {**CLAUDE, "tool_calls": [BASH]}, {"moment": HookMoment.MODEL}),
        ("Stop", {**CLAUDE, "stop_hook_active": False, "session_crons": []}, {"moment": HookMoment.STOP}),
        ("PermissionRequest", {**CLAUDE, **BASH}, {"moment": HookMoment.ASKS, "summary": "Bash: touch a1"}),
        (
            "Notification",
            {**CLAUDE, "notification_type": "permission_prompt", "message": "Claude needs your permission"},
            {"moment": HookMoment.WAITS, "needs_person": True, "summary": "Claude needs your permission"},
        ),
        ("Notification", {**CLAUDE, "notification_type": "idle_prompt"}, {"needs_person": False}),
        ("SessionEnd", {**CLAUDE, "reason": "other"}, {"moment": HookMoment.ENDS, "is_final": True}),
        ("SessionEnd", {**CLAUDE, "reason": "clear"}, {"is_final": False}),
    ],
)
def test_each_hook_event_of_claude_is_read(event: str, payload: dict[str, Any], expected: dict[str, Any]) -> None:
    found = read_hook("claude", event, payload)
    assert found is not None
    fields = msgspec.structs.asdict(found)
    assert {name: fields[name] for name in expected} == expected
    assert (found.tool, found.event, found.directory) == ("claude", event, "/src/vc")


def test_the_notification_of_a_login_is_no_hook_event() -> None:
    assert read_hook("claude", "Notification", {**CLAUDE, "notification_type": "auth_success"}) is None


def test_a_permission_request_has_the_whole_call_and_a_digest_of_the_call() -> None:
    given = {"file_path": "a.txt", "content": "one\ntwo"}
    raw = json.dumps({"tool_name": "Write", "tool_input": given}).encode()
    first = registry.DIALECTS["claude"].read_event("PermissionRequest", hook_dialect.decode_payload(raw))
    assert first is not None and "one\ntwo" in first.details
    other = json.dumps({"tool_name": "Write", "tool_input": given | {"content": "three"}}).encode()
    another = registry.DIALECTS["claude"].read_event("PermissionRequest", hook_dialect.decode_payload(other))
    assert another is not None
    assert (another.summary, another.call_digest == first.call_digest) == (first.summary, False)


def test_a_question_is_read_and_answered_in_the_format_of_claude() -> None:
    given = {"questions": [{"question": "Which?", "options": [{"label": "A"}]}]}
    found = read_hook("claude", "PermissionRequest", {**CLAUDE, "tool_name": "AskUserQuestion", "tool_input": given})
    assert found is not None and found.question is not None
    assert (found.question.title, found.question.choices) == ("Which?", ("A",))
    reply = DIALECT.encode_reply("PermissionRequest", HookReply(ReplyKind.ANSWER, "A", question=found.question))
    assert reply == {
        "hookSpecificOutput": {
            "hookEventName": "PermissionRequest",
            "decision": {"behavior": "allow", "updatedInput": {**given, "answers": {"Which?": "A"}}},
        }
    }
    assert DIALECT.encode_reply("PermissionRequest", HookReply(ReplyKind.ANSWER, "A")) is None


@pytest.mark.parametrize(("error", "limited"), [("rate_limit", True), ("server_error", False)])
def test_a_failed_turn_has_its_problem_and_a_mark_for_a_reached_limit(error: str, limited: bool) -> None:
    found = read_hook("claude", "StopFailure", {**CLAUDE, "error": error, "last_assistant_message": None})
    assert found is not None
    assert (found.moment, found.problem, found.is_limited) == (HookMoment.FAILS, error, limited)


def test_only_a_permission_request_has_details_and_a_digest() -> None:
    asks, runs = (read_hook("claude", event, {**CLAUDE, **BASH}) for event in ("PermissionRequest", "PreToolUse"))
    assert asks is not None and asks.details and asks.call_digest and asks.action == "shell:touch a1"
    assert runs is not None and not runs.details and not runs.call_digest


def test_the_folder_of_claude_comes_from_the_environment() -> None:
    assert DIALECT.own_folder({"HOME": "/h"}) == "/h/.claude"
    assert DIALECT.own_folder({"HOME": "/h", "CLAUDE_CONFIG_DIR": "/c"}) == "/c"


def test_the_usage_and_the_text_of_a_claude_record_are_read() -> None:
    message = {"message": {"id": "m1", "model": "opus", "usage": {"output_tokens": 3}}}
    content = DIALECT.read_record(json.dumps(message).encode())
    assert content.usage is not None and content.usage.output_tokens == 3
    assert '"m1"' in content.text
