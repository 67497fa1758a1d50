"""The tool Codex: its launch. Session settings go over Codex's protocol, where no other user can see them, or into
the session's folder. The user's login, settings, MCP servers and AGENTS.md apply as without Maestro.
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

_MCP_VARIABLES = ("MAESTRO_TOKEN", "MAESTRO_SESSION_ID", "MAESTRO_SOCKET", "MAESTRO_SERVER_URL", "PATH")
_SOCKET = "codex.sock"


class Codex:
    """Codex: `codex app-server` with one thread; in a terminal, `codex resume` joins the thread."""

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
        # Codex's sandbox keeps the shell from all sockets. Without a sandbox the shell is a login shell, and its
        # profile may set another PATH.
        reach=Reach.MCP,
        drivers={Driver.PROTOCOL: Teller.RUNNER, Driver.TERMINAL: Teller.RUNNER},
    )

    def launch(self, start: Start, environment: Mapping[str, str]) -> Launch:
        chosen = levels.of(self.name, start.home)
        sandbox, approval = chosen.permissions[start.permission]
        server = {
            "command": start.mcp[0],
            "args": start.mcp[1:],
            # Codex does not pass Maestro's variables to its MCP servers by itself.
            "env": {name: environment[name] for name in _MCP_VARIABLES if environment.get(name)},
            "required": True,  # otherwise requests of the first second run without the server's tools
            "default_tools_approval_mode": "approve",  # the Maestro server decides about each call
        }
        hooks = wiring.beside_protocol(self.name, start.hook)
        config = {"mcp_servers": {"maestro": server}, **{f"hooks.{event}": group for event, group in hooks.items()}}
        is_shared = start.driver is Driver.TERMINAL
        listens = str(_socket_path(start, environment)) if is_shared else ""
        listen_flags = ["--listen", f"unix://{listens}"] if is_shared else []
        folder = Path(start.folder).resolve()  # Codex reports resolved paths
        trust_flags = trust.flags(folder, start.directory, environment, writes=sandbox != "read-only")
        return Launch(
            words=[chosen.program, "app-server", *listen_flags, *trust_flags, *start.words],
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
                "hooks": _write_hooks(folder, hooks),
                "skills": skills.as_roots(start.skills, start.folder),
                "allow": ["*"] if start.permission is Permission.FULL else [*start.allow, "tool:maestro"],
                "rest": start.rest,
                "is_shared": is_shared,
            },
            listens=listens,
            front=_join_command(chosen.program, listens) if is_shared else [],
        )

    def prompt(self, text: str) -> bytes | None:
        return None

    def reach(self, permission: Permission) -> Reach:
        return self.abilities.reach


def _socket_path(start: Start, environment: Mapping[str, str]) -> Path:
    return sockets.short(Path(environment.get("TMPDIR") or start.folder) / _SOCKET, start.session_id)


def _join_command(program: str, listens: str) -> list[str]:
    """Return the command of the terminal client. Without the alternate screen, a person who attaches sees the earlier
    output, and the transcript can be read."""
    return [program, "resume", places.CONVERSATION, "--remote", f"unix://{listens}", "--no-alt-screen"]


def _write_hooks(folder: Path, hooks: Mapping[str, Any]) -> str:
    """Write the same hooks into the session's folder and return the folder. Codex lists the hooks of a folder before
    the thread begins, and its terminal does not ask the person to review them, unlike hooks of the command line."""
    codex_folder = folder / ".codex"
    codex_folder.mkdir(exist_ok=True, mode=0o700)
    (codex_folder / "hooks.json").write_text(
        json.dumps({"hooks": hooks}, ensure_ascii=False, indent=1), encoding="utf-8"
    )
    return str(folder)
