"""The launch of Codex. Session settings go over Codex's protocol, where no other user can see them, or into
the session's folder. The user's login, settings, MCP servers and AGENTS.md apply as without Maestro.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from maestro.domain.conversations import DriverKind
from maestro.domain.members import Permission
from maestro.tools import hook_settings, placeholders, skills, socket_paths
from maestro.tools.base import Launch, LaunchRequest
from maestro.tools.codex import trust
from maestro.tools.codex.hooks import DIALECT

_MCP_VARIABLES = ("MAESTRO_TOKEN", "MAESTRO_SESSION_ID", "MAESTRO_SOCKET", "MAESTRO_SERVER_URL", "PATH")
_SOCKET = "codex.sock"


def prepare_launch(start: LaunchRequest, environment: Mapping[str, str]) -> Launch:
    """Return the launch of `codex app-server` with one thread; in a terminal, `codex resume` joins the thread."""
    sandbox, approval = start.levels.permissions[start.permission]
    server = {
        "command": start.mcp_command[0],
        "args": start.mcp_command[1:],
        # Codex does not pass Maestro's variables to its MCP servers by itself.
        "env": {name: environment[name] for name in _MCP_VARIABLES if environment.get(name)},
        "required": True,  # otherwise requests of the first second run without the server's tools
        "default_tools_approval_mode": "approve",  # the Maestro server decides about each call
    }
    hooks = hook_settings.hooks_beside_protocol(DIALECT, start.hook_command)
    config = {"mcp_servers": {"maestro": server}, **{f"hooks.{event}": group for event, group in hooks.items()}}
    is_shared = start.driver is DriverKind.TERMINAL
    listens = str(_socket_path(start, environment)) if is_shared else ""
    listen_flags = ["--listen", f"unix://{listens}"] if is_shared else []
    folder = Path(start.folder).resolve()  # Codex reports resolved paths
    trust_flags = trust.trust_flags(folder, start.directory, environment, may_write=sandbox != "read-only")
    return Launch(
        arguments=[start.levels.program, "app-server", *listen_flags, *trust_flags, *start.arguments],
        environment=dict(environment),
        terminal=False,
        conversation=DIALECT.tool,
        opening={
            "prompt": start.task_prompt,
            "system_prompt": start.system_prompt,
            "directory": start.directory,
            "resumes": start.resumes,
            "model": start.levels.model_for(start.model),
            "settings": {"sandbox": sandbox, "approvalPolicy": approval, "config": config},
            "hooks": _write_hooks(folder, hooks),
            "skills": _skill_folders(start),
            "allow": ["*"] if start.permission is Permission.FULL else [*start.allow, "tool:maestro"],
            "rest": start.rest,
            "is_shared": is_shared,
        },
        socket_path=listens,
        terminal_client=_join_command(start.levels.program, listens) if is_shared else [],
    )


def _skill_folders(start: LaunchRequest) -> list[str]:
    """Return the folders in which Codex looks for more skills."""
    return [str(skills.link_skills(start.skills, start.folder))] if start.skills else []


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
