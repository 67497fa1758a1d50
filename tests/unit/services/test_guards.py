"""Holes that were found and closed: what a session must not get by a way around."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from maestro.core import errors
from maestro.domain.callers import Caller, Role
from maestro.domain.tasks import TaskStatus
from maestro.operations import projects, sessions, tasks
from maestro.operations import server as server_ops
from maestro.operations.app import SocketPeer
from maestro.operations.projects import InitProject
from maestro.operations.sessions import EndSession, RegisterSession
from maestro.operations.task_shapes import BlockTask, CreateTask, ListTasks, OneTask, StartTask
from maestro.server.app import Server

Join = Callable[..., Awaitable[Caller]]


async def test_an_agent_that_ends_its_session_does_not_become_the_person(
    server: Server, dana: Caller, vc: str
) -> None:
    here = SocketPeer(os.getuid(), os.getppid())  # not below the server, which is this process
    assert (await server.identify(token="", peer=here)).role is Role.PERSON
    made = await server.call(sessions.REGISTER, RegisterSession(project=vc, name="w", pid=here.pid), caller=dana)
    assert (await server.identify(token="", peer=here)).session_id == made.id
    await server.call(sessions.END, EndSession(id=made.id), caller=dana)
    assert (await server.identify(token="", peer=here)).role is Role.NOBODY


async def test_a_session_cannot_make_others_processes_its_own(server: Server, join: Join) -> None:
    worker = await join("w")
    with pytest.raises(errors.NotPermitted):
        await server.call(sessions.REGISTER, RegisterSession(name="x", pid=os.getppid()), caller=worker)


async def test_a_session_neither_renames_nor_registers_projects(
    server: Server, vc: str, join: Join, make_repo: Callable[..., Path], dana: Caller
) -> None:
    worker = await join("w")
    other = make_repo("other")
    with pytest.raises(errors.NotPermitted):
        await server.call(projects.INIT, InitProject(path=str(other)), caller=worker)
    await server.call(projects.INIT, InitProject(path=str(other)), caller=dana)
    with pytest.raises(errors.NotPermitted):
        await server.call(projects.INIT, InitProject(path=str(other), name="mine"), caller=worker)
    clone = make_repo("vc", folder="src/fred")
    placed = await server.call(projects.INIT, InitProject(path=str(clone)), caller=worker)
    assert placed.workspace.address == "fred/vc"  # a checkout of its own project it may add


async def test_a_session_that_has_ended_writes_nothing_any_more(
    server: Server, dana: Caller, vc: str, join: Join
) -> None:
    await server.call(tasks.CREATE, CreateTask(project=vc, title="a"), caller=dana)
    worker = await join("w")  # who it is was settled before its session ended
    await server.call(sessions.END, EndSession(id=worker.session_id), caller=dana)
    for key in ("", "k"):
        with pytest.raises(errors.NotAuthenticated):
            await server.call(tasks.START, StartTask(id="#1"), caller=worker, key=key)


async def test_a_sessions_stream_ends_with_it(server: Server, dana: Caller, join: Join) -> None:
    worker = await join("w")
    request = server_ops.ReadEvents(since=0, follow=True, kind=[server_ops.EventKind.TASK_READY])
    stream = server.stream(server_ops.EVENTS, request, caller=worker)
    await server.call(sessions.END, EndSession(id=worker.session_id), caller=dana)
    assert [event async for event in stream] == []


async def test_it_ends_also_with_one_that_is_lost_but_not_with_an_end_that_was_none(
    server: Server, dana: Caller, join: Join
) -> None:
    worker = await join("w")
    lost = EndSession(id=worker.session_id, status=sessions.SessionStatus.LOST)
    await server.call(sessions.END, lost, caller=dana)
    worker = await server.identify(token=server.secrets.session_token(worker.name), peer=None)  # it speaks again
    request = server_ops.ReadEvents(since=0, follow=True, kind=[server_ops.EventKind.TASK_CREATED])
    stream = server.stream(server_ops.EVENTS, request, caller=worker)
    await server.call(tasks.CREATE, CreateTask(title="a", project=worker.project_id or ""), caller=dana)
    async with asyncio.timeout(20):
        assert (await anext(stream)).kind == "task.created"
        await server.call(sessions.END, lost, caller=dana)
        assert [event async for event in stream] == []


async def test_a_cursor_beyond_the_end_is_told_so(server: Server, dana: Caller, vc: str) -> None:
    page = await server.call(server_ops.EVENTS, server_ops.ReadEvents(since=10_000), caller=dana)
    assert page.resync is not None


async def test_a_session_ends_what_it_started_however_far_below(server: Server, dana: Caller, join: Join) -> None:
    top = await join("top")
    middle = await server.call(sessions.REGISTER, RegisterSession(name="middle"), caller=top)
    below = await server.identify(token=middle.token, peer=None)
    bottom = await server.call(sessions.REGISTER, RegisterSession(name="bottom"), caller=below)
    with pytest.raises(errors.NotPermitted):
        await server.call(sessions.END, EndSession(id="top"), caller=below)
    await server.call(sessions.END, EndSession(id=bottom.id), caller=top)


async def test_mine_in_one_status_comes_in_whole_pages(server: Server, dana: Caller, vc: str) -> None:
    for number in range(1, 7):
        await server.call(tasks.CREATE, CreateTask(project=vc, title=f"{number}"), caller=dana)
        await server.call(tasks.START, StartTask(project=vc, id=f"#{number}"), caller=dana)
    for number in (1, 3):
        block = BlockTask(project=vc, id=f"#{number}", reason="x")
        await server.call(tasks.BLOCK, block, caller=dana)
    found: list[int] = []
    cursor: str | None = ""
    while cursor is not None:
        request = ListTasks(project=vc, mine=True, status=TaskStatus.IN_PROGRESS, limit=2, cursor=cursor)
        page = await server.call(tasks.LIST, request, caller=dana)
        found += [task.number for task in page.tasks]
        cursor = page.cursor
    assert found == [2, 4, 5, 6]


async def test_lists_carry_the_beginning_of_a_long_description(server: Server, dana: Caller, vc: str) -> None:
    await server.call(tasks.CREATE, CreateTask(project=vc, title="a", description="x" * 5000), caller=dana)
    listed = await server.call(tasks.LIST, ListTasks(project=vc), caller=dana)
    assert len(listed.tasks[0].description) == 1001
    shown = await server.call(tasks.SHOW, OneTask(project=vc, id="#1"), caller=dana)
    assert len(shown.description) == 5000


async def test_a_pipe_in_place_of_a_file_holds_nobody_up(
    server: Server, dana: Caller, make_repo: Callable[..., Path], tmp_path: Path
) -> None:
    repo = make_repo("piped")
    (repo / ".maestro").mkdir()
    os.mkfifo(repo / ".maestro" / "config.toml")
    placed = await server.call(projects.LOCATE, projects.LocateProject(path=str(repo)), caller=dana)
    assert placed.project.name == "piped"
    plain = tmp_path / "plain"
    plain.mkdir()
    os.mkfifo(plain / ".git")
    with pytest.raises(errors.MaestroError):
        await server.call(projects.LOCATE, projects.LocateProject(path=str(plain)), caller=dana)
