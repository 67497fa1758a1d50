"""A client uses a server on another machine through the interface of a local server."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from maestro.client.remote.app import RemoteApp
from maestro.client.remote.http import HttpApi
from maestro.core import errors
from maestro.domain.callers import Caller
from maestro.operations import projects, server, sessions, tasks
from maestro.testing.live import LiveServer


@pytest.fixture
def repo(live: LiveServer, make_repo: Callable[..., Path]) -> Path:
    """Return a checkout whose project the server knows."""
    path = make_repo("vc")
    assert live.run_command("init", cwd=path).returncode == 0
    return path


@pytest.fixture
def app(live: LiveServer, repo: Path) -> RemoteApp:
    return RemoteApp(HttpApi(live.url, live.token))


@pytest.fixture
async def person(app: RemoteApp) -> Caller:
    return await app.identify(token="", peer=None)


async def test_the_token_names_the_person_or_a_session(app: RemoteApp, live: LiveServer, person: Caller) -> None:
    assert person.session_id is None and person.project_id is None
    request = sessions.RegisterSession(project="vc", name="ada")
    made = await app.call(sessions.REGISTER, request, caller=person)
    session = await RemoteApp(HttpApi(live.url, made.token)).identify(token="", peer=None)
    assert session.session_id == made.id and session.project_id is not None


async def test_operations_on_the_disk_of_the_server_are_refused(app: RemoteApp, person: Caller, repo: Path) -> None:
    with pytest.raises(errors.Invalid, match="own disk"):
        await app.call(projects.INIT, projects.InitProject(path=str(repo)), caller=person)


async def test_a_local_checkout_is_located_by_its_remote(app: RemoteApp, person: Caller, repo: Path) -> None:
    found = await app.call(projects.LOCATE, projects.LocateProject(path=str(repo)), caller=person)
    assert found.project.name == "vc" and found.workspace.id == ""


async def test_a_directory_outside_a_checkout_needs_the_name_of_a_project(
    app: RemoteApp, person: Caller, tmp_path: Path
) -> None:
    with pytest.raises(errors.NotFound, match="not in a git checkout") as raised:
        await app.call(projects.LOCATE, projects.LocateProject(path=str(tmp_path)), caller=person)
    assert "--project" in raised.value.hint


async def test_all_pages_of_events_are_read(app: RemoteApp, person: Caller) -> None:
    for number in range(5):
        await app.call(tasks.CREATE, tasks.CreateTask(project="vc", title=f"t{number}"), caller=person)
    request = server.ReadEvents(since=0, limit=2)
    kinds = [event.kind async for event in app.stream(server.EVENTS, request, caller=person)]
    assert kinds.count("task.created") == 5


async def test_a_wait_continues_after_a_restart_of_the_server(
    app: RemoteApp, live: LiveServer, person: Caller
) -> None:
    task = await app.call(tasks.CREATE, tasks.CreateTask(project="vc", title="t"), caller=person)
    port = int(live.url.rpartition(":")[2])
    waiting = asyncio.create_task(app.call(tasks.WAIT, tasks.WaitTasks(ids=[task.id], timeout=30_000), caller=person))
    await asyncio.to_thread(live.kill)
    await asyncio.to_thread(live.start, port=port)
    await app.call(tasks.CANCEL, tasks.ReasonedTask(id=task.id), caller=person)
    async with asyncio.timeout(30):
        await waiting


async def test_a_request_that_does_not_wait_is_not_repeated(app: RemoteApp, live: LiveServer, person: Caller) -> None:
    await asyncio.to_thread(live.kill)
    with pytest.raises(errors.NoServer):
        await app.call(sessions.WHOAMI, sessions.WhoAmI(), caller=person)
