"""The fourth part: an agent finds a bug in another project, and agents of both projects debug it in two terminals."""

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
    """The terminal of an agent: the checkout, the token, and the command."""

    def __init__(self, world: World, name: str, folder: Path, *, began: float) -> None:
        self._folder, self._environment = folder, dict(world.environment)
        self.name, self._began = name, began
        self.say(f"$ maestro session register --name {name}")
        session = self.ask("session", "register", "--name", name)
        self._environment["MAESTRO_TOKEN"] = session["token"]
        if session["unread"]:
            self.say(f"  {session['unread']} unread: maestro mail inbox")

    def say(self, text: str) -> None:
        say(self.name, text, began=self._began)

    def begin(self, *arguments: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [*command(), *arguments],
            cwd=self._folder,
            env=self._environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def answer(self, running: subprocess.Popen[str]) -> Any:
        out, errors = running.communicate(timeout=SECONDS_MAX)
        if running.returncode:
            raise RuntimeError(f"a command of {self.name} failed ({running.returncode}): {errors}")
        return json.loads(out)

    def ask(self, *arguments: str) -> Any:
        return self.answer(self.begin(*arguments, "--json"))

    def do(self, shown: str, *arguments: str) -> Any:
        """Print and run a command, and return the answer."""
        self.say(f"$ maestro {shown}")
        return self.ask(*arguments)

    def read(self, waiting: subprocess.Popen[str]) -> None:
        for message in self.answer(waiting)["messages"]:
            sender = message["sender"]
            self.say(f"  ◂ {message['type']} from {sender['name']} of {sender['project']}: {message['body']}")


def act(world: World) -> bool:
    """Play the part. Return whether the task that waits on the other project's issue became ready."""
    title("Part four, two projects: an agent of kettle finds a bug in heater, where no agent is online.")
    began = time.time()
    heater = _create_neighbour(world)
    gil = Terminal(world, "gil", world.repository, began=began)
    open_issue = ("issue", "open", "heater", "--title", "Crash on an empty tank", "--message", TRACE)
    issue = gil.do(f'issue open heater --title "Crash on an empty tank" --message "{TRACE}"', *open_issue)["ref"]
    waiting_task = gil.do(
        f'task create "Boil dry" --depends-on {issue}', "task", "create", "Boil dry", "--depends-on", issue
    )
    online = world.try_maestro("agent", "list", "--project", "heater", "--online")
    say("you", f"$ maestro agent list --project heater --online  (exit {online.returncode}: no agent)", began=began)
    waiting = gil.begin("mail", "wait", "--timeout", "20s", "--debounce", "0", "--json")

    hana = Terminal(world, "hana", heater, began=began)
    hana.do(f"issue claim {issue}", "issue", "claim", issue)
    query = ("issue", "reply", issue, "--type", "query", "--message", "Which model?")
    hana.do(f'issue reply {issue} --type query --message "Which model?"', *query)
    gil.read(waiting)
    waiting = hana.begin("mail", "wait", "--timeout", "20s", "--debounce", "0", "--json")
    gil.do(
        f'issue reply {issue} --message "K-2, every time."', "issue", "reply", issue, "--message", "K-2, every time."
    )
    hana.read(waiting)
    hana.do(f'issue close {issue} --message "Fixed."', "issue", "close", issue, "--message", "Fixed.")
    ready = bool(world.ask("task", "wait", waiting_task["ref"], "--until", "ready", "--timeout", "10s")["reached"])
    say(
        "you",
        f"{waiting_task['ref']} is ready without further action: the issue that it waited on, {issue}, is closed.",
        began=began,
    )
    print(f"  $ maestro issue show {issue}\n{indented(world.maestro('issue', 'show', issue))}", end="")
    return ready


def _create_neighbour(world: World) -> Path:
    """Create a second checkout beside the first. Maestro finds it by its location."""
    folder = world.repository.parent / "heater"
    folder.mkdir()
    for arguments in (["init", "--quiet"], ["remote", "add", "origin", "git@example.org:acme/heater.git"]):
        subprocess.run(["git", *arguments], cwd=folder, check=True, capture_output=True)
    return folder
