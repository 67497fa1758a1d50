"""The fourth part: an agent of one project meets a bug of another, and both of them debug it, in two terminals."""

from __future__ import annotations

import json
import subprocess
import time
from pathlib import Path
from typing import Any

from maestro.demo.agent import say, title
from maestro.demo.world import World, command, indented

SECONDS_MAX = 20
TRACE = "heater.py, line 12: IndexError, when the tank is empty"


class Terminal:
    """One agent's terminal: its checkout, its token, and the command."""

    def __init__(self, world: World, name: str, folder: Path, *, began: float) -> None:
        self._folder, self._environment = folder, dict(world.environment)
        self.name, self._began = name, began
        self.say(f"$ maestro session register --name {name}")
        made = self.ask("session", "register", "--name", name)
        self._environment["MAESTRO_TOKEN"] = made["token"]
        if made["unread"]:
            self.say(f"  {made['unread']} unread: maestro mail inbox")

    def say(self, text: str) -> None:
        say(self.name, text, began=self._began)

    def begin(self, *words: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [*command(), *words],
            cwd=self._folder,
            env=self._environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def answer(self, running: subprocess.Popen[str]) -> Any:
        out, said = running.communicate(timeout=SECONDS_MAX)
        if running.returncode:
            raise RuntimeError(f"a command of {self.name} failed ({running.returncode}): {said}")
        return json.loads(out)

    def ask(self, *words: str) -> Any:
        return self.answer(self.begin(*words, "--json"))

    def do(self, shown: str, *words: str) -> Any:
        """A command as a reader sees it, and its answer."""
        self.say(f"$ maestro {shown}")
        return self.ask(*words)

    def read(self, waiting: subprocess.Popen[str]) -> None:
        for message in self.answer(waiting)["messages"]:
            sender = message["sender"]
            self.say(f"  ◂ {message['type']} from {sender['name']} of {sender['project']}: {message['body']}")


def act(world: World) -> bool:
    """Whether what waited on the other project's issue became ready by itself."""
    title("Last, two projects: kettle meets a bug of heater, where nobody is at home.")
    began = time.time()
    beside = _beside(world)
    gil = Terminal(world, "gil", world.repository, began=began)
    open_issue = ("issue", "open", "heater", "--title", "Crash on an empty tank", "--message", TRACE)
    issue = gil.do(f'issue open heater --title "Crash on an empty tank" --message "{TRACE}"', *open_issue)["ref"]
    own = gil.do(f'task create "Boil dry" --depends-on {issue}', "task", "create", "Boil dry", "--depends-on", issue)
    there = world.try_maestro("agent", "list", "--project", "heater", "--online")
    say("you", f"$ maestro agent list --project heater --online  (exit {there.returncode}: nobody)", began=began)
    waiting = gil.begin("mail", "wait", "--timeout", "20s", "--debounce", "0", "--json")

    hana = Terminal(world, "hana", beside, began=began)
    hana.do(f"issue claim {issue}", "issue", "claim", issue)
    asks = ("issue", "reply", issue, "--type", "query", "--message", "Which model?")
    hana.do(f'issue reply {issue} --type query --message "Which model?"', *asks)
    gil.read(waiting)
    waiting = hana.begin("mail", "wait", "--timeout", "20s", "--debounce", "0", "--json")
    gil.do(
        f'issue reply {issue} --message "K-2, every time."', "issue", "reply", issue, "--message", "K-2, every time."
    )
    hana.read(waiting)
    hana.do(f'issue close {issue} --message "Fixed."', "issue", "close", issue, "--message", "Fixed.")
    ready = bool(world.ask("task", "wait", own["ref"], "--until", "ready", "--timeout", "10s")["reached"])
    say("you", f"{own['ref']} is ready by itself: what it waited on, {issue}, is closed.", began=began)
    print(f"  $ maestro issue show {issue}\n{indented(world.maestro('issue', 'show', issue))}", end="")
    return ready


def _beside(world: World) -> Path:
    """A second checkout of the same owner: it is found by lying there."""
    folder = world.repository.parent / "heater"
    folder.mkdir()
    for words in (["init", "--quiet"], ["remote", "add", "origin", "git@example.org:acme/heater.git"]):
        subprocess.run(["git", *words], cwd=folder, check=True, capture_output=True)
    return folder
