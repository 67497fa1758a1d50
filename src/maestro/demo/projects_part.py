"""The fourth part: an agent finds a bug in another project, and agents of both projects debug it in two terminals."""

from __future__ import annotations

import json
import subprocess
import time
from pathlib import Path
from typing import Any

from maestro.demo.agent import print_line, print_title
from maestro.demo.world import DemoWorld, indent_text, maestro_command

SECONDS_MAX = 20
TRACE = "heater.py, line 12: IndexError, when the tank is empty"


class DemoTerminal:
    """The terminal of an agent: the checkout, the token, and the command."""

    def __init__(self, world: DemoWorld, name: str, folder: Path, *, began: float) -> None:
        self._folder, self._environment = folder, dict(world.environment)
        self.name, self._began = name, began
        self.print_line(f"$ maestro session register --name {name}")
        session = self.call_for_json("session", "register", "--name", name)
        self._environment["MAESTRO_TOKEN"] = session["token"]
        if session["unread"]:
            self.print_line(f"  {session['unread']} unread: maestro mail inbox")

    def print_line(self, text: str) -> None:
        print_line(self.name, text, began=self._began)

    def start_command(self, *arguments: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [*maestro_command(), *arguments],
            cwd=self._folder,
            env=self._environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def finish_command(self, running: subprocess.Popen[str]) -> Any:
        out, errors = running.communicate(timeout=SECONDS_MAX)
        if running.returncode:
            raise RuntimeError(f"a command of {self.name} failed ({running.returncode}): {errors}")
        return json.loads(out)

    def call_for_json(self, *arguments: str) -> Any:
        return self.finish_command(self.start_command(*arguments, "--json"))

    def run_shown(self, shown: str, *arguments: str) -> Any:
        """Print and run a command, and return the answer."""
        self.print_line(f"$ maestro {shown}")
        return self.call_for_json(*arguments)

    def read_mail(self, waiting: subprocess.Popen[str]) -> None:
        for message in self.finish_command(waiting)["messages"]:
            sender = message["sender"]
            self.print_line(f"  ◂ {message['type']} from {sender['name']} of {sender['project']}: {message['body']}")


def play_part(world: DemoWorld) -> bool:
    """Play the part. Return whether the task that waits on the other project's issue became ready."""
    print_title("Part four, two projects: an agent of kettle finds a bug in heater, where no agent is online.")
    began = time.time()
    heater = _create_neighbour(world)
    gil = DemoTerminal(world, "gil", world.repository, began=began)
    open_issue = ("issue", "open", "heater", "--title", "Crash on an empty tank", "--message", TRACE)
    issue = gil.run_shown(f'issue open heater --title "Crash on an empty tank" --message "{TRACE}"', *open_issue)[
        "ref"
    ]
    waiting_task = gil.run_shown(
        f'task create "Boil dry" --depends-on {issue}', "task", "create", "Boil dry", "--depends-on", issue
    )
    online = world.call_maestro("agent", "list", "--project", "heater", "--online")
    print_line(
        "you", f"$ maestro agent list --project heater --online  (exit {online.returncode}: no agent)", began=began
    )
    waiting = gil.start_command("mail", "wait", "--timeout", "20s", "--debounce", "0", "--json")

    hana = DemoTerminal(world, "hana", heater, began=began)
    hana.run_shown(f"issue claim {issue}", "issue", "claim", issue)
    query = ("issue", "reply", issue, "--type", "query", "--message", "Which model?")
    hana.run_shown(f'issue reply {issue} --type query --message "Which model?"', *query)
    gil.read_mail(waiting)
    waiting = hana.start_command("mail", "wait", "--timeout", "20s", "--debounce", "0", "--json")
    gil.run_shown(
        f'issue reply {issue} --message "K-2, every time."', "issue", "reply", issue, "--message", "K-2, every time."
    )
    hana.read_mail(waiting)
    hana.run_shown(f'issue close {issue} --message "Fixed."', "issue", "close", issue, "--message", "Fixed.")
    ready = bool(
        world.call_for_json("task", "wait", waiting_task["ref"], "--until", "ready", "--timeout", "10s")["reached"]
    )
    print_line(
        "you",
        f"{waiting_task['ref']} is ready without further action: the issue that it waited on, {issue}, is closed.",
        began=began,
    )
    print(f"  $ maestro issue show {issue}\n{indent_text(world.run_maestro('issue', 'show', issue))}", end="")
    return ready


def _create_neighbour(world: DemoWorld) -> Path:
    """Create a second checkout beside the first. Maestro finds it by its location."""
    folder = world.repository.parent / "heater"
    folder.mkdir()
    for arguments in (["init", "--quiet"], ["remote", "add", "origin", "git@example.org:acme/heater.git"]):
        subprocess.run(["git", *arguments], cwd=folder, check=True, capture_output=True)
    return folder
