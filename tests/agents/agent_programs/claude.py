"""A single run of Claude Code: `claude -p`."""

from __future__ import annotations

import json
from typing import Any

from agent_programs import installed
from agent_programs.base import KEY, SERVER, Http, Launch, Room, Stdio


class Claude:
    name = "claude"

    def once(self, room: Room, *, model: str, mcp: Stdio | Http, prompt: str) -> Launch:
        config = room.home / "mcp.json"
        config.write_text(json.dumps({"mcpServers": {SERVER: _entry(mcp)}}))
        environment = room.environment | {
            "CLAUDE_CONFIG_DIR": str(room.home / ".claude"),
            "ANTHROPIC_BASE_URL": model,
            "ANTHROPIC_API_KEY": KEY,
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_AUTOUPDATER": "1",
        }
        words = [installed.program("claude"), "-p", "--model", "sonnet", "--strict-mcp-config"]
        words += ["--mcp-config", str(config), "--allowedTools", f"mcp__{SERVER}", "Bash"]
        # The options before the prompt take any number of words. Two dashes end the options.
        return Launch([*words, "--", prompt], environment, room.work)


def _entry(mcp: Stdio | Http) -> dict[str, Any]:
    # Without this setting, claude offers the tools only after the model searches for them.
    loaded = {"alwaysLoad": True}
    if isinstance(mcp, Http):
        return loaded | {"type": "http", "url": mcp.url, "headers": {"Authorization": f"Bearer {mcp.token}"}}
    program, *words = mcp.words
    return loaded | {"type": "stdio", "command": program, "args": words, "env": dict(mcp.environment)}
