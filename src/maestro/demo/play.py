"""Run the demonstration. Part one: a graph of tasks and three agents, one of which is killed.

Part two, mail between a coordinator and its workers, is in `mail_part`; part three, runs, in `runs_part`; part four,
two projects, in `projects_part`.
"""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from maestro.demo import mail_part, projects_part, runs_part
from maestro.demo.view import TaskBoard
from maestro.demo.world import DemoWorld, indent_text, maestro_command

SECONDS_MAX = 90.0
AGENTS = ("ada", "ben", "cleo")
# Title of a task, and the titles of its dependencies.
GRAPH = (
    ("Read the sensor's data sheet", ()),
    ("Draw the state machine", ()),
    ("Write the sensor driver", ("Read the sensor's data sheet",)),
    ("Write the heater driver", ("Read the sensor's data sheet",)),
    ("Write the controller", ("Draw the state machine", "Write the sensor driver", "Write the heater driver")),
    ("Test the controller", ("Write the controller",)),
    ("Write the manual", ("Draw the state machine",)),
    ("Package the firmware", ("Test the controller", "Write the manual")),
)
DOOMED = "Write the heater driver"


def main(arguments: list[str] | None = None) -> int:
    """Run the whole demonstration. Return 0 if every part was completed."""
    began = time.monotonic()
    print("Maestro. Part one: a graph of tasks, and three agents as real processes that work on it.\n")
    with DemoWorld() as world:
        refs, parent = create_tasks(world)
        show_refusals(world, refs)
        finished = run_agents(world, refs, parent)
        show_end(world, parent)
        finished = (
            finished and mail_part.play_part(world) and runs_part.play_part(world) and projects_part.play_part(world)
        )
    outcome = "Done" if finished else "NOT FINISHED"
    print(f"\n{outcome} in {time.monotonic() - began:.0f} s. All its data is removed.")
    print('Next: `maestro init` in your repository, `maestro task create "…"`, and `maestro help` for all commands.')
    return 0 if finished else 1


def create_tasks(world: DemoWorld) -> tuple[dict[str, str], str]:
    """Create the project and its tasks. Return the reference of each title, and the parent's reference."""
    location = world.call_for_json("init")
    project, address = location["project"], location["workspace"]["address"]
    print(f"$ maestro init\n  project {project['name']} ({project['key']}), you are {address}\n")
    parent = world.call_for_json("task", "create", "Ship the kettle firmware")["ref"]
    refs: dict[str, str] = {}
    for title, waits_on in GRAPH:
        depends = ["--depends-on", ",".join(refs[other] for other in waits_on)] if waits_on else []
        refs[title] = world.call_for_json("task", "create", title, "--parent", parent, *depends)["ref"]
    print("$ maestro task tree")
    print(indent_text(world.run_maestro("task", "tree")))
    return refs, parent


def show_refusals(world: DemoWorld, refs: dict[str, str]) -> None:
    """Show two commands that the server refuses, with the server's explanations."""
    last, first = refs["Package the firmware"], refs["Read the sensor's data sheet"]
    for arguments in (("task", "start", last), ("task", "depend", first, "--on", last)):
        refused = world.call_maestro(*arguments)
        print(f"$ maestro {' '.join(arguments)}\n{indent_text(refused.stderr)}  (exit {refused.returncode})\n")


def run_agents(world: DemoWorld, refs: dict[str, str], parent: str) -> bool:
    """Run three agent processes that claim and complete tasks, and follow the log."""
    sessions = {name: world.call_for_json("session", "register", "--name", name) for name in AGENTS}
    names = {session["id"]: name for name, session in sessions.items()}
    tasks = world.call_for_json("task", "children", parent)["tasks"]
    depends_on = {refs[title]: [refs[other] for other in waits_on] for title, waits_on in GRAPH}
    view = TaskBoard(tasks, depends_on, names)
    print(f"Three agents start: {', '.join(AGENTS)}. One of them will be killed in the middle of its work.\n")
    with ExitStack() as running:
        events = running.enter_context(world.followed_events(seconds_max=SECONDS_MAX))
        agents = {name: running.enter_context(start_agent(world, name, sessions[name], parent)) for name in AGENTS}
        view.draw_board()
        return watch_events(view, events, agents, refs[DOOMED], names)


def watch_events(
    view: TaskBoard,
    events: Iterator[dict[str, Any]],
    agents: dict[str, subprocess.Popen[bytes]],
    doomed: str,
    names: dict[str, str],
) -> bool:
    """Follow the log until all tasks are completed. Kill the agent that starts the doomed task."""
    for event in events:
        view.apply_event(event)
        if event["kind"] == "task.started" and event["data"]["ref"] == doomed and event["data"]["fence"] == 1:
            holder = names[event["data"]["holder"]]
            agents[holder].send_signal(signal.SIGKILL)
            view.print_news(f"{holder} was killed (SIGKILL) while it held {doomed}; its lease runs on for 5 s")
        if view.is_done():
            return True
    return False


@contextmanager
def start_agent(
    world: DemoWorld, name: str, session: dict[str, Any], parent: str
) -> Iterator[subprocess.Popen[bytes]]:
    """Start the process of an agent with a session's token, and end the process afterwards."""
    process = subprocess.Popen(
        [sys.executable, "-m", "maestro.demo.tasks_worker", name, DOOMED, parent, *maestro_command()],
        cwd=world.repository,
        env=world.environment | {"MAESTRO_TOKEN": session["token"]},
        stdin=subprocess.DEVNULL,
    )
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def show_end(world: DemoWorld, parent: str) -> None:
    task = world.call_for_json("task", "show", parent)
    print(f"\n{task['ref']} {task['status']}: a parent task completes when its children are completed.")
    written = len(list(world.repository.glob("*.txt")))
    print(f"{written} files were written, one for each task, none twice.")
    events = world.call_for_json("status")["events"]
    print(f"The log has {events} events, each written in the same transaction as its change.")
