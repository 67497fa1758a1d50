"""Claude Code: how it is started. What is the session's own comes in flags and files of its folder; the user's login,
settings, hooks, MCP servers and CLAUDE.md apply as they do without Maestro.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from maestro.domain.manifests import Reach
from maestro.domain.members import Permission
from maestro.domain.talks import Driver, Teller
from maestro.tools import levels, skills, sockets
from maestro.tools.base import Abilities, Launch, Start
from maestro.tools.hooks import wiring

_SYSTEM, _MCP, _SETTINGS = "claude-system-prompt.md", "claude-mcp.json", "claude-settings.json"
_INBOX, _PROMPT = "in.sock", "claude-prompt.md"
_WORD_BYTES_MAX = 100_000  # of one word of a command line; the system takes little more
_ESCAPE = "\x1b"
_SERVER = "maestro"
# Maestro's own commands and tools are never asked for: what a session may do there, the server decides.
_ALWAYS = (f"mcp__{_SERVER}", "Bash(maestro:*)")
_READING = ("Read", "Glob", "Grep")


class Claude:
    """`claude -p`, fed with stream-json and kept running; or the program in a terminal, with an inbox beside it."""

    name = "claude"
    aliases: tuple[str, ...] = ("claude-code",)
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
        reach=Reach.COMMANDS,
        drivers={Driver.PROTOCOL: Teller.RUNNER, Driver.TERMINAL: Teller.HOOKS},
    )

    def launch(self, start: Start, environment: Mapping[str, str]) -> Launch:
        chosen = levels.of(self.name, start.home)
        folder = Path(start.folder)
        words = _words(start, chosen, folder)
        if start.driver is Driver.TERMINAL:
            hooks = wiring.in_terminal(self.name, start.hook)
            return _in_terminal(start, folder, chosen.program, words, hooks, environment)
        hooks = wiring.beside_protocol(self.name, start.hook, url=environment.get("MAESTRO_SERVER_URL", ""))
        return _by_protocol(start, folder, chosen.program, words, hooks, environment)

    def prompt(self, text: str) -> bytes | None:
        return None

    def reach(self, permission: Permission) -> Reach:
        return self.abilities.reach


def _words(start: Start, chosen: levels.Levels, folder: Path) -> list[str]:
    """What both drivers are started with, and the files that it names."""
    (folder / _SYSTEM).write_text(start.system_prompt, encoding="utf-8")
    (folder / _MCP).write_text(json.dumps({"mcpServers": {_SERVER: _server(start)}}), encoding="utf-8")
    words = ["--append-system-prompt-file", str(folder / _SYSTEM), "--mcp-config", str(folder / _MCP)]
    words += ["--settings", str(folder / _SETTINGS)]
    words += ["--allowedTools", ",".join([*_ALWAYS, *_READING]), *chosen.permissions[start.permission]]
    model = chosen.model_for(start.model)
    words += ["--model", model] if model else []
    words += skills.as_plugin(start.skills, start.folder)
    return [*words, *(["--resume", start.resumes] if start.resumes else []), *start.words]


def _by_protocol(
    start: Start, folder: Path, program: str, words: list[str], hooks: wiring.Groups, environment: Mapping[str, str]
) -> Launch:
    (folder / _SETTINGS).write_text(json.dumps({"hooks": hooks}), encoding="utf-8")
    spoken = ["-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose"]
    spoken += ["--replay-user-messages", "--permission-prompt-tool", "stdio"]
    return Launch(
        words=[program, *spoken, *words],
        environment={"DISABLE_AUTOUPDATER": "1", **environment},
        terminal=False,
        conversation="claude",
        opening={"prompt": start.task_prompt, "directory": start.directory, "allow": _allowed(start)}
        | {"rest": start.rest},
    )


def _in_terminal(
    start: Start, folder: Path, program: str, words: list[str], hooks: wiring.Groups, environment: Mapping[str, str]
) -> Launch:
    # What Maestro puts into its inbox is for it: without that word it would ask the person about each message, in the
    # modes that ask about nothing else.
    settings = {"hooks": hooks, "crossSessionInbound": "accept"}
    (folder / _SETTINGS).write_text(json.dumps(settings), encoding="utf-8")
    inbox = sockets.short(Path(environment.get("TMPDIR") or folder) / _INBOX, start.session_id)
    prompt = start.task_prompt
    if len(prompt.encode()) > _WORD_BYTES_MAX:
        (folder / _PROMPT).write_text(prompt, encoding="utf-8")
        prompt = f"Your task is in {folder / _PROMPT}: read all of it, then carry it out."
    return Launch(
        words=[program, *words, "--messaging-socket-path", str(inbox), "--", prompt],
        # The person who starts an agent in a folder trusts that folder; the question would come to a terminal at
        # which nobody sits.
        environment={"DISABLE_AUTOUPDATER": "1", "CLAUDE_CODE_SANDBOXED": "1", **environment},
        inbox={"path": str(inbox), "spelt_by": "maestro.tools.claude.inbox"},
        interrupt=_ESCAPE,
    )


def _server(start: Start) -> dict[str, object]:
    # It hands its MCP servers the session's own variables, token and all. Without the last word the model would have
    # to search for the tools before it sees them.
    program, *words = start.mcp
    return {"type": "stdio", "command": program, "args": words, "alwaysLoad": True}


def _allowed(start: Start) -> list[str]:
    # Its own mode for that is refused to root, and asks at its first start: so it asks, and is answered at once.
    return ["*"] if start.permission is Permission.FULL else start.allow
