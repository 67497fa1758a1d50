"""The programs as a person starts them: with settings in the person's home, and without flags for Maestro."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from agent_programs import installed
from agent_programs.base import KEY, Launch, Room


@dataclass(frozen=True)
class ByHand:
    """A program that a person starts."""

    name: str
    settle: Callable[[Room, str], None]  # writes the person's settings, for a model at a URL
    launch: Callable[[Room, str, str], Launch]
    files: tuple[str, ...]  # the files that only `maestro connect` changes
    connect: tuple[str, ...] = ()


def environment(room: Room) -> dict[str, str]:
    """Return the environment of the person, with the programs on the PATH."""
    programs = str(Path(installed.program("claude")).parent)
    return room.environment | {"PATH": f"{programs}:{room.environment['PATH']}"}


def _settle_claude(room: Room, model: str) -> None:
    folder = room.home / ".claude"
    folder.mkdir(exist_ok=True)
    (folder / "settings.json").write_text('{\n    "includeCoAuthoredBy": false,\n    "hooks": {}\n}')


def _claude(room: Room, model: str, prompt: str) -> Launch:
    named = {
        "ANTHROPIC_BASE_URL": model,
        "ANTHROPIC_API_KEY": KEY,
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_AUTOUPDATER": "1",
    }
    words = [installed.program("claude"), "-p", "--model", "sonnet", "--allowedTools", "mcp__maestro", "Bash"]
    return Launch([*words, "--", prompt], environment(room) | named, room.work)


def _settle_codex(room: Room, model: str) -> None:
    folder = room.home / ".codex"
    folder.mkdir(exist_ok=True)
    (folder / "config.toml").write_text(
        f"""\
# mine
model = "scripted"
model_provider = "scripted"
approval_policy = "never"
sandbox_mode = "danger-full-access"
check_for_update_on_startup = false

[analytics]
enabled = false

[features]
plugins = false

[model_providers.scripted]
name = "scripted"
base_url = "{model}/v1"
env_key = "SCRIPTED_KEY"
wire_api = "responses"  # the only one"""
    )


def _codex(room: Room, model: str, prompt: str) -> Launch:
    words = [installed.program("codex"), "exec", "--json", "--skip-git-repo-check", "--", prompt]
    return Launch(words, environment(room) | {"SCRIPTED_KEY": KEY}, room.work)


def _settle_gemini(room: Room, model: str) -> None:
    folder = room.home / ".gemini"
    folder.mkdir(exist_ok=True)
    settings = {
        "security": {"auth": {"selectedType": "gemini-api-key"}},
        "general": {"enableAutoUpdate": False, "enableAutoUpdateNotification": False},
        "privacy": {"usageStatisticsEnabled": False},
    }
    text = json.dumps(settings, indent=2)
    (folder / "settings.json").write_text(text[:-2] + ", // the rest is as it came\n}\n")


def _gemini(room: Room, model: str, prompt: str) -> Launch:
    named = {"GOOGLE_GEMINI_BASE_URL": model, "GEMINI_API_KEY": KEY}
    words = [installed.program("gemini"), "--skip-trust", "--approval-mode", "yolo", "-m", "gemini-2.5-pro"]
    return Launch([*words, "-o", "text", "-p", prompt], environment(room) | named, room.work)


PROGRAMS = {
    one.name: one
    for one in (
        ByHand("claude", _settle_claude, _claude, (".claude/settings.json",)),
        ByHand("codex", _settle_codex, _codex, (".codex/config.toml", ".codex/hooks.json"), ("--trust",)),
        ByHand("gemini", _settle_gemini, _gemini, (".gemini/settings.json",)),
    )
}
