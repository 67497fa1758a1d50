"""Gemini CLI: how it is started. What is the session's own is said over its protocol and in its environment; the
user's login, settings, MCP servers and GEMINI.md apply as they do without Maestro.

It has no way to add to its system prompt, only one to replace all of it, tool instructions and safety with it. So
ours stands in front of the first prompt.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

from maestro.agents import levels
from maestro.agents.base import Abilities, Launch, Start
from maestro.domain.manifests import Reach
from maestro.domain.members import Permission
from maestro.domain.talks import Driver, Teller

_PASSED = ("MAESTRO_TOKEN", "MAESTRO_SESSION_ID", "MAESTRO_SOCKET", "MAESTRO_SERVER_URL", "PATH")


class Gemini:
    """`gemini --acp`, with one session."""

    name = "gemini"
    aliases: tuple[str, ...] = ("gemini-cli",)
    abilities = Abilities(
        prompt_while_busy=False,
        wakes_when_idle=True,
        asks_permission=True,
        tells_usage=True,
        resumes=True,
        takes_skills=False,
        confirms_prompts=True,
        exit_means_done=False,
        reach=Reach.COMMANDS,
        drivers={Driver.PROTOCOL: Teller.RUNNER},
    )

    def launch(self, start: Start, environment: Mapping[str, str]) -> Launch:
        chosen = levels.of(self.name, start.home)
        (mode,) = chosen.permissions[start.permission]
        model = chosen.model_for(start.model)
        passed = [{"name": name, "value": environment[name]} for name in _PASSED if environment.get(name)]
        server = {"name": "maestro", "command": start.mcp[0], "args": start.mcp[1:], "env": passed}
        words = [chosen.program, "--acp", *(["-m", model] if model else []), *start.words]
        return Launch(
            words=words,
            # The person who starts an agent in a folder trusts that folder; the question would come to a terminal.
            environment={**environment, "GEMINI_CLI_TRUST_WORKSPACE": "true"},
            terminal=False,
            conversation=self.name,
            wait_seconds=_until_it_can_be_resumed(start.resumes, environment) if start.resumes else 0.0,
            opening={
                "prompt": start.task_prompt if start.resumes else f"{start.system_prompt}\n\n{start.task_prompt}",
                "directory": start.directory,
                "resumes": start.resumes,
                "settings": {"mcpServers": [server], "mode": mode},
                "allow": ["*"] if start.permission is Permission.FULL else [*start.allow, *_OURS],
                "rest": start.rest,
            },
        )

    def prompt(self, text: str) -> bytes | None:
        return None

    def reach(self, permission: Permission) -> Reach:
        return self.abilities.reach


def _until_it_can_be_resumed(conversation: str, environment: Mapping[str, str]) -> float:
    """It keeps a conversation in a file that is named after it and the minute, and begins that anew before it looks
    for what it is to resume: within the same minute it would find nothing."""
    now = datetime.now(UTC)
    home = Path(environment.get("GEMINI_CLI_HOME") or environment.get("HOME") or "~").expanduser()
    taken = f"*/chats/session-{now:%Y-%m-%dT%H-%M}-{conversation[:8]}.json*"
    return 60.0 - now.second if any((home / ".gemini" / "tmp").glob(taken)) else 0.0


# What a session may do at Maestro, the server decides.
_OURS = ("shell:maestro *", "tool:*(maestro MCP Server)*")
