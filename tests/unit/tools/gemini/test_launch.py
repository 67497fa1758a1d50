"""The launch of Gemini CLI sets its prompts, mode, home, inbox and waiting time."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from launch_requests import ENVIRONMENT, launch_request, value_after

from maestro.domain.conversations import DriverKind
from maestro.domain.members import Permission
from maestro.tools.base import Launch
from maestro.tools.gemini.launch import MAESTRO_PATTERNS, prepare_launch


def launched(folder: Path, environment: dict[str, str] | None = None, **fields: Any) -> Launch:
    """Return the launch for a user with the home directory `dana`."""
    (folder / "dana").mkdir(exist_ok=True)
    (folder / "session").mkdir(exist_ok=True)
    request = launch_request("gemini", folder / "session", **{"directory": str(folder / "work"), **fields})
    return prepare_launch(request, {**ENVIRONMENT, "HOME": str(folder / "dana"), **(environment or {})})


def with_protocol(folder: Path, environment: dict[str, str] | None = None, **fields: Any) -> Launch:
    return launched(folder, environment, driver=DriverKind.PROTOCOL, **fields)


def in_terminal(folder: Path, **fields: Any) -> Launch:
    return launched(folder, driver=DriverKind.TERMINAL, **fields)


def keep_records(home: Path, conversation: str) -> None:
    """Create record files of a conversation with the name for the present minute and for the next minute."""
    chats = home / ".gemini" / "tmp" / "work" / "chats"
    chats.mkdir(parents=True)
    now = datetime.now(UTC)
    for minute in (now, now + timedelta(minutes=1)):  # the minute may end during the test
        (chats / f"session-{minute:%Y-%m-%dT%H-%M}-{conversation[:8]}.json").touch()


def test_the_system_prompt_precedes_only_the_first_prompt(tmp_path: Path) -> None:
    assert with_protocol(tmp_path).opening["prompt"] == "You are a worker.\n\nWrite the parser."
    assert with_protocol(tmp_path, resumes="c1").opening["prompt"] == "Write the parser."


@pytest.mark.parametrize(
    ("permission", "mode", "patterns"),
    [
        (Permission.PLAN, "default", ["shell:ls", *MAESTRO_PATTERNS]),
        (Permission.EDIT, "autoEdit", ["shell:ls", *MAESTRO_PATTERNS]),
        (Permission.FULL, "yolo", ["*"]),
    ],
)
def test_the_permission_level_decides_the_mode_and_the_patterns(
    permission: Permission, mode: str, patterns: list[str], tmp_path: Path
) -> None:
    opening = with_protocol(tmp_path, permission=permission, allow=["shell:ls"]).opening
    assert (opening["settings"]["mode"], opening["allow"]) == (mode, patterns)


def test_the_mcp_server_gets_only_set_variables(tmp_path: Path) -> None:
    (server,) = with_protocol(tmp_path, {"MAESTRO_SOCKET": ""}).opening["settings"]["mcpServers"]
    assert {entry["name"] for entry in server["env"]} == {"MAESTRO_TOKEN", "MAESTRO_SERVER_URL", "PATH"}


def test_the_model_is_an_argument_only_if_the_request_names_it(tmp_path: Path) -> None:
    assert "-m" not in with_protocol(tmp_path).arguments
    assert value_after(with_protocol(tmp_path, model="own").arguments, "-m") == "own"
    assert "-m" not in in_terminal(tmp_path).arguments
    assert value_after(in_terminal(tmp_path, model="own").arguments, "-m") == "own"


@pytest.mark.parametrize("driver", DriverKind)
def test_the_environment_makes_gemini_trust_the_workspace(driver: DriverKind, tmp_path: Path) -> None:
    assert launched(tmp_path, driver=driver).environment["GEMINI_CLI_TRUST_WORKSPACE"] == "true"


def test_a_conversation_recorded_in_this_minute_is_resumed_in_the_next_minute(tmp_path: Path) -> None:
    keep_records(tmp_path / "dana", "0123456789")
    assert with_protocol(tmp_path, resumes="abcdefgh99").wait_seconds == 0
    assert with_protocol(tmp_path).wait_seconds == 0
    assert 0 < with_protocol(tmp_path, resumes="0123456789").wait_seconds <= 60
    assert 0 < in_terminal(tmp_path, resumes="0123456789").wait_seconds <= 60


def test_in_a_terminal_gemini_has_its_own_home_and_waits_on_a_pipe(tmp_path: Path) -> None:
    launch = in_terminal(tmp_path)
    home = Path(launch.environment["GEMINI_CLI_HOME"])
    assert home.is_relative_to(tmp_path / "session")
    settings = json.loads((home / ".gemini" / "settings.json").read_text())
    assert settings["mcpServers"]["maestro"]["command"] == "/opt/maestro"
    assert launch.inbox == {"kind": "pipe", "path": str(tmp_path / "session" / "in")}
    assert launch.interrupt == "\x1b" and "<waiting>" in value_after(launch.arguments, "-i")


def test_gemini_runs_without_dialogs_unless_settings_of_the_project_configure_hooks(tmp_path: Path) -> None:
    assert value_after(in_terminal(tmp_path).arguments, "--approval-mode") == "yolo"
    (tmp_path / "work" / ".gemini").mkdir(parents=True)
    (tmp_path / "work" / ".gemini" / "settings.json").write_text('{"hooksConfig": {}}')
    assert value_after(in_terminal(tmp_path).arguments, "--approval-mode") == "default"


@pytest.mark.parametrize(("permission", "waits"), [(Permission.EDIT, True), (Permission.FULL, False)])
def test_the_hook_before_tool_calls_waits_for_the_person_only_below_full_permission(
    permission: Permission, waits: bool, tmp_path: Path
) -> None:
    home = Path(in_terminal(tmp_path, permission=permission).environment["GEMINI_CLI_HOME"])
    settings = json.loads((home / ".gemini" / "settings.json").read_text())
    assert ("--patient" in settings["hooks"]["BeforeTool"][-1]["hooks"][0]["command"]) is waits


def test_a_resumed_terminal_gets_the_conversation_and_no_system_prompt(tmp_path: Path) -> None:
    first, resumed = in_terminal(tmp_path), in_terminal(tmp_path, resumes="c1")
    assert value_after(first.arguments, "-i").startswith("You are a worker.") and "--resume" not in first.arguments
    assert value_after(resumed.arguments, "--resume") == "c1"
    assert "You are a worker." not in value_after(resumed.arguments, "-i")


def test_a_long_prompt_is_in_a_file_of_an_included_folder(tmp_path: Path) -> None:
    assert "--include-directories" not in in_terminal(tmp_path).arguments
    arguments = in_terminal(tmp_path, task_prompt="x" * 100_000).arguments
    folder = Path(value_after(arguments, "--include-directories"))
    (file,) = folder.iterdir()
    assert "x" * 100_000 in file.read_text() and str(file) in value_after(arguments, "-i")
