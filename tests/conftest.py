"""Fixtures and settings of all tests."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import pytest

from maestro.domain.callers import Caller, person_caller
from maestro.operations import projects as project_ops
from maestro.operations import sessions as session_ops
from maestro.server.app import Server
from maestro.testing import rounds
from maestro.testing.clock import FakeClock
from maestro.testing.live import LiveServer

LONG_RUN_SECONDS_MAX = 6 * 3600


def pytest_configure() -> None:
    """Let SIGINT interrupt again: a shell starts background jobs with SIGINT ignored, and processes inherit this."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Raise the time limits of round tests in a long run: the limits in the tests fit `make test-slow`."""
    for item in items:
        if rounds.is_long_run() and item.get_closest_marker("rounds"):
            item.add_marker(pytest.mark.timeout(LONG_RUN_SECONDS_MAX), append=False)


@pytest.fixture(autouse=True)
def own_world(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Hide the Maestro, the git settings and the home of the machine from each test."""
    for name in ("MAESTRO_TOKEN", "MAESTRO_SESSION_ID", "MAESTRO_SOCKET", "MAESTRO_SERVER_URL", "MAESTRO_HOME"):
        monkeypatch.delenv(name, raising=False)
    home = tmp_path_factory.mktemp("home")
    (home / ".gitconfig").write_text(
        "[user]\n\tname = Test\n\temail = test@example.org\n[init]\n\tdefaultBranch = main\n"
    )
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(home / ".gitconfig"))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
async def server(tmp_path: Path, clock: FakeClock) -> AsyncIterator[Server]:
    """Yield a complete server in this process, without listeners, with a clock that the test sets."""
    home = tmp_path / "data"
    home.mkdir(mode=0o700)
    server = Server(home, clock=clock)
    yield server
    await server.close()


@pytest.fixture
def dana() -> Caller:
    """Return the person as a caller."""
    return person_caller("dana")


@pytest.fixture
def make_repo(tmp_path: Path) -> Callable[..., Path]:
    """Return a function that makes a git repository with a remote."""

    def make(
        name: str = "vc", *, folder: str = "src/dave", remote: str | None = "git@github.com:acme/{name}.git"
    ) -> Path:
        path = tmp_path / folder / name
        path.mkdir(parents=True)
        subprocess.run(["git", "init", "-q", str(path)], check=True)
        if remote:
            url = remote.format(name=name)
            subprocess.run(["git", "-C", str(path), "remote", "add", "origin", url], check=True)
        return path

    return make


@pytest.fixture
async def vc(server: Server, dana: Caller, make_repo: Callable[..., Path]) -> str:
    """Register the project `vc` and return its id."""
    path = str(make_repo("vc"))
    place = await server.call(project_ops.LOCATE, project_ops.LocateProject(path=path), caller=dana)
    assert isinstance(place, project_ops.ProjectLocation)
    return place.project.id


@pytest.fixture
def join(server: Server, dana: Caller, vc: str) -> Callable[..., object]:
    """Return a function that registers a session and returns the session's caller."""

    async def register(name: str, *, mode: str = "execute", project: str = "") -> Caller:
        request = session_ops.RegisterSession(project=project or vc, name=name, mode=session_ops.SessionMode(mode))
        registered = await server.call(session_ops.REGISTER, request, caller=dana)
        return await server.identify(token=registered.token, peer=None)

    return register


@pytest.fixture
def live(tmp_path: Path) -> Iterator[LiveServer]:
    """Yield a server in a process of its own."""
    with LiveServer(tmp_path / "live") as running:
        yield running
