"""The settings of a program contain a hook for each event, as a command or over HTTP."""

from __future__ import annotations

import pytest

from maestro.tools import hook_settings, registry


@pytest.mark.parametrize("tool", registry.DIALECTS)
def test_every_event_of_a_tool_has_a_hook_with_its_command(tool: str) -> None:
    groups = hook_settings.hooks_by_command(registry.DIALECTS[tool], lambda event: f"maestro hook {tool} {event}")
    assert groups.keys() == registry.DIALECTS[tool].events.keys()
    for event, ((group),) in groups.items():
        (hook,) = group["hooks"]
        assert (hook["type"], hook["command"]) == ("command", f"maestro hook {tool} {event}")


def test_timeouts_of_gemini_are_in_milliseconds_and_the_end_of_codex_has_a_short_timeout() -> None:
    def timeout(tool: str, event: str) -> int:
        (group,) = hook_settings.hooks_by_command(registry.DIALECTS[tool], str)[event]
        return int(group["hooks"][0]["timeout"])

    assert timeout("gemini", "AfterTool") == 10_000
    assert timeout("claude", "PostToolUse") == 10
    assert timeout("codex", "SessionEnd") == 3


@pytest.mark.parametrize(("tool", "url"), [("claude", ""), ("claude", "http://127.0.0.1:4747"), ("codex", "")])
def test_beside_the_protocol_no_hook_repeats_events_or_asks_of_the_protocol(tool: str, url: str) -> None:
    groups = hook_settings.hooks_beside_protocol(registry.DIALECTS[tool], ["/a path/maestro", "hook"], url=url)
    assert not groups.keys() & {"PermissionRequest", "Notification", "SessionEnd"}
    assert groups.keys() >= {"SessionStart", "PreToolUse", "PostToolUse", "Stop"}
    (group,) = groups["SessionStart"]
    assert group["hooks"][0]["command"] == f"'/a path/maestro' hook {tool} SessionStart"
    (group,) = groups["PreToolUse"]
    assert group["hooks"][0]["type"] == ("http" if url else "command")


def test_hooks_over_http_name_the_variable_of_the_token_and_not_the_token() -> None:
    groups = hook_settings.hooks_over_http(
        registry.DIALECTS["claude"], "http://127.0.0.1:4747/", str, timeouts={"PermissionRequest": 3_600}
    )
    (asks,) = groups["PermissionRequest"]
    assert asks["hooks"] == [
        {
            "type": "http",
            "url": "http://127.0.0.1:4747/hooks/claude/PermissionRequest",
            "headers": {"Authorization": "Bearer $MAESTRO_TOKEN"},
            "allowedEnvVars": ["MAESTRO_TOKEN"],
            "timeout": 3_600,
        }
    ]
    (starts,) = groups["SessionStart"]
    assert starts["hooks"][0]["type"] == "command", "Claude does not call the hook SessionStart over HTTP."


@pytest.mark.parametrize(("tool", "event"), [("claude", "PermissionRequest"), ("gemini", "BeforeTool")])
def test_in_a_terminal_only_the_hook_for_permissions_waits_for_the_person(tool: str, event: str) -> None:
    groups = hook_settings.hooks_in_terminal(registry.DIALECTS[tool], ["maestro", "hook"])
    patient = [name for name, (group,) in groups.items() if "--patient" in group["hooks"][0]["command"]]
    assert patient == [event]
    (group,) = groups[event]
    assert group["hooks"][0]["timeout"] == 24 * 3600 * (1000 if tool == "gemini" else 1)


def test_without_gates_no_hook_of_gemini_waits_for_the_person() -> None:
    groups = hook_settings.hooks_in_terminal(registry.DIALECTS["gemini"], ["maestro", "hook"], gates=False)
    assert not any("--patient" in group["hooks"][0]["command"] for (group,) in groups.values())
