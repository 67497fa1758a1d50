"""A person with all three programs: settings, an invalid key, and the URL of each program's model."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

from agent_programs import installed
from agent_programs.base import KEY, Room

# The model of each program. With a model that codex does not know, its tools are plain functions.
MODELS = {"claude": "sonnet", "codex": "scripted", "gemini": "gemini-2.5-pro"}


def settle(room: Room, model: Callable[[str], str]) -> dict[str, str]:
    """Write the person's settings, and return the person's environment. `model` gives the URL of a tool's model."""
    claude, codex, gemini = room.home / ".claude", room.home / ".codex", room.home / ".gemini"
    for home in (claude, codex, gemini):
        home.mkdir()
    known = {"hasCompletedOnboarding": True, "customApiKeyResponses": {"approved": [KEY[-20:]]}}
    (claude / ".claude.json").write_text(json.dumps(known))
    (codex / "config.toml").write_text(
        f'model_provider = "scripted"\ncheck_for_update_on_startup = false\n[analytics]\nenabled = false\n'
        f'[features]\nplugins = false\n[model_providers.scripted]\nname = "scripted"\n'
        f'base_url = "{model("codex")}/v1"\nenv_key = "SCRIPTED_KEY"\nwire_api = "responses"\n'
    )
    told = {
        "security": {"auth": {"selectedType": "gemini-api-key"}},
        "general": {"enableAutoUpdate": False, "enableAutoUpdateNotification": False},
        "privacy": {"usageStatisticsEnabled": False},
    }
    (gemini / "settings.json").write_text(json.dumps(told))
    (gemini / "tmp").mkdir()  # this folder exists for every person who has used gemini
    programs = str(Path(installed.program("claude")).parent)
    return room.environment | {
        "PATH": os.pathsep.join([programs, os.environ["PATH"]]),
        "ANTHROPIC_BASE_URL": model("claude"),
        "ANTHROPIC_API_KEY": KEY,
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "CLAUDE_CONFIG_DIR": str(claude),
        "SCRIPTED_KEY": KEY,
        "GEMINI_API_KEY": KEY,
        "GOOGLE_GEMINI_BASE_URL": model("gemini"),
    }
