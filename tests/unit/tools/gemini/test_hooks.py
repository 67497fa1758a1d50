"""The hook dialect reads payloads of Gemini CLI and encodes replies in its format."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from hook_payloads import GEMINI, SHELL, read_hook

from maestro.tools import hook_dialect
from maestro.tools.gemini.hooks import DIALECT, GeminiPayload
from maestro.tools.hook_dialect import (
    HookMoment,
    HookReply,
    ReplyKind,
    ToolScope,
)


@pytest.mark.parametrize(
    ("event", "payload", "expected"),
    [
        ("SessionStart", {**GEMINI, "source": "startup"}, {"moment": HookMoment.STARTS}),
        ("BeforeAgent", {**GEMINI, "prompt": "Go"}, {"moment": HookMoment.PROMPT}),
        ("PreCompress", {**GEMINI, "trigger": "auto"}, {"moment": HookMoment.MODEL}),
        ("PreCompress", {**GEMINI, "trigger": "manual"}, {"moment": HookMoment.COMPACTS}),
        ("BeforeTool", {**GEMINI, **SHELL}, {"moment": HookMoment.BEFORE_TOOL}),
        ("AfterTool", {**GEMINI, **SHELL, "tool_response": {}}, {"moment": HookMoment.AFTER_TOOL}),
        ("AfterAgent", {**GEMINI, "stop_hook_active": False}, {"moment": HookMoment.STOP}),
        (
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
        ("SessionEnd", {**GEMINI, "reason": "exit"}, {"moment": HookMoment.ENDS}),
    ],
)
def test_each_hook_event_of_gemini_is_read(event: str, payload: dict[str, Any], expected: dict[str, Any]) -> None:
    found = read_hook("gemini", event, payload)
    assert found is not None
    fields = msgspec.structs.asdict(found)
    assert {name: fields[name] for name in expected} == expected
    assert (found.tool, found.event, found.directory) == ("gemini", event, "/src/vc")


def test_replies_are_encoded_in_the_format_of_gemini() -> None:
    encode_reply = DIALECT.encode_reply
    assert encode_reply("BeforeTool", HookReply(ReplyKind.REFUSE, "stop")) == {"decision": "deny", "reason": "stop"}
    assert encode_reply("AfterAgent", HookReply(ReplyKind.GO_ON, "mail")) == {"decision": "block", "reason": "mail"}
    assert encode_reply("AfterTool", HookReply(ReplyKind.CONTEXT, "news")) == {
        "hookSpecificOutput": {"hookEventName": "AfterTool", "additionalContext": "news"}
    }
    assert encode_reply("BeforeTool", HookReply(ReplyKind.ALLOW)) is None, (
        "An allowed call gets a reply, although Gemini treats an empty answer as consent."
    )
    assert encode_reply("BeforeTool", HookReply(ReplyKind.DENY, "no")) == {"decision": "deny", "reason": "no"}


@pytest.mark.parametrize(
    ("call", "action", "scope"),
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
def test_the_hook_before_a_tool_call_has_action_and_scope(
    call: dict[str, Any], action: str | None, scope: ToolScope
) -> None:
    found = read_hook("gemini", "BeforeTool", {**GEMINI, **call})
    assert found is not None and found.is_gate
    assert (found.action, found.scope) == (action or f"tool:{call['tool_name']}", scope)


def test_a_turn_without_an_answer_of_the_model_is_read_as_failed() -> None:
    payload = {"prompt": "Go.", "prompt_response": "[no response text]"}
    found = DIALECT.read_event("AfterAgent", hook_dialect.decode_payload(json.dumps(payload).encode(), GeminiPayload))
    assert found is not None
    assert (found.moment, bool(found.problem)) == (HookMoment.FAILS, True)


def test_a_subagent_and_the_end_of_a_cleared_conversation_are_marked() -> None:
    found = read_hook("gemini", "SessionEnd", {**GEMINI, "reason": "clear", "agent_id": "a7"})
    assert found is not None and found.is_from_subagent and not found.is_final


def test_only_the_hook_before_a_tool_call_is_a_gate_with_details() -> None:
    before, after = (read_hook("gemini", event, {**GEMINI, **SHELL}) for event in ("BeforeTool", "AfterTool"))
    assert before is not None and before.is_gate and before.details and before.call_digest
    assert after is not None and not (after.is_gate or after.details or after.action)
    assert after.call_digest == before.call_digest, "The digest does not show which call has finished."


def test_a_payload_of_another_program_is_no_hook_event() -> None:
    assert DIALECT.read_event("AfterTool", hook_dialect.decode_payload(b"{}")) is None


def test_the_folder_of_gemini_comes_from_the_environment() -> None:
    assert DIALECT.own_folder({"HOME": "/h"}) == "/h/.gemini"
    assert DIALECT.own_folder({"HOME": "/h", "GEMINI_CLI_HOME": "/g"}) == "/g/.gemini"
