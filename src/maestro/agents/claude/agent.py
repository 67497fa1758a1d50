"""Claude Code: how it is started. What is the session's own comes in flags and files of its folder; the user's login,
settings, hooks, MCP servers and CLAUDE.md apply as they do without Maestro.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from maestro.agents import levels
from maestro.agents.base import Abilities, Launch, Start
from maestro.agents.hooks import wiring
from maestro.domain.manifests import Reach
from maestro.domain.members import Permission
from maestro.domain.talks import Driver, Teller

_SYSTEM, _MCP, _SETTINGS = "claude-system-prompt.md", "claude-mcp.json", "claude-settings.json"
_SERVER = "maestro"
# Maestro's own commands and tools are never asked for: what a session may do there, the server decides.
_ALWAYS = (f"mcp__{_SERVER}", "Bash(maestro:*)")
_READING = ("Read", "Glob", "Grep")


class Claude:
    """`claude -p`, fed with stream-json and kept running."""

    name = "claude"
    aliases: tuple[str, ...] = ("claude-code",)
    abilities = Abilities(
        prompt_while_busy=True,
        wakes_when_idle=True,
        asks_permission=True,
        tells_usage=True,
        resumes=True,
        confirms_prompts=True,
        exit_means_done=False,
        reach=Reach.COMMANDS,
        drivers={Driver.PROTOCOL: Teller.RUNNER},
    )

    def launch(self, start: Start, environment: Mapping[str, str]) -> Launch:
        chosen = levels.of(self.name, start.home)
        folder = Path(start.folder)
        (folder / _SYSTEM).write_text(start.system_prompt, encoding="utf-8")
        (folder / _MCP).write_text(json.dumps({"mcpServers": {_SERVER: _server(start)}}), encoding="utf-8")
        hooks = wiring.beside_protocol(self.name, start.hook, url=environment.get("MAESTRO_SERVER_URL", ""))
        (folder / _SETTINGS).write_text(json.dumps({"hooks": hooks}), encoding="utf-8")
        words = [chosen.program, "-p", "--input-format", "stream-json", "--output-format", "stream-json"]
        words += ["--verbose", "--replay-user-messages", "--permission-prompt-tool", "stdio"]
        words += ["--append-system-prompt-file", str(folder / _SYSTEM), "--mcp-config", str(folder / _MCP)]
        words += ["--settings", str(folder / _SETTINGS)]
        words += ["--allowedTools", ",".join([*_ALWAYS, *_READING]), *chosen.permissions[start.permission]]
        model = chosen.model_for(start.model)
        words += ["--model", model] if model else []
        words += ["--resume", start.resumes] if start.resumes else []
        return Launch(
            words=[*words, *start.words],
            environment={"DISABLE_AUTOUPDATER": "1", **environment},
            terminal=False,
            conversation=self.name,
            opening={"prompt": start.task_prompt, "directory": start.directory, "allow": _allowed(start)}
            | {"rest": start.rest},
        )

    def prompt(self, text: str) -> bytes | None:
        return None

    def reach(self, permission: Permission) -> Reach:
        return self.abilities.reach


def _server(start: Start) -> dict[str, object]:
    # It hands its MCP servers the session's own variables, token and all. Without the last word the model would have
    # to search for the tools before it sees them.
    program, *words = start.mcp
    return {"type": "stdio", "command": program, "args": words, "alwaysLoad": True}


def _allowed(start: Start) -> list[str]:
    # Its own mode for that is refused to root, and asks at its first start: so it asks, and is answered at once.
    return ["*"] if start.permission is Permission.FULL else start.allow
