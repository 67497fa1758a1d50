"""A single run of Gemini CLI: `gemini -p`."""

from __future__ import annotations

import json
from typing import Any

from agent_programs import installed
from agent_programs.base import KEY, SERVER, Http, Launch, Room, Stdio

_MODEL = "gemini-2.5-pro"


class Gemini:
    name = "gemini"

    def once(self, room: Room, *, model: str, mcp: Stdio | Http, prompt: str) -> Launch:
        home = room.home / ".gemini"
        home.mkdir(exist_ok=True)
        (home / "settings.json").write_text(json.dumps(_settings(mcp)))
        environment = room.environment | {
            "GEMINI_CLI_HOME": str(room.home),
            "GOOGLE_GEMINI_BASE_URL": model,
            "GEMINI_API_KEY": KEY,
        }
        words = [installed.program("gemini"), "--skip-trust", "--approval-mode", "yolo", "-m", _MODEL]
        return Launch([*words, "-o", "text", "-p", prompt], environment, room.work)


def _settings(mcp: Stdio | Http) -> dict[str, Any]:
    return {
        # With another base URL, gemini would choose another login, which fails.
        "security": {"auth": {"selectedType": "gemini-api-key"}},
        "general": {"enableAutoUpdate": False, "enableAutoUpdateNotification": False},
        "privacy": {"usageStatisticsEnabled": False},
        "mcpServers": {SERVER: _entry(mcp) | {"trust": True}},
    }


def _entry(mcp: Stdio | Http) -> dict[str, Any]:
    if isinstance(mcp, Http):
        return {"httpUrl": mcp.url, "headers": {"Authorization": f"Bearer {mcp.token}"}}
    program, *words = mcp.words
    return {"command": program, "args": words, "env": dict(mcp.environment)}
