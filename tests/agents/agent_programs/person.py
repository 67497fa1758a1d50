"""A person who has all three programs: their settings, their key, which is none, and where each finds its model."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

from agent_programs import installed
from agent_programs.base import KEY, Room

# What to ask each program for: codex has plain tools with a model that it does not know.
MODELS = {"claude": "sonnet", "codex": "scripted", "gemini": "gemini-2.5-pro"}


def settle(room: Room, model: Callable[[str], str]) -> dict[str, str]:
    """Writes their settings and gives their environment; `model` says at which URL a program's model is."""
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
    (gemini / "tmp").mkdir()  # as everyone has who has used it
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
