"""Payloads as the programs really send them, and answers in the shapes that were seen to work."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from maestro.tools import hook_dialect, hook_registry
from maestro.tools.conversation_events import Usage
from maestro.tools.hook_dialect import (
    EMPTY_REPLY,
    HookEvent,
    HookMoment,
    HookReply,
    ReplyKind,
    StartReason,
    ToolScope,
)

CLAUDE = {
    "session_id": "693e4871-0b72-4349-8fb4-47216a311075",
    "transcript_path": "/h/.claude/projects/-src-vc/693e4871.jsonl",
    "cwd": "/src/vc",
    "prompt_id": "152c1354-ba25-499d-912e-fbf5c18373fd",
    "permission_mode": "default",
    "effort": {"level": "medium"},
}
BASH = {"tool_name": "Bash", "tool_input": {"command": "touch a1"}, "tool_use_id": "toolu_1"}
CODEX = {
    "session_id": "01a1e2f6-0c7c-7dc3-9553-fb20b4cce2b8",
    "turn_id": "01a1e2f6-0ca1-7460-8750-d0bddec1b1d9",
    "transcript_path": "/h/.codex/sessions/2026/11/16/rollout.jsonl",
    "cwd": "/src/vc",
    "model": "scripted",
    "permission_mode": "bypassPermissions",
}
GEMINI = {
    "session_id": "31db2c61-e0a3-4bf9-8717-44927bf10824",
    "transcript_path": "/h/.gemini/tmp/work/chats/session.jsonl",
    "cwd": "/src/vc",
    "timestamp": "2026-11-16T06:05:42.737Z",
}
SHELL = {"tool_name": "run_shell_command", "tool_input": {"command": "touch a1"}}


def read(tool: str, event: str, payload: dict[str, Any]) -> HookEvent | None:
    raw = json.dumps({"hook_event_name": event, **payload}).encode()
    return hook_registry.DIALECTS[tool].read_event(event, hook_dialect.decode_payload(raw))


@pytest.mark.parametrize(
    ("tool", "event", "payload", "expected"),
    [
        ("claude", "SessionStart", {**CLAUDE, "source": "startup"}, {"moment": HookMoment.STARTS}),
        (
            "claude",
            "SessionStart",
            {**CLAUDE, "source": "compact"},
            {"moment": HookMoment.STARTS, "start_reason": StartReason.COMPACTED},
        ),
        ("claude", "UserPromptSubmit", {**CLAUDE, "prompt": "Go"}, {"moment": HookMoment.PROMPT}),
        ("claude", "PreToolUse", {**CLAUDE, **BASH}, {"moment": HookMoment.BEFORE_TOOL, "summary": "Bash: touch a1"}),
        ("claude", "PreToolUse", {**CLAUDE, **BASH, "agent_id": "a7"}, {"is_from_subagent": True}),
        (
            "claude",
            "PostToolUse",
            {**CLAUDE, **BASH, "tool_response": {"stdout": "x", "isImage": False}, "duration_ms": 1},
            {"moment": HookMoment.AFTER_TOOL},
        ),
        ("claude", "PostToolUseFailure", {**CLAUDE, **BASH, "error": "1"}, {"moment": HookMoment.AFTER_TOOL}),
        ("claude", "PostToolBatch", {**CLAUDE, "tool_calls": [BASH]}, {"moment": HookMoment.MODEL}),
        ("claude", "Stop", {**CLAUDE, "stop_hook_active": False, "session_crons": []}, {"moment": HookMoment.STOP}),
        ("claude", "PermissionRequest", {**CLAUDE, **BASH}, {"moment": HookMoment.ASKS, "summary": "Bash: touch a1"}),
        (
            "claude",
            "Notification",
            {**CLAUDE, "notification_type": "permission_prompt", "message": "Claude needs your permission"},
            {"moment": HookMoment.WAITS, "needs_person": True, "summary": "Claude needs your permission"},
        ),
        ("claude", "Notification", {**CLAUDE, "notification_type": "idle_prompt"}, {"needs_person": False}),
        ("claude", "SessionEnd", {**CLAUDE, "reason": "other"}, {"moment": HookMoment.ENDS, "is_final": True}),
        ("claude", "SessionEnd", {**CLAUDE, "reason": "clear"}, {"is_final": False}),
        ("codex", "SessionStart", {**CODEX, "source": "startup"}, {"moment": HookMoment.STARTS}),
        ("codex", "UserPromptSubmit", {**CODEX, "prompt": "Go"}, {"moment": HookMoment.PROMPT}),
        ("codex", "PreToolUse", {**CODEX, **BASH}, {"moment": HookMoment.BEFORE_TOOL, "reports_model_calls": False}),
        ("codex", "PostToolUse", {**CODEX, **BASH, "tool_response": "one\n"}, {"moment": HookMoment.AFTER_TOOL}),
        ("codex", "PermissionRequest", {**CODEX, **BASH}, {"moment": HookMoment.ASKS, "summary": "Bash: touch a1"}),
        ("codex", "Stop", {**CODEX, "last_assistant_message": None}, {"moment": HookMoment.STOP}),
        ("codex", "PostCompact", CODEX, {"moment": HookMoment.COMPACTS}),
        ("codex", "SessionEnd", {**CODEX, "reason": "other"}, {"moment": HookMoment.ENDS}),
        ("gemini", "SessionStart", {**GEMINI, "source": "startup"}, {"moment": HookMoment.STARTS}),
        ("gemini", "BeforeAgent", {**GEMINI, "prompt": "Go"}, {"moment": HookMoment.PROMPT}),
        ("gemini", "PreCompress", {**GEMINI, "trigger": "auto"}, {"moment": HookMoment.MODEL}),
        ("gemini", "PreCompress", {**GEMINI, "trigger": "manual"}, {"moment": HookMoment.COMPACTS}),
        ("gemini", "BeforeTool", {**GEMINI, **SHELL}, {"moment": HookMoment.BEFORE_TOOL}),
        ("gemini", "AfterTool", {**GEMINI, **SHELL, "tool_response": {}}, {"moment": HookMoment.AFTER_TOOL}),
        ("gemini", "AfterAgent", {**GEMINI, "stop_hook_active": False}, {"moment": HookMoment.STOP}),
        (
            "gemini",
            "Notification",
            {
                **GEMINI,
                "notification_type": "ToolPermission",
                "message": "Tool Shell requires execution",
                "details": {"type": "exec", "title": "Shell", "command": "touch a1", "rootCommand": "touch"},
            },
            {
                "moment": HookMoment.WAITS,
                "needs_person": True,
                "summary": "Tool Shell requires execution: touch a1",
            },
        ),
        ("gemini", "SessionEnd", {**GEMINI, "reason": "exit"}, {"moment": HookMoment.ENDS}),
    ],
)
def test_what_the_programs_send_is_understood(
    tool: str, event: str, payload: dict[str, Any], expected: dict[str, Any]
) -> None:
    happening = read(tool, event, payload)
    assert happening is not None
    told = msgspec.structs.asdict(happening)
    assert {name: told[name] for name in expected} == expected
    assert (happening.tool, happening.event, happening.directory) == (tool, event, "/src/vc")


@pytest.mark.parametrize("tool", hook_registry.DIALECTS)
def test_every_event_that_is_connected_is_understood(tool: str) -> None:
    for event in hook_registry.DIALECTS[tool].events:
        assert read(tool, event, {}) is not None


@pytest.mark.parametrize("tool", hook_registry.DIALECTS)
def test_what_nobody_has_heard_of_means_nothing(tool: str) -> None:
    assert read(tool, "FileChanged", CLAUDE) is None


def test_a_login_is_nothing_to_wait_for() -> None:
    assert read("claude", "Notification", {**CLAUDE, "notification_type": "auth_success"}) is None


@pytest.mark.parametrize("raw", [b"", b"no", b"[]", b'"x"', b'{"cwd": 5}', b'{"cwd": "', b"\xff\xfe", b"null"])
def test_what_is_no_payload_is_said_to_be_none(raw: bytes) -> None:
    with pytest.raises(msgspec.DecodeError):
        hook_dialect.decode_payload(raw)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"tool_name": "Bash", "tool_input": {"command": "a\n  b"}}, "Bash: a b"),
        ({"tool_name": "shell", "tool_input": {"command": ["rm", "-r", "x"]}}, "shell: rm -r x"),
        ({"tool_name": "Write", "tool_input": {"file_path": "/a", "content": "x"}}, "Write: /a"),
        ({"tool_name": "Odd", "tool_input": {"n": 1}}, 'Odd: {"n":1}'),
        ({"tool_name": "Odd", "tool_input": [1]}, "Odd"),
        ({"tool_name": "Bash", "tool_input": {"command": "x" * 1000}}, "Bash: " + "x" * 293 + "…"),
    ],
)
def test_what_is_asked_for_stands_on_one_line(given: dict[str, Any], expected: str) -> None:
    assert hook_dialect.describe_tool_call(hook_dialect.decode_payload(json.dumps(given).encode())) == expected


DENIED = {
    "hookEventName": "PreToolUse",
    "permissionDecision": "deny",
    "permissionDecisionReason": "stop",
}


@pytest.mark.parametrize("tool", ["claude", "codex"])
def test_answers_in_the_shapes_of_claude_and_codex(tool: str) -> None:
    spell = hook_registry.DIALECTS[tool].encode_reply
    assert spell("PostToolUse", HookReply(ReplyKind.CONTEXT, "news")) == {
        "hookSpecificOutput": {"hookEventName": "PostToolUse", "additionalContext": "news"}
    }
    assert spell("PreToolUse", HookReply(ReplyKind.REFUSE, "stop")) == {"hookSpecificOutput": DENIED}
    assert spell("Stop", HookReply(ReplyKind.GO_ON, "mail")) == {"decision": "block", "reason": "mail"}
    allowed = {"hookEventName": "PermissionRequest", "decision": {"behavior": "allow"}}
    assert spell("PermissionRequest", HookReply(ReplyKind.ALLOW)) == {"hookSpecificOutput": allowed}
    denied = {"hookEventName": "PermissionRequest", "decision": {"behavior": "deny", "message": "no"}}
    assert spell("PermissionRequest", HookReply(ReplyKind.DENY, "no")) == {"hookSpecificOutput": denied}
    assert spell("Stop", EMPTY_REPLY) is None


def test_gemini_is_refused_a_tool_in_its_own_shape_for_it_would_run_it_otherwise() -> None:
    spell = hook_registry.DIALECTS["gemini"].encode_reply
    assert spell("BeforeTool", HookReply(ReplyKind.REFUSE, "stop")) == {"decision": "deny", "reason": "stop"}
    assert spell("AfterAgent", HookReply(ReplyKind.GO_ON, "mail")) == {"decision": "block", "reason": "mail"}
    assert spell("AfterTool", HookReply(ReplyKind.CONTEXT, "news")) == {
        "hookSpecificOutput": {"hookEventName": "AfterTool", "additionalContext": "news"}
    }
    assert spell("BeforeTool", HookReply(ReplyKind.ALLOW)) is None, "it has no way to allow"
    assert spell("BeforeTool", HookReply(ReplyKind.DENY, "no")) == {"decision": "deny", "reason": "no"}


@pytest.mark.parametrize(
    ("call", "action", "touch"),
    [
        ({"tool_name": "run_shell_command", "tool_input": {"command": "ls"}}, "shell:ls", ToolScope.ANYTHING),
        ({"tool_name": "write_file", "tool_input": {"file_path": "a.py"}}, "edit:a.py", ToolScope.A_FILE),
        ({"tool_name": "replace", "tool_input": {"file_path": "a.py"}}, "edit:a.py", ToolScope.A_FILE),
        ({"tool_name": "read_file", "tool_input": {"file_path": "a.py"}}, "tool:read_file", ToolScope.NOTHING),
        ({"tool_name": "web_fetch", "tool_input": {"prompt": "x"}}, "tool:web_fetch", ToolScope.ANYTHING),
        ({"tool_name": "mcp_maestro_report", "mcp_context": {"server_name": "maestro"}}, None, ToolScope.NOTHING),
        ({"tool_name": "mcp_maestro_report"}, None, ToolScope.ANYTHING),
        ({"tool_name": "read_file", "mcp_context": {"server_name": "theirs"}}, None, ToolScope.ANYTHING),
        ({"tool_name": "mcp_theirs_x", "mcp_context": {"server_name": "maestro"}}, None, ToolScope.ANYTHING),
    ],
)
def test_before_each_tool_gemini_says_how_far_it_reaches(
    call: dict[str, Any], action: str | None, touch: ToolScope
) -> None:
    happening = read("gemini", "BeforeTool", {**GEMINI, **call})
    assert happening is not None and happening.is_gate
    assert (happening.action, happening.scope) == (action or f"tool:{call['tool_name']}", touch)


def test_what_gemini_took_is_counted_once_for_each_answer() -> None:
    first = {"id": "m1", "type": "gemini", "model": "pro", "tokens": {"input": 9, "output": 4, "cached": 2}}
    again = {**first, "toolCalls": [{}]}
    second = {"id": "m2", "type": "gemini", "tokens": {"input": 10, "output": 5, "thoughts": 1}, "model": "pro"}
    lines = [{"id": "u1", "type": "user"}, first, again, second, {"$set": {"summary": "tokens"}}, {"tokens": "none"}]
    kept = b"".join(json.dumps(one).encode() + b"\n" for one in lines) + b'half a "tokens" line\n'
    used = hook_registry.DIALECTS["gemini"].read_record(kept).usage
    assert used == Usage(input_tokens=17, output_tokens=10, cached_tokens=2, model="pro")
    assert hook_registry.DIALECTS["gemini"].read_record(b"").usage is None


def test_a_gemini_whose_model_said_nothing_has_failed() -> None:
    payload = {"prompt": "Go.", "prompt_response": "[no response text]"}
    happening = hook_registry.DIALECTS["gemini"].read_event(
        "AfterAgent", hook_dialect.decode_payload(json.dumps(payload).encode())
    )
    assert happening is not None
    assert (happening.moment, bool(happening.problem)) == (HookMoment.FAILS, True)


def test_who_is_to_allow_a_call_sees_all_of_it() -> None:
    given = {"file_path": "a.txt", "content": "one\ntwo"}
    raw = json.dumps({"tool_name": "Write", "tool_input": given}).encode()
    happening = hook_registry.DIALECTS["claude"].read_event("PermissionRequest", hook_dialect.decode_payload(raw))
    assert happening is not None and "one\ntwo" in happening.details
    other = json.dumps({"tool_name": "Write", "tool_input": given | {"content": "three"}}).encode()
    another = hook_registry.DIALECTS["claude"].read_event("PermissionRequest", hook_dialect.decode_payload(other))
    assert another is not None
    assert (another.summary, another.call_digest == happening.call_digest) == (happening.summary, False)
