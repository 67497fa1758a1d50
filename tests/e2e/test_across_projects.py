"""Two agents of two projects debug together, as two people's terminals would show it; everything is killed once."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from maestro.testing.live import LiveServer

pytestmark = pytest.mark.slow

AGENTS = Path(__file__).parent / "agents"
TRACE = "Traceback (most recent call last):\n  parser.py, line 12\nIndexError: nothing there"
REPRO = bytes(range(256)) * 200
SECONDS_MAX = 60


class World:
    """Two checkouts, one server, and agents that are only processes."""

    def __init__(self, live: LiveServer, vc: Path, beads: Path) -> None:
        self.live, self.vc, self.beads = live, vc, beads
        self.agents: list[subprocess.Popen[bytes]] = []

    def ask(self, folder: Path, *words: str) -> Any:
        """The person, in a checkout."""
        done = self.live.run_command(*words, "--json", cwd=folder)
        assert done.returncode == 0, done.stderr.decode()
        return json.loads(done.stdout)

    def start(self, name: str, folder: Path, *words: str) -> subprocess.Popen[bytes]:
        program = [sys.executable, str(AGENTS / f"{name}.py"), *words]
        started = self.live.start_command(program=program, cwd=folder)
        self.agents.append(started)
        return started

    def heard(self, folder: Path, kind: str) -> None:
        """Returns once something has happened in a checkout's project."""
        follow = self.live.start_command("events", "--follow", "--since", "0", "--kind", kind, "--json", cwd=folder)
        assert follow.stdout is not None
        last = threading.Timer(SECONDS_MAX, follow.kill)
        last.start()
        found = follow.stdout.readline()
        last.cancel()
        follow.kill()
        follow.communicate()
        assert found, f"no {kind}"

    def ends(self, agent: subprocess.Popen[bytes]) -> None:
        _, said = agent.communicate(timeout=SECONDS_MAX)
        assert agent.returncode == 0, said.decode()


@pytest.fixture
def world(live: LiveServer, make_repo: Callable[..., Path]) -> Iterator[World]:
    made = World(live, make_repo("vc", folder="src/dave"), make_repo("beads", folder="src"))
    yield made
    for agent in made.agents:
        if agent.poll() is None:
            agent.kill()
        agent.communicate()


def told(world: World, folder: Path, project: str) -> list[str]:
    """What happened to issues, as a project's own log says."""
    done = world.live.run_command(
        "events", "--since", "0", "--project", project, "--limit", "500", "--json", cwd=folder
    )
    kinds = [json.loads(line)["kind"] for line in done.stdout.splitlines()]
    return [kind for kind in kinds if kind.startswith("issue.")]


def test_an_issue_from_its_discovery_to_its_end(world: World) -> None:
    (world.vc / "trace.txt").write_text(TRACE)
    (world.vc / "repro.bin").write_bytes(REPRO)
    world.ask(world.vc, "task", "create", "Import the issues")

    finder = world.start("finder", world.vc)
    world.heard(world.vc, "issue.opened")
    world.heard(world.vc, "task.dependency_added")
    nobody = world.live.run_command("agent", "list", "--project", "beads", "--online", cwd=world.vc)
    assert nobody.returncode == 1, nobody.stdout
    assert world.live.run_command("task", "start", "#2", cwd=world.vc).returncode == 5  # it waits on beads#1

    world.live.kill()
    world.live.start()
    keeper = world.start("keeper", world.beads, "--dies")
    world.heard(world.vc, "issue.claimed")
    (there,) = world.ask(world.vc, "agent", "list", "--project", "beads", "--online")["agents"]
    assert (there["address"], [one["ref"] for one in there["works_on"]]) == ("main/beads", ["beads#1"])
    for agent in (keeper, finder):
        agent.kill()
    for folder in (world.vc, world.beads):
        world.heard(folder, "session.lost")

    second = (world.start("finder", world.vc), world.start("keeper", world.beads))
    for agent in second:
        world.ends(agent)
    waited = world.live.run_command("task", "wait", "#2", "--until", "ready", "--timeout", "30s", cwd=world.vc)
    assert waited.returncode == 0, waited.stderr
    world.live.stop()
    world.live.start()
    _check_the_story(world)


def _check_the_story(world: World) -> None:
    """What a person can read later, from either side."""
    for folder, project in ((world.vc, "vc"), (world.beads, "beads")):
        issue = world.ask(folder, "issue", "show", "beads#1")
        assert issue["status"] == "completed" and issue["from_project"] == "vc"
        assert issue["origin"]["ref"] == "vc#1" and [one["ref"] for one in issue["dependants"]] == ["vc#2"]
        said = [(one["sender"]["address"], one["sender"]["project"], one["body"]) for one in issue["comments"]]
        assert said == [
            ("dave/vc", "vc", TRACE),
            ("main/beads", "beads", "Which version?"),
            ("dave/vc", "vc", "1.3, and it happens every time."),
            ("main/beads", "beads", "Fixed: an empty file is no file."),
        ]
        assert all(one["status"] in ("read", "acknowledged") for one in issue["comments"][3]["deliveries"])
        assert told(world, folder, project) == [
            "issue.opened", "issue.claimed", "issue.claimed", "issue.commented", "issue.commented", "issue.closed",
        ]  # fmt: skip
    assert (world.vc / "verified.txt").read_text() == "Fixed: an empty file is no file."
    assert (world.beads / "repro.bin").read_bytes() == REPRO
    assert {file.read_text() for file in world.beads.glob("unread-*.txt")} == {"1"}
    (mine,) = world.ask(world.vc, "issue", "list", "--opened", "--status", "closed")["issues"]
    assert (mine["ref"], mine["opener"]) == ("beads#1", "dave/vc")
    agents = world.ask(world.vc, "agent", "list", "--everywhere")["agents"]
    assert {one["presence"] for one in agents} <= {"online", "away", "offline"}
