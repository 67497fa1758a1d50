"""An agent gains no rights when its session ends."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable

import pytest

from maestro.core import errors
from maestro.domain.callers import Caller, Role
from maestro.operations import sessions, tasks
from maestro.operations.app import SocketPeer
from maestro.operations.sessions import EndSession, RegisterSession
from maestro.operations.task_shapes import CreateTask, StartTask
from maestro.server.app import Server

Join = Callable[..., Awaitable[Caller]]


async def test_an_agent_that_ends_its_session_does_not_become_the_person(
    server: Server, dana: Caller, vc: str
) -> None:
    here = SocketPeer(os.getuid(), os.getppid())  # the parent of the server process
    assert (await server.identify(token="", peer=here)).role is Role.PERSON
    made = await server.call(sessions.REGISTER, RegisterSession(project=vc, name="w", pid=here.pid), caller=dana)
    assert (await server.identify(token="", peer=here)).session_id == made.id
    await server.call(sessions.END, EndSession(id=made.id), caller=dana)
    assert (await server.identify(token="", peer=here)).role is Role.NOBODY


async def test_an_ended_session_cannot_start_a_task(server: Server, dana: Caller, vc: str, join: Join) -> None:
    await server.call(tasks.CREATE, CreateTask(project=vc, title="a"), caller=dana)
    worker = await join("w")  # the caller is identified before its session ends
    await server.call(sessions.END, EndSession(id=worker.session_id), caller=dana)
    for key in ("", "k"):
        with pytest.raises(errors.NotAuthenticated):
            await server.call(tasks.START, StartTask(id="#1"), caller=worker, key=key)
