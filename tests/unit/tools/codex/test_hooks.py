"""The hook dialect reads payloads of Codex."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hook_payloads import BASH, CODEX, read_hook

from maestro.tools.codex.hooks import DIALECT
from maestro.tools.hook_dialect import HookMoment, StartReason


@pytest.mark.parametrize(
    ("event", "payload", "expected"),
    [
        ("SessionStart", {**CODEX, "source": "startup"}, {"moment": HookMoment.STARTS}),
        ("UserPromptSubmit", {**CODEX, "prompt": "Go"}, {"moment": HookMoment.PROMPT}),
        ("PreToolUse", {**CODEX, **BASH}, {"moment": HookMoment.BEFORE_TOOL, "reports_model_calls": False}),
        ("PostToolUse", {**CODEX, **BASH, "tool_response": "one\n"}, {"moment": HookMoment.AFTER_TOOL}),
        ("PermissionRequest", {**CODEX, **BASH}, {"moment": HookMoment.ASKS, "summary": "Bash: touch a1"}),
        ("Stop", {**CODEX, "last_assistant_message": None}, {"moment": HookMoment.STOP}),
        ("PostCompact", CODEX, {"moment": HookMoment.COMPACTS}),
        ("SessionEnd", {**CODEX, "reason": "other"}, {"moment": HookMoment.ENDS}),
    ],
)
def test_each_hook_event_of_codex_is_read(event: str, payload: dict[str, Any], expected: dict[str, Any]) -> None:
    found = read_hook("codex", event, payload)
    assert found is not None
    fields = msgspec.structs.asdict(found)
    assert {name: fields[name] for name in expected} == expected
    assert (found.tool, found.event, found.directory) == ("codex", event, "/src/vc")


def test_only_a_permission_request_has_details_and_a_digest() -> None:
    asks, runs = (read_hook("codex", event, {**CODEX, **BASH}) for event in ("PermissionRequest", "PreToolUse"))
    assert asks is not None and "touch a1" in asks.details and asks.call_digest
    assert runs is not None and not runs.details and not runs.call_digest


@pytest.mark.parametrize(("reason", "final"), [("clear", False), ("resume", False), ("other", True)])
def test_a_cleared_or_resumed_conversation_does_not_end_the_program(reason: str, final: bool) -> None:
    found = read_hook("codex", "SessionEnd", {**CODEX, "reason": reason})
    assert found is not None and found.is_final is final


def test_the_reason_of_a_conversation_start_is_read() -> None:
    reasons = {
        source: event.start_reason
        for source in ("startup", "resume", "clear", "compact")
        if (event := read_hook("codex", "SessionStart", {**CODEX, "source": source}))
    }
    assert list(reasons.values()) == [
        StartReason.NEW,
        StartReason.RESUMED,
        StartReason.CLEARED,
        StartReason.COMPACTED,
    ]


def test_the_folder_of_codex_comes_from_the_environment() -> None:
    assert DIALECT.own_folder({"HOME": "/h"}) == "/h/.codex"
    assert DIALECT.own_folder({"HOME": "/h", "CODEX_HOME": "/c"}) == "/c"
