"""Codex: how it is started. What is the session's own is said over its protocol, where no other user sees it, or is
in the session's folder; the user's login, settings, MCP servers and AGENTS.md apply as they do without Maestro.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from maestro.domain.manifests import Reach
from maestro.domain.members import Permission
from maestro.domain.talks import Driver, Teller
from maestro.tools import levels, places, skills, sockets
from maestro.tools.base import Abilities, Launch, Start
from maestro.tools.codex import trust
from maestro.tools.hooks import wiring

_PASSED = ("MAESTRO_TOKEN", "MAESTRO_SESSION_ID", "MAESTRO_SOCKET", "MAESTRO_SERVER_URL", "PATH")
_SOCKET = "codex.sock"


class Codex:
    """`codex app-server`, with one thread; in a terminal `codex resume` joins that."""

    name = "codex"
    aliases: tuple[str, ...] = ()
    waiter = None
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
        drivers={Driver.PROTOCOL: Teller.RUNNER, Driver.TERMINAL: Teller.RUNNER},
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
        hooks = wiring.beside_protocol(self.name, start.hook)
        config = {"mcp_servers": {"maestro": server}, **{f"hooks.{event}": group for event, group in hooks.items()}}
        is_shared = start.driver is Driver.TERMINAL
        listens = str(_socket(start, environment)) if is_shared else ""
        listening = ["--listen", f"unix://{listens}"] if is_shared else []
        folder = Path(start.folder).resolve()  # as it tells of it
        trusted = trust.flags(folder, start.directory, environment, writes=sandbox != "read-only")
        return Launch(
            words=[chosen.program, "app-server", *listening, *trusted, *start.words],
            environment=dict(environment),
            terminal=False,
            conversation=self.name,
            opening={
                "prompt": start.task_prompt,
                "system_prompt": start.system_prompt,
                "directory": start.directory,
                "resumes": start.resumes,
                "model": chosen.model_for(start.model),
                "settings": {"sandbox": sandbox, "approvalPolicy": approval, "config": config},
                "hooks": _reviewed_in(folder, hooks),
                "skills": skills.as_roots(start.skills, start.folder),
                "allow": ["*"] if start.permission is Permission.FULL else [*start.allow, "tool:maestro"],
                "rest": start.rest,
                "is_shared": is_shared,
            },
            listens=listens,
            front=_joining(chosen.program, listens) if is_shared else [],
        )

    def prompt(self, text: str) -> bytes | None:
        return None

    def reach(self, permission: Permission) -> Reach:
        return self.abilities.reach


def _socket(start: Start, environment: Mapping[str, str]) -> Path:
    return sockets.short(Path(environment.get("TMPDIR") or start.folder) / _SOCKET, start.session_id)


def _joining(program: str, listens: str) -> list[str]:
    """Below what was there, not on a screen of its own: that is drawn anew for whoever attaches, and its log can be
    read."""
    return [program, "resume", places.CONVERSATION, "--remote", f"unix://{listens}", "--no-alt-screen"]


def _reviewed_in(folder: Path, hooks: Mapping[str, Any]) -> str:
    """The same hooks in the session's own folder. There it tells what it makes of them before the thread is begun;
    and its terminal does not ask the person to review them, as it does for those of its command line."""
    place = folder / ".codex"
    place.mkdir(exist_ok=True, mode=0o700)
    (place / "hooks.json").write_text(json.dumps({"hooks": hooks}, ensure_ascii=False, indent=1), encoding="utf-8")
    return str(folder)
