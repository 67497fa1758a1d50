"""All hook dialects read events into a common form and encode replies."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from hook_payloads import CLAUDE, read_hook

from maestro.tools import hook_dialect, registry
from maestro.tools.hook_dialect import EMPTY_REPLY, HookReply, ReplyKind


@pytest.mark.parametrize("tool", registry.DIALECTS)
def test_every_connected_event_of_a_dialect_is_read(tool: str) -> None:
    for event in registry.DIALECTS[tool].events:
        assert read_hook(tool, event, {}) is not None


@pytest.mark.parametrize("tool", registry.DIALECTS)
def test_an_unknown_event_is_no_hook_event(tool: str) -> None:
    assert read_hook(tool, "FileChanged", CLAUDE) is None


@pytest.mark.parametrize("raw", [b"", b"no", b"[]", b'"x"', b'{"cwd": 5}', b'{"cwd": "', b"\xff\xfe", b"null"])
def test_bytes_that_are_not_a_payload_are_refused(raw: bytes) -> None:
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
def test_a_tool_call_is_described_in_a_single_line(given: dict[str, Any], expected: str) -> None:
    assert hook_dialect.describe_tool_call(hook_dialect.decode_payload(json.dumps(given).encode())) == expected


DENIED = {
    "hookEventName": "PreToolUse",
    "permissionDecision": "deny",
    "permissionDecisionReason": "stop",
}


@pytest.mark.parametrize("tool", ["claude", "codex"])
def test_claude_and_codex_share_the_format_of_replies(tool: str) -> None:
    encode_reply = registry.DIALECTS[tool].encode_reply
    assert encode_reply("PostToolUse", HookReply(ReplyKind.CONTEXT, "news")) == {
        "hookSpecificOutput": {"hookEventName": "PostToolUse", "additionalContext": "news"}
    }
    assert encode_reply("PreToolUse", HookReply(ReplyKind.REFUSE, "stop")) == {"hookSpecificOutput": DENIED}
    assert encode_reply("Stop", HookReply(ReplyKind.GO_ON, "mail")) == {"decision": "block", "reason": "mail"}
    allowed = {"hookEventName": "PermissionRequest", "decision": {"behavior": "allow"}}
    assert encode_reply("PermissionRequest", HookReply(ReplyKind.ALLOW)) == {"hookSpecificOutput": allowed}
    denied = {"hookEventName": "PermissionRequest", "decision": {"behavior": "deny", "message": "no"}}
    assert encode_reply("PermissionRequest", HookReply(ReplyKind.DENY, "no")) == {"hookSpecificOutput": denied}
    assert encode_reply("Stop", EMPTY_REPLY) is None


def test_a_reply_without_a_shared_format_is_empty() -> None:
    assert hook_dialect.encode_permission_reply("Stop", HookReply(ReplyKind.ANSWER, "yes")) is None
    assert hook_dialect.encode_permission_reply("Stop", EMPTY_REPLY) is None


def test_a_dialect_without_records_has_no_usage_and_no_text() -> None:
    assert hook_dialect.HookDialect().read_record(b"x") == hook_dialect.RecordContent()


@pytest.mark.parametrize("text", ["[1]", '"x"', "null", "3"])
def test_a_tool_input_that_is_not_an_object_is_treated_as_empty(text: str) -> None:
    payload = hook_dialect.decode_payload(f'{{"tool_name": "x", "tool_input": {text}}}'.encode())
    assert hook_dialect.tool_input(payload) == {}
    assert hook_dialect.describe_tool_call(payload) == "x"


def test_a_payload_without_a_tool_input_has_no_text() -> None:
    payload = hook_dialect.decode_payload(b"{}")
    assert (hook_dialect.tool_input(payload), hook_dialect.tool_input_text(payload)) == ({}, "")


def test_a_very_long_tool_input_is_cut_with_a_note() -> None:
    raw = json.dumps({"tool_input": {"content": "x" * 10_000}}).encode()
    text = hook_dialect.tool_input_text(hook_dialect.decode_payload(raw))
    assert len(text) < 6_100 and text.endswith("more characters")
    short = hook_dialect.decode_payload(json.dumps({"tool_input": {"a": "one\ntwo"}}).encode())
    assert "one\ntwo" in hook_dialect.tool_input_text(short)


def test_the_digest_of_a_tool_call_depends_on_tool_and_input() -> None:
    calls = [
        {"tool_name": "a", "tool_input": {"x": 1}},
        {"tool_name": "b", "tool_input": {"x": 1}},
        {"tool_name": "a"},
    ]
    payloads = [hook_dialect.decode_payload(json.dumps(call).encode()) for call in calls]
    assert len({hook_dialect.tool_call_digest(payload) for payload in payloads}) == 3
