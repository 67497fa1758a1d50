"""Gemini CLI: how it is started. What is the session's own is said over its protocol, or stands in a home of its own,
which is the user's but for our part of the settings: their login, MCP servers and GEMINI.md apply as they do without
Maestro.

It has no way to add to its system prompt, only one to replace all of it, tool instructions and safety with it. So
ours stands in front of the first prompt.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

from maestro.domain.manifests import Reach
from maestro.domain.members import Permission
from maestro.domain.talks import Driver, Teller
from maestro.tools import levels
from maestro.tools.base import Abilities, Launch, Start
from maestro.tools.gemini import home
from maestro.tools.gemini.waiting import Waiter, pipe
from maestro.tools.hooks import wiring

_PASSED = ("MAESTRO_TOKEN", "MAESTRO_SESSION_ID", "MAESTRO_SOCKET", "MAESTRO_SERVER_URL", "PATH")
_HOME, _LONG = "gemini-home", "gemini-prompt"
_WORD_BYTES_MAX = 100_000  # of one word of a command line; the system takes little more
_ESCAPE = "\x1b"


class Gemini:
    """`gemini --acp`, with one session; or the program in a terminal, whose model waits for mail itself."""

    name = "gemini"
    aliases: tuple[str, ...] = ("gemini-cli",)
    waiter = Waiter()
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
        drivers={Driver.PROTOCOL: Teller.RUNNER, Driver.TERMINAL: Teller.HOOKS},
        deaf_at_work=(Driver.PROTOCOL,),  # its hooks around tools do not fire there
    )

    def launch(self, start: Start, environment: Mapping[str, str]) -> Launch:
        chosen = levels.of(self.name, start.home)
        # The person who starts an agent in a folder trusts that folder; the question would come to a terminal at
        # which nobody sits.
        environment = {**environment, "GEMINI_CLI_TRUST_WORKSPACE": "true"}
        if start.driver is Driver.TERMINAL:
            return self._in_terminal(start, chosen, environment)
        return self._by_protocol(start, chosen, environment)

    def _by_protocol(self, start: Start, chosen: levels.Levels, environment: dict[str, str]) -> Launch:
        (mode,) = chosen.permissions[start.permission]
        model = chosen.model_for(start.model)
        passed = [{"name": name, "value": environment[name]} for name in _PASSED if environment.get(name)]
        server = {"name": "maestro", "command": start.mcp[0], "args": start.mcp[1:], "env": passed}
        words = [chosen.program, "--acp", *(["-m", model] if model else []), *start.words]
        return Launch(
            words=words,
            environment=environment,
            terminal=False,
            conversation=self.name,
            wait_seconds=_until_it_can_be_resumed(start.resumes, environment) if start.resumes else 0.0,
            opening={
                "prompt": start.task_prompt if start.resumes else f"{start.system_prompt}\n\n{start.task_prompt}",
                "directory": start.directory,
                "resumes": start.resumes,
                "settings": {"mcpServers": [server], "mode": mode},
                "allow": ["*"] if start.permission is Permission.FULL else [*start.allow, *OURS],
                "rest": start.rest,
            },
        )

    def _in_terminal(self, start: Start, chosen: levels.Levels, environment: dict[str, str]) -> Launch:
        folder, own = Path(start.folder), home.theirs(environment)
        # It has no hook by which it asks, and a dialog could be answered by keys that were meant for something else.
        # So it is told to ask nobody, and each of its tools goes through the hook before it.
        is_full = start.permission is Permission.FULL
        asks_nobody = home.may_leave_asking_to_us(own, start.directory, environment)
        hooks = wiring.in_terminal(self.name, start.hook, gates=not is_full)
        home.lay(folder / _HOME, own, home.settings(own, hooks, start.mcp))
        environment = {**environment, "GEMINI_CLI_HOME": str(folder / _HOME)}
        model = chosen.model_for(start.model)
        words = [chosen.program, "--approval-mode", "yolo" if asks_nobody else "default"]
        words += ["-m", model] if model else []
        words += ["--resume", start.resumes] if start.resumes else []
        words += [*start.words, *_prompt(start, self.waiter.told(start.folder), folder)]
        return Launch(
            words=words,
            environment=environment,
            wait_seconds=_until_it_can_be_resumed(start.resumes, environment) if start.resumes else 0.0,
            inbox={"kind": "pipe", "path": pipe(start.folder)},
            interrupt=_ESCAPE,
        )

    def prompt(self, text: str) -> bytes | None:
        return None

    def reach(self, permission: Permission) -> Reach:
        return self.abilities.reach


def _prompt(start: Start, waiting: str, folder: Path) -> list[str]:
    said = [waiting, start.task_prompt] if start.resumes else [start.system_prompt, waiting, start.task_prompt]
    prompt = "\n\n".join(said)
    if len(prompt.encode()) <= _WORD_BYTES_MAX:
        return ["-i", prompt]
    file = folder / _LONG / "prompt.md"  # alone in its folder, for it reads no files but those of its workspace
    file.parent.mkdir(exist_ok=True)
    file.write_text(prompt, encoding="utf-8")
    told = f"What you are to know and to do is in {file}: read all of it, then carry it out."
    return ["--include-directories", str(file.parent), "-i", told]


def _until_it_can_be_resumed(conversation: str, environment: Mapping[str, str]) -> float:
    """It keeps a conversation in a file that is named after it and the minute, and begins that anew before it looks
    for what it is to resume: within the same minute it would find nothing."""
    now = datetime.now(UTC)
    home = Path(environment.get("GEMINI_CLI_HOME") or environment.get("HOME") or "~").expanduser()
    taken = f"*/chats/session-{now:%Y-%m-%dT%H-%M}-{conversation[:8]}.json*"
    return 60.0 - now.second if any((home / ".gemini" / "tmp").glob(taken)) else 0.0


# What a session may do at Maestro, the server decides.
OURS = ("shell:maestro *", "tool:mcp_maestro_*")
