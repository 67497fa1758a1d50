"""The launch of Gemini CLI. Session settings go over Gemini's protocol, or into a home folder of the session.
The home folder links to the user's files and has its own settings. The user's login, MCP servers and GEMINI.md apply
as without Maestro.

Gemini can only replace its whole system prompt, including tool and safety instructions, not add to it. So Maestro's
system prompt stands before the first prompt.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

from maestro.domain.conversations import DriverKind
from maestro.domain.members import Permission
from maestro.tools import hook_settings
from maestro.tools.base import Launch, LaunchRequest
from maestro.tools.gemini import home
from maestro.tools.gemini.actions import MAESTRO_SERVER
from maestro.tools.gemini.hooks import DIALECT
from maestro.tools.gemini.waiting import MODEL_WAIT, pipe_path

_MCP_VARIABLES = ("MAESTRO_TOKEN", "MAESTRO_SESSION_ID", "MAESTRO_SOCKET", "MAESTRO_SERVER_URL", "PATH")
_HOME, _PROMPT_FOLDER = "gemini-home", "gemini-prompt"
_ARGUMENT_BYTES_MAX = 100_000  # of one argument; the operating system takes little more
_ESCAPE = "\x1b"


def prepare_launch(start: LaunchRequest, environment: Mapping[str, str]) -> Launch:
    """Return the launch of `gemini --acp` with one session; or of `gemini` in a terminal, whose model waits for mail
    itself."""
    # A person who starts an agent in a folder trusts the folder. Gemini would ask about trust in a terminal that
    # no person watches.
    environment = {**environment, "GEMINI_CLI_TRUST_WORKSPACE": "true"}
    if start.driver is DriverKind.TERMINAL:
        return _launch_in_terminal(start, environment)
    return _launch_with_protocol(start, environment)


def _launch_with_protocol(start: LaunchRequest, environment: dict[str, str]) -> Launch:
    (mode,) = start.levels.permissions[start.permission]
    model = start.levels.model_for(start.model)
    variables = [{"name": name, "value": environment[name]} for name in _MCP_VARIABLES if environment.get(name)]
    server = {
        "name": MAESTRO_SERVER,
        "command": start.mcp_command[0],
        "args": start.mcp_command[1:],
        "env": variables,
    }
    arguments = [start.levels.program, "--acp", *(["-m", model] if model else []), *start.arguments]
    return Launch(
        arguments=arguments,
        environment=environment,
        terminal=False,
        conversation=DIALECT.tool,
        wait_seconds=_seconds_until_resumable(start.resumes, environment) if start.resumes else 0.0,
        opening={
            "prompt": start.task_prompt if start.resumes else f"{start.system_prompt}\n\n{start.task_prompt}",
            "directory": start.directory,
            "resumes": start.resumes,
            "settings": {"mcpServers": [server], "mode": mode},
            "allow": ["*"] if start.permission is Permission.FULL else [*start.allow, *MAESTRO_PATTERNS],
            "rest": start.rest,
        },
    )


def _launch_in_terminal(start: LaunchRequest, environment: dict[str, str]) -> Launch:
    folder, own = Path(start.folder), home.find_settings_folder(environment)
    # Gemini has no hook for permission requests, and keys meant for another purpose could answer a dialog.
    # So Gemini runs without dialogs, and Maestro's hook before each tool call decides.
    is_full = start.permission is Permission.FULL
    has_no_dialogs = home.may_run_without_dialogs(own, start.directory, environment)
    hooks = hook_settings.hooks_in_terminal(DIALECT, start.hook_command, gates=not is_full)
    home.create_home(folder / _HOME, own, home.merge_settings(own, hooks, start.mcp_command))
    environment = {**environment, "GEMINI_CLI_HOME": str(folder / _HOME)}
    model = start.levels.model_for(start.model)
    arguments = [start.levels.program, "--approval-mode", "yolo" if has_no_dialogs else "default"]
    arguments += ["-m", model] if model else []
    arguments += ["--resume", start.resumes] if start.resumes else []
    arguments += [*start.arguments, *_prompt_arguments(start, MODEL_WAIT.instructions(start.folder), folder)]
    return Launch(
        arguments=arguments,
        environment=environment,
        wait_seconds=_seconds_until_resumable(start.resumes, environment) if start.resumes else 0.0,
        inbox={"kind": "pipe", "path": pipe_path(start.folder)},
        interrupt=_ESCAPE,
    )


def _prompt_arguments(start: LaunchRequest, waiting: str, folder: Path) -> list[str]:
    parts = [waiting, start.task_prompt] if start.resumes else [start.system_prompt, waiting, start.task_prompt]
    prompt = "\n\n".join(parts)
    if len(prompt.encode()) <= _ARGUMENT_BYTES_MAX:
        return ["-i", prompt]
    # The file is alone in a folder: Gemini reads only files of the workspace, to which the folder is added.
    file = folder / _PROMPT_FOLDER / "prompt.md"
    file.parent.mkdir(exist_ok=True)
    file.write_text(prompt, encoding="utf-8")
    instruction = f"Your instructions and your task are in {file}: read the whole file, then carry out the task."
    return ["--include-directories", str(file.parent), "-i", instruction]


def _seconds_until_resumable(conversation: str, environment: Mapping[str, str]) -> float:
    """Return how many seconds to wait before Gemini can resume a conversation.

    Gemini names the record file after the conversation and the minute, and creates the file before it searches for
    the conversation. A resume within the same minute would overwrite the record and find no conversation."""
    now = datetime.now(UTC)
    records = home.find_settings_folder(environment) / "tmp"
    pattern = f"*/chats/session-{now:%Y-%m-%dT%H-%M}-{conversation[:8]}.json*"
    return 60.0 - now.second if any(records.glob(pattern)) else 0.0


# Maestro's own commands and tools need no ask: the Maestro server decides about each call.
MAESTRO_PATTERNS = ("shell:maestro *", f"tool:mcp_{MAESTRO_SERVER}_*")
