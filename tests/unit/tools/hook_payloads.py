"""Payloads of hooks that the real programs sent, and a helper that reads a payload."""

from __future__ import annotations

import json
from typing import Any

from maestro.tools import hook_dialect, registry
from maestro.tools.hook_dialect import HookEvent

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


def read_hook(tool: str, event: str, payload: dict[str, Any]) -> HookEvent | None:
    """Return the hook event of a payload, in the common form of all tools."""
    raw = json.dumps({"hook_event_name": event, **payload}).encode()
    dialect = registry.DIALECTS[tool]
    return dialect.read_event(event, hook_dialect.decode_payload(raw, dialect.payload_type))
