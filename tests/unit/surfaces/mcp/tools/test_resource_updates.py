"""A client is notified of changes of the resources that the client watches."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from maestro.core import limits
from maestro.operations import mail, mail_shapes, task_shapes, tasks
from maestro.server.app import Server
from maestro.surfaces.mcp.tools.resource_updates import ResourceUpdates
from maestro.surfaces.mcp.tools.resources import INBOX, READY, WatchedResource


async def test_a_client_is_notified_only_of_its_watched_resources(server: Server, join: Callable[..., Any]) -> None:
    boss, worker = await join("boss", mode="coordinate"), await join("w")
    notified: asyncio.Queue[str] = asyncio.Queue()
    updates = ResourceUpdates(server, worker, stalled=lambda: None)
    updates.watch_resource(WatchedResource(INBOX, ""), notified.put)
    await server.call(tasks.CREATE, task_shapes.CreateTask(title="Parse"), caller=boss)
    await server.call(mail.SEND, mail_shapes.SendMail(to=["w"], subject="Hi", message="There."), caller=boss)
    async with asyncio.timeout(10):
        assert await notified.get() == INBOX
    updates.watch_resource(WatchedResource(READY, ""), notified.put)
    updates.unwatch_resource(INBOX)
    await server.call(tasks.CREATE, task_shapes.CreateTask(title="Print"), caller=boss)
    async with asyncio.timeout(10):
        assert await notified.get() == READY
    updates.close()


async def test_unwatching_the_last_resource_ends_the_task_of_the_updates(
    server: Server, join: Callable[..., Any]
) -> None:
    worker = await join("w")
    updates = ResourceUpdates(server, worker, stalled=lambda: None)

    async def notify(uri: str) -> None:
        raise AssertionError(uri)

    updates.watch_resource(WatchedResource(INBOX, ""), notify)
    task = updates._task
    assert task is not None
    updates.unwatch_resource(INBOX)
    with pytest.raises(asyncio.CancelledError):
        await task
    assert updates._task is None


async def test_a_client_that_does_not_read_is_reported_as_stalled(
    server: Server, join: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "mcp_stalled_seconds", 0.01)
    boss, worker = await join("boss", mode="coordinate"), await join("w")
    stalled = asyncio.Event()
    updates = ResourceUpdates(server, worker, stalled=stalled.set)

    async def never(uri: str) -> None:
        await asyncio.Future()

    updates.watch_resource(WatchedResource(INBOX, ""), never)
    await server.call(mail.SEND, mail_shapes.SendMail(to=["w"], subject="Hi", message="There."), caller=boss)
    async with asyncio.timeout(10):
        await stalled.wait()
