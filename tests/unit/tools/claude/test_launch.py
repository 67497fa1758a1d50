"""The launch of Claude Code sets its arguments, settings files, policy and environment."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from launch_requests import ENVIRONMENT, launch_request, value_after

from maestro.domain.conversations import DriverKind
from maestro.domain.members import Permission
from maestro.tools.base import Launch
from maestro.tools.claude.launch import prepare_launch


def launched(folder: Path, environment: dict[str, str] | None = None, **fields: Any) -> Launch:
    return prepare_launch(launch_request("claude", folder, **fields), environment or ENVIRONMENT)


def settings_of(launch: Launch) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(Path(value_after(launch.arguments, "--settings")).read_text())
    return found


@pytest.mark.parametrize("driver", DriverKind)
def test_system_prompt_and_mcp_server_are_in_files_of_the_session(driver: DriverKind, tmp_path: Path) -> None:
    arguments = launched(tmp_path, driver=driver).arguments
    assert Path(value_after(arguments, "--append-system-prompt-file")).read_text() == "You are a worker."
    servers = json.loads(Path(value_after(arguments, "--mcp-config")).read_text())["mcpServers"]
    assert servers == {"maestro": {"type": "stdio", "command": "/opt/maestro", "args": ["mcp"], "alwaysLoad": True}}


@pytest.mark.parametrize("driver", DriverKind)
def test_model_and_conversation_are_arguments_only_if_the_request_names_them(
    driver: DriverKind, tmp_path: Path
) -> None:
    plain = launched(tmp_path, driver=driver).arguments
    assert "--model" not in plain and "--resume" not in plain and "--plugin-dir" not in plain
    given = launched(tmp_path, driver=driver, model="fast", resumes="c1", arguments=["--effort", "high"]).arguments
    assert (value_after(given, "--model"), value_after(given, "--resume")) == ("haiku", "c1")
    assert value_after(given, "--effort") == "high"


def test_the_permission_level_decides_the_arguments(tmp_path: Path) -> None:
    plan = launched(tmp_path, permission=Permission.PLAN).arguments
    edit = launched(tmp_path, permission=Permission.EDIT).arguments
    assert "Write" in value_after(plan, "--disallowedTools") and "--disallowedTools" not in edit
    assert value_after(edit, "--permission-mode") == "acceptEdits"
    assert "mcp__maestro" in value_after(plan, "--allowedTools")


@pytest.mark.parametrize(("permission", "patterns"), [(Permission.EDIT, ["shell:git *"]), (Permission.FULL, ["*"])])
def test_with_the_protocol_driver_the_opening_contains_the_permission_policy(
    permission: Permission, patterns: list[str], tmp_path: Path
) -> None:
    launch = launched(tmp_path, driver=DriverKind.PROTOCOL, permission=permission, allow=["shell:git *"], rest="deny")
    assert launch.opening == {
        "prompt": "Write the parser.", "directory": "/work", "allow": patterns, "rest": "deny"
    }  # fmt: skip
    assert (launch.conversation, launch.terminal) == ("claude", False)
    assert value_after(launch.arguments, "--permission-prompt-tool") == "stdio"


def test_hooks_use_http_only_if_the_server_has_an_address(tmp_path: Path) -> None:
    over_http = settings_of(launched(tmp_path, driver=DriverKind.PROTOCOL))["hooks"]
    assert over_http["Stop"][0]["hooks"][0]["type"] == "http"
    environment = {"PATH": "/bin"}
    by_command = settings_of(launched(tmp_path, environment, driver=DriverKind.PROTOCOL))["hooks"]
    assert by_command["Stop"][0]["hooks"][0]["type"] == "command"


def test_in_a_terminal_claude_has_a_messaging_socket_and_asks_through_hooks(tmp_path: Path) -> None:
    launch = launched(tmp_path, {"TMPDIR": "/run/u"}, driver=DriverKind.TERMINAL)
    assert launch.terminal and launch.conversation is None
    assert launch.inbox["path"] == value_after(launch.arguments, "--messaging-socket-path") == "/run/u/in.sock"
    assert launch.interrupt == "\x1b"
    assert launch.arguments[-2:] == ["--", "Write the parser."]
    assert settings_of(launch)["crossSessionInbound"] == "accept"
    assert "PermissionRequest" in settings_of(launch)["hooks"]
    assert launch.environment["CLAUDE_CODE_SANDBOXED"] == "1"


@pytest.mark.parametrize(("size", "in_file"), [(100_000, False), (100_001, True)])
def test_a_prompt_that_is_too_long_for_an_argument_is_in_a_file(size: int, in_file: bool, tmp_path: Path) -> None:
    launch = launched(tmp_path, driver=DriverKind.TERMINAL, task_prompt="x" * size)
    assert (launch.arguments[-1] != "x" * size) is in_file
    if in_file:
        assert (tmp_path / "claude-prompt.md").read_text() == "x" * size
        assert str(tmp_path / "claude-prompt.md") in launch.arguments[-1]


def test_variables_of_the_caller_override_the_variables_of_maestro(tmp_path: Path) -> None:
    assert launched(tmp_path).environment["DISABLE_AUTOUPDATER"] == "1"
    assert launched(tmp_path, {"DISABLE_AUTOUPDATER": "0"}).environment["DISABLE_AUTOUPDATER"] == "0"
