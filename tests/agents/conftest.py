"""Fixtures: the real programs, a scripted model, and a server with a project."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from agent_programs import installed
from agent_programs.base import Program, Room
from agent_programs.claude import Claude
from agent_programs.codex import Codex
from agent_programs.gemini import Gemini
from agent_programs.stage import WAYS, Stage, Way, stage
from scripted_model import ScriptedModel

from maestro.system import stray_processes
from maestro.testing.live import LiveServer

PROGRAMS: dict[str, Program] = {
    "claude": Claude(),
    "codex": Codex(),
    "codex-code": Codex("gpt-6.1-sol"),
    "gemini": Gemini(),
}


@pytest.fixture
def model() -> Iterator[ScriptedModel]:
    with ScriptedModel() as running:
        yield running
    assert running.unknown == [], "a program sent a request that the scripted model does not know"


@pytest.fixture(params=PROGRAMS)
def program(request: pytest.FixtureRequest) -> Program:
    if not installed.FOLDER.is_dir():
        pytest.skip("the programs are not installed: make test-agents")
    return PROGRAMS[request.param]


@pytest.fixture(params=WAYS, ids="-".join)
def way(request: pytest.FixtureRequest) -> Way:
    """Return the tool and its driver. A file with tests for only some tools has its own fixture."""
    found: Way = request.param
    return found


@pytest.fixture
def on(way: Way, tmp_path: Path, model: ScriptedModel) -> Iterator[Stage]:
    if not installed.FOLDER.is_dir():
        pytest.skip("the programs are not installed: make test-agents")
    tool, driver = way
    with stage(tool, tmp_path, model, driver=driver) as made:
        yield made


@pytest.fixture
def room(tmp_path: Path) -> Iterator[Room]:
    """Yield the folders of a program. Afterwards kill the daemon that codex starts in a terminal."""
    home, work = tmp_path / "agent", tmp_path / "vc"
    home.mkdir()
    work.mkdir()
    yield Room(home, work)
    stray_processes.kill_marked("HOME", str(home))


@pytest.fixture
def api(live: LiveServer, room: Room) -> Iterator[httpx.Client]:
    """Yield an HTTP client of the person, with a project in the program's working folder."""
    headers = {"Authorization": f"Bearer {live.token}"}
    with httpx.Client(base_url=live.url, headers=headers, timeout=60) as made:
        assert made.post("/api/projects", json={"path": str(room.work), "name": "vc"}).status_code == 200
        yield made
