"""The tool Codex: its launch. Session settings go over Codex's protocol, where no other user can see them, or into
the session's folder. The user's login, settings, MCP servers and AGENTS.md apply as without Maestro.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from maestro.domain.conversations import DriverKind, StateReporter
from maestro.domain.manifests import AgentReach
from maestro.domain.members import Permission
from maestro.tools import hook_settings, levels, placeholders, skills, socket_paths
from maestro.tools.base import Abilities, Launch, LaunchRequest
from maestro.tools.codex import trust

_MCP_VARIABLES = ("MAESTRO_TOKEN", "MAESTRO_SESSION_ID", "MAESTRO_SOCKET", "MAESTRO_SERVER_URL", "PATH")
_SOCKET = "codex.sock"


class CodexTool:
    """Codex: `codex app-server` with one thread; in a terminal, `codex resume` joins the thread."""

    name = "codex"
    aliases: tuple[str, ...] = ()
    model_wait = None
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
        reach=AgentReach.MCP,
        drivers={DriverKind.PROTOCOL: StateReporter.RUNNER, DriverKind.TERMINAL: StateReporter.RUNNER},
    )

    def prepare_launch(self, start: LaunchRequest, environment: Mapping[str, str]) -> Launch:
        chosen = levels.read_levels(self.name, start.home)
        sandbox, approval = chosen.permissions[start.permission]
        server = {
            "command": start.mcp_command[0],
            "args": start.mcp_command[1:],
            # Codex does not pass Maestro's variables to its MCP servers by itself.
            "env": {name: environment[name] for name in _MCP_VARIABLES if environment.get(name)},
            "required": True,  # otherwise requests of the first second run without the server's tools
            "default_tools_approval_mode": "approve",  # the Maestro server decides about each call
        }
        hooks = hook_settings.hooks_beside_protocol(self.name, start.hook_command)
        config = {"mcp_servers": {"maestro": server}, **{f"hooks.{event}": group for event, group in hooks.items()}}
        is_shared = start.driver is DriverKind.TERMINAL
        listens = str(_socket_path(start, environment)) if is_shared else ""
        listen_flags = ["--listen", f"unix://{listens}"] if is_shared else []
        folder = Path(start.folder).resolve()  # Codex reports resolved paths
        trust_flags = trust.trust_flags(folder, start.directory, environment, may_write=sandbox != "read-only")
        return Launch(
            arguments=[chosen.program, "app-server", *listen_flags, *trust_flags, *start.arguments],
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
                "skills": skills.skill_folders(start.skills, start.folder),
                "allow": ["*"] if start.permission is Permission.FULL else [*start.allow, "tool:maestro"],
                "rest": start.rest,
                "is_shared": is_shared,
            },
            socket_path=listens,
            terminal_client=_join_command(chosen.program, listens) if is_shared else [],
        )

    def typed_prompt(self, text: str) -> bytes | None:
        return None

    def reach_with(self, permission: Permission) -> AgentReach:
        return self.abilities.reach


def _socket_path(start: LaunchRequest, environment: Mapping[str, str]) -> Path:
    return socket_paths.short_socket_path(Path(environment.get("TMPDIR") or start.folder) / _SOCKET, start.session_id)


def _join_command(program: str, listens: str) -> list[str]:
    """Return the command of the terminal client. Without the alternate screen, a person who attaches sees the earlier
    output, and the transcript can be read."""
    return [
        program,
        "resume",
        placeholders.CONVERSATION_PLACEHOLDER,
        "--remote",
        f"unix://{listens}",
        "--no-alt-screen",
    ]


def _write_hooks(folder: Path, hooks: Mapping[str, Any]) -> str:
    """Write the same hooks into the session's folder and return the folder. Codex lists the hooks of a folder before
    the thread begins, and its terminal does not ask the person to review them, unlike hooks of the command line."""
    codex_folder = folder / ".codex"
    codex_folder.mkdir(exist_ok=True, mode=0o700)
    (codex_folder / "hooks.json").write_text(
        json.dumps({"hooks": hooks}, ensure_ascii=False, indent=1), encoding="utf-8"
    )
    return str(folder)
