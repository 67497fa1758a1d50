"""Codex: how it is started. What is the session's own is said over its protocol, where no other user can see it; the
user's login, settings, MCP servers and AGENTS.md apply as they do without Maestro.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from maestro.agents import levels, skills
from maestro.agents.base import Abilities, Launch, Start
from maestro.agents.hooks import wiring
from maestro.domain.manifests import Reach
from maestro.domain.members import Permission
from maestro.domain.talks import Driver, Teller

_PASSED = ("MAESTRO_TOKEN", "MAESTRO_SESSION_ID", "MAESTRO_SOCKET", "MAESTRO_SERVER_URL", "PATH")


class Codex:
    """`codex app-server`, with one thread."""

    name = "codex"
    aliases: tuple[str, ...] = ()
    abilities = Abilities(
        prompt_while_busy=True,
        wakes_when_idle=True,
        asks_permission=True,
        tells_usage=True,
        resumes=True,
        takes_skills=True,
        confirms_prompts=True,
        exit_means_done=False,
        # Its sandbox lets a shell reach no socket at all; and where it has none, that is a login shell, whose profile
        # may set another PATH.
        reach=Reach.MCP,
        drivers={Driver.PROTOCOL: Teller.RUNNER},
    )

    def launch(self, start: Start, environment: Mapping[str, str]) -> Launch:
        chosen = levels.of(self.name, start.home)
        sandbox, approval = chosen.permissions[start.permission]
        server = {
            "command": start.mcp[0],
            "args": start.mcp[1:],
            # It hands its MCP servers nothing of ours by itself.
            "env": {name: environment[name] for name in _PASSED if environment.get(name)},
            "required": True,  # else what is asked in the first second goes without them
            "default_tools_approval_mode": "approve",  # what a session may do there, our server decides
        }
        settings = {"sandbox": sandbox, "approvalPolicy": approval, "config": {"mcp_servers": {"maestro": server}}}
        hooks = wiring.beside_protocol(self.name, start.hook)
        return Launch(
            words=[chosen.program, "app-server", *_as_flags(hooks), *start.words],
            environment=dict(environment),
            terminal=False,
            conversation=self.name,
            opening={
                "prompt": start.task_prompt,
                "system_prompt": start.system_prompt,
                "directory": start.directory,
                "resumes": start.resumes,
                "model": chosen.model_for(start.model),
                "settings": settings,
                "hooks": [hook["command"] for hook in _each(hooks)],
                "skills": skills.as_roots(start.skills, start.folder),
                "allow": ["*"] if start.permission is Permission.FULL else [*start.allow, "tool:maestro"],
                "rest": start.rest,
            },
        )

    def prompt(self, text: str) -> bytes | None:
        return None

    def reach(self, permission: Permission) -> Reach:
        return self.abilities.reach


def _each(hooks: wiring.Groups) -> list[dict[str, Any]]:
    return [hook for groups in hooks.values() for group in groups for hook in group["hooks"]]


def _as_flags(hooks: wiring.Groups) -> list[str]:
    # Here it tells what it makes of them before the thread is begun, and there they are vouched for, and no others.
    words: list[str] = []
    for event, groups in hooks.items():
        (hook,) = _each({event: groups})
        command = json.dumps(hook["command"], ensure_ascii=False)
        entry = f'{{type="command",command={command},timeout={hook["timeout"]}}}'
        words += ["-c", f"hooks.{event}=[{{hooks=[{entry}]}}]"]
    return words
