"""The launch of Codex sets its opening, sandbox, hooks, socket and terminal client."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from launch_requests import ENVIRONMENT, launch_request, value_after

from maestro.domain.conversations import DriverKind
from maestro.domain.members import Permission
from maestro.tools.base import Launch
from maestro.tools.codex.launch import prepare_launch
from maestro.tools.placeholders import CONVERSATION_PLACEHOLDER


def launched(folder: Path, environment: dict[str, str] | None = None, **fields: Any) -> Launch:
    request = launch_request("codex", folder, **{"driver": DriverKind.PROTOCOL, **fields})
    return prepare_launch(request, environment or {**ENVIRONMENT, "HOME": str(folder)})


def test_the_opening_contains_prompts_model_and_conversation(tmp_path: Path) -> None:
    opening = launched(tmp_path, model="fast", resumes="thr_1").opening
    assert (opening["prompt"], opening["system_prompt"]) == ("Write the parser.", "You are a worker.")
    assert (opening["resumes"], opening["directory"]) == ("thr_1", "/work")
    assert opening["model"] and opening["model"] != "fast"


@pytest.mark.parametrize(
    ("permission", "sandbox", "patterns"),
    [
        (Permission.PLAN, "read-only", ["shell:ls", "tool:maestro"]),
        (Permission.EDIT, "workspace-write", ["shell:ls", "tool:maestro"]),
        (Permission.FULL, "danger-full-access", ["*"]),
    ],
)
def test_the_permission_level_decides_the_sandbox_and_the_patterns(
    permission: Permission, sandbox: str, patterns: list[str], tmp_path: Path
) -> None:
    opening = launched(tmp_path, permission=permission, allow=["shell:ls"]).opening
    assert opening["settings"]["sandbox"] == sandbox
    assert opening["allow"] == patterns


@pytest.mark.parametrize(("permission", "trusted"), [(Permission.PLAN, False), (Permission.EDIT, True)])
def test_the_directory_is_trusted_only_if_the_session_may_write(
    permission: Permission, trusted: bool, tmp_path: Path
) -> None:
    flags = value_after(launched(tmp_path, permission=permission).arguments, "-c")
    assert ('"/work"' in flags) is trusted


def test_the_mcp_server_gets_only_set_variables(tmp_path: Path) -> None:
    environment = {"PATH": "/bin", "MAESTRO_TOKEN": "mst_1", "MAESTRO_SOCKET": "", "HOME": str(tmp_path)}
    server = launched(tmp_path, environment).opening["settings"]["config"]["mcp_servers"]["maestro"]
    assert server["env"] == {"PATH": "/bin", "MAESTRO_TOKEN": "mst_1"}
    assert (server["command"], server["args"], server["required"]) == ("/opt/maestro", ["mcp"], True)


def test_the_same_hooks_are_in_the_configuration_and_in_the_session_s_folder(tmp_path: Path) -> None:
    opening = launched(tmp_path).opening
    written = json.loads((tmp_path / ".codex" / "hooks.json").read_text())["hooks"]
    config = opening["settings"]["config"]
    assert {name.removeprefix("hooks."): group for name, group in config.items() if name != "mcp_servers"} == written
    assert opening["hooks"] == str(tmp_path.resolve()) and "PermissionRequest" not in written


def test_with_the_protocol_driver_codex_has_no_socket_and_no_terminal_client(tmp_path: Path) -> None:
    launch = launched(tmp_path)
    assert not launch.socket_path and launch.terminal_client == [] and "--listen" not in launch.arguments
    assert launch.opening["is_shared"] is False and launch.opening["skills"] == []


def test_in_a_terminal_a_terminal_client_joins_the_thread_over_a_socket(tmp_path: Path) -> None:
    environment = {"TMPDIR": "/run/u", "HOME": str(tmp_path)}
    launch = launched(tmp_path, environment, driver=DriverKind.TERMINAL)
    assert launch.socket_path == "/run/u/codex.sock" and launch.opening["is_shared"] is True
    assert value_after(launch.arguments, "--listen") == "unix:///run/u/codex.sock"
    assert launch.terminal_client[:3] == ["codex", "resume", CONVERSATION_PLACEHOLDER]
    assert value_after(launch.terminal_client, "--remote") == "unix:///run/u/codex.sock"


def test_skills_are_linked_into_a_folder_of_the_session(tmp_path: Path) -> None:
    skill = tmp_path / "theirs" / "sql"
    skill.mkdir(parents=True)
    (folder,) = launched(tmp_path, skills=[str(skill)]).opening["skills"]
    assert (Path(folder) / "sql").resolve() == skill
