"""The launch of Claude Code. Session settings come in flags and in files of the session's folder. The user's
login, settings, hooks, MCP servers and CLAUDE.md apply as without Maestro.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from maestro.domain.conversations import DriverKind
from maestro.domain.members import Permission
from maestro.tools import hook_settings, socket_paths
from maestro.tools.base import Launch, LaunchRequest
from maestro.tools.claude.hooks import DIALECT
from maestro.tools.claude.plugin import plugin_arguments

_SYSTEM, _MCP, _SETTINGS = "claude-system-prompt.md", "claude-mcp.json", "claude-settings.json"
_INBOX, _PROMPT = "in.sock", "claude-prompt.md"
_ARGUMENT_BYTES_MAX = 100_000  # of one argument; the operating system takes little more
_ESCAPE = "\x1b"
_SERVER = "maestro"
# Maestro's own commands and tools need no permission from Claude: the Maestro server decides about each call.
_MAESTRO_TOOLS = (f"mcp__{_SERVER}", "Bash(maestro:*)")
_READING_TOOLS = ("Read", "Glob", "Grep")


def prepare_launch(start: LaunchRequest, environment: Mapping[str, str]) -> Launch:
    """Return the launch of `claude -p` with stream-json, kept running; or of `claude` in a terminal, with a messaging
    socket."""
    folder = Path(start.folder)
    arguments = _common_arguments(start, folder)
    if start.driver is DriverKind.TERMINAL:
        hooks = hook_settings.hooks_in_terminal(DIALECT, start.hook_command)
        return _launch_in_terminal(start, folder, arguments, hooks, environment)
    hooks = hook_settings.hooks_beside_protocol(
        DIALECT, start.hook_command, url=environment.get("MAESTRO_SERVER_URL", "")
    )
    return _launch_with_protocol(start, folder, arguments, hooks, environment)


def _common_arguments(start: LaunchRequest, folder: Path) -> list[str]:
    """Return the arguments of both drivers, and write the files that they name."""
    (folder / _SYSTEM).write_text(start.system_prompt, encoding="utf-8")
    (folder / _MCP).write_text(json.dumps({"mcpServers": {_SERVER: _mcp_server(start)}}), encoding="utf-8")
    arguments = ["--append-system-prompt-file", str(folder / _SYSTEM), "--mcp-config", str(folder / _MCP)]
    arguments += ["--settings", str(folder / _SETTINGS)]
    arguments += [
        "--allowedTools",
        ",".join([*_MAESTRO_TOOLS, *_READING_TOOLS]),
        *start.levels.permissions[start.permission],
    ]
    model = start.levels.model_for(start.model)
    arguments += ["--model", model] if model else []
    arguments += plugin_arguments(start.skills, start.folder)
    return [*arguments, *(["--resume", start.resumes] if start.resumes else []), *start.arguments]


def _launch_with_protocol(
    start: LaunchRequest,
    folder: Path,
    arguments: list[str],
    hooks: hook_settings.HookGroups,
    environment: Mapping[str, str],
) -> Launch:
    (folder / _SETTINGS).write_text(json.dumps({"hooks": hooks}), encoding="utf-8")
    protocol_flags = ["-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose"]
    protocol_flags += ["--replay-user-messages", "--permission-prompt-tool", "stdio"]
    return Launch(
        arguments=[start.levels.program, *protocol_flags, *arguments],
        environment={"DISABLE_AUTOUPDATER": "1", **environment},
        terminal=False,
        conversation="claude",
        opening={"prompt": start.task_prompt, "directory": start.directory, "allow": _allowed_patterns(start)}
        | {"rest": start.rest},
    )


def _launch_in_terminal(
    start: LaunchRequest,
    folder: Path,
    arguments: list[str],
    hooks: hook_settings.HookGroups,
    environment: Mapping[str, str],
) -> Launch:
    # `crossSessionInbound` accepts messages on the socket. Without it, Claude would ask the person about each
    # message, even in modes without other asks.
    settings = {"hooks": hooks, "crossSessionInbound": "accept"}
    (folder / _SETTINGS).write_text(json.dumps(settings), encoding="utf-8")
    inbox = socket_paths.short_socket_path(Path(environment.get("TMPDIR") or folder) / _INBOX, start.session_id)
    prompt = start.task_prompt
    if len(prompt.encode()) > _ARGUMENT_BYTES_MAX:
        (folder / _PROMPT).write_text(prompt, encoding="utf-8")
        prompt = f"Your task is in {folder / _PROMPT}: read the whole file, then carry out the task."
    return Launch(
        arguments=[start.levels.program, *arguments, "--messaging-socket-path", str(inbox), "--", prompt],
        # A person who starts an agent in a folder trusts the folder. Claude would ask about trust in a terminal that
        # no person watches.
        environment={"DISABLE_AUTOUPDATER": "1", "CLAUDE_CODE_SANDBOXED": "1", **environment},
        inbox={"path": str(inbox), "spelt_by": "maestro.tools.claude.inbox"},
        interrupt=_ESCAPE,
    )


def _mcp_server(start: LaunchRequest) -> dict[str, object]:
    # Claude passes its MCP servers the session's variables, including the token. Without `alwaysLoad` the model would
    # have to search for the tools first.
    program, *arguments = start.mcp_command
    return {"type": "stdio", "command": program, "args": arguments, "alwaysLoad": True}


def _allowed_patterns(start: LaunchRequest) -> list[str]:
    # Claude refuses its own bypass mode to root, and asks at the first start. So Claude asks, and the policy allows.
    return ["*"] if start.permission is Permission.FULL else start.allow
