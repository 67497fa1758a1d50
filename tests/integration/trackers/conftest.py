"""Provide two projects on a live server. One of the projects keeps its issues in Beads."""

from __future__ import annotations

import json
import os
import urllib.request
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from maestro.testing.beads import REAL, BeadsUser, generations, put_on_path
from maestro.testing.live import LiveServer
from maestro.testing.supervised import wait_until

STANDIN = Path(__file__).parents[2] / "standins" / "bd.py"
SETTINGS = "tracker_seconds = 1\ntracker_call_seconds = 60\n"


class Desk:
    """The commands of one session, or of the person, in one checkout."""

    def __init__(self, live: LiveServer, folder: Path, token: str = "") -> None:
        self.live, self.folder = live, folder
        self._env = {"MAESTRO_TOKEN": token} if token else {}

    def json(self, *words: str) -> Any:
        done = self.live.run_command(*words, "--json", cwd=self.folder, env=self._env)
        assert done.returncode == 0, (words, done.stdout.decode(), done.stderr.decode())
        return json.loads(done.stdout)

    def join(self, name: str) -> Desk:
        made = self.json("session", "register", "--name", name)
        return Desk(self.live, self.folder, made["token"])

    def issue(self, ref: str) -> dict[str, Any]:
        shown: dict[str, Any] = self.json("issue", "show", ref)
        return shown

    def bodies(self, ref: str) -> list[str]:
        return [one["body"] for one in self.issue(ref)["comments"]]


class World:
    """The project `vc` opens issues. The project `beads` keeps its issues in its tracker, and alice uses only bd."""

    def __init__(self, live: LiveServer, vc: Path, beads: Path) -> None:
        self.live = live
        self.vc, self.beads = Desk(live, vc), Desk(live, beads)
        self.hand = BeadsUser(beads)

    def status(self) -> dict[str, Any]:
        """Return the status of the tracker. An HTTP request is faster than a command, because tests ask often."""
        asked = urllib.request.Request(f"{self.live.url}/api/tracker?project=beads")
        asked.add_header("Authorization", f"Bearer {self.live.token}")
        with urllib.request.urlopen(asked, timeout=60) as answer:
            found: dict[str, Any] = json.loads(answer.read())
        return found

    def in_step(self) -> dict[str, Any]:
        """Wait until all changes are sent, and the tracker was read after this call began."""
        asked = datetime.now(UTC)  # an earlier round may have missed the latest changes
        self.beads.json("tracker", "sync")

        def settled() -> dict[str, Any] | None:
            now = self.status()
            behind = now["behind_issues"] or now["behind_events"] or now["busy"] or now["problem"]
            read = now["read_at"] and datetime.fromisoformat(now["read_at"]) >= asked
            return now if read and not behind else None

        found: dict[str, Any] = wait_until(settled, what=f"the synchronisation ({self.status()})")
        return found

    def open(self, desk: Desk, title: str = "Crash", message: str = "It crashes.") -> str:
        return str(desk.json("issue", "open", "beads", "--title", title, "--message", message)["ref"])


@pytest.fixture(params=generations())
def generation(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    use(request.param, tmp_path, monkeypatch)
    return str(request.param)


def use(generation: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if generation != REAL:
        program = put_on_path(tmp_path / "bin", STANDIN)
        monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")
        monkeypatch.setenv("STANDIN_BD", generation)


@pytest.fixture
def newest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    use("1.0.5", tmp_path, monkeypatch)
    return "1.0.5"


@pytest.fixture
def make_world(tmp_path: Path, make_repo: Callable[..., Path]) -> Iterator[Callable[..., World]]:
    made: list[LiveServer] = []

    def make(*, is_real: bool = False, settings: str = SETTINGS) -> World:
        home = tmp_path / "live"
        home.mkdir(mode=0o700)
        (home / "config.toml").write_text(settings)
        made.append(LiveServer(home).start())
        world = World(made[0], make_repo("vc"), make_repo("beads", folder="src"))
        world.hand.init(is_real=is_real)
        world.hand.choose_beads()
        world.beads.json("project", "show")
        world.vc.json("project", "show")
        return world

    yield make
    for live in made:
        live.kill()
