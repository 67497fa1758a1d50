"""A client is notified once when its list of tools has changed."""

from __future__ import annotations

import asyncio

import pytest

from maestro.core import errors
from maestro.domain.callers import Caller, Role
from maestro.surfaces.mcp.tools import tool_list_watch
from maestro.surfaces.mcp.tools.tool_list_watch import ToolListWatch, WatchedToolList

WORKER, COORDINATOR = Caller(Role.WORKER, "w"), Caller(Role.COORDINATOR, "w")


class Client:
    """A client with a changeable caller that counts the received notifications."""

    def __init__(self) -> None:
        self.caller = WORKER
        self.notifications = 0
        self.notified = asyncio.Event()
        self.listing = WatchedToolList(self.identify, self.notify)

    async def identify(self) -> Caller:
        if self.caller.role is Role.NOBODY:
            raise errors.NotAuthenticated
        return self.caller

    async def notify(self) -> None:
        self.notifications += 1
        self.notified.set()


async def test_a_client_is_notified_once_of_a_changed_tool_list() -> None:
    client = Client()
    client.listing.note_listed_tools(WORKER)
    await client.listing.notify_if_changed()
    assert client.notifications == 0
    client.caller = COORDINATOR
    await client.listing.notify_if_changed()
    await client.listing.notify_if_changed()
    assert client.notifications == 1


async def test_a_client_without_a_tool_list_a_stream_or_a_valid_token_is_not_notified() -> None:
    client = Client()
    client.caller = COORDINATOR
    await client.listing.notify_if_changed()  # the client has no list yet
    client.listing.note_listed_tools(WORKER)
    client.listing.notify_client = None
    await client.listing.notify_if_changed()
    client.listing.notify_client = client.notify
    client.caller = Caller(Role.NOBODY, "nobody")
    await client.listing.notify_if_changed()
    assert client.notifications == 0


async def test_only_watched_tool_lists_are_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tool_list_watch, "_GATHER_SECONDS", 0)
    watch, watched, removed = ToolListWatch(), Client(), Client()
    for client in (watched, removed):
        client.listing.note_listed_tools(WORKER)
        client.caller = COORDINATOR
        watch.add_list(client.listing)
    watch.remove_list(removed.listing)
    watch.schedule_check()
    watch.schedule_check()
    async with asyncio.timeout(10):
        await watched.notified.wait()
    assert (watched.notifications, removed.notifications) == (1, 0)


async def test_a_tool_list_is_watched_only_within_the_with_block() -> None:
    watch, client = ToolListWatch(), Client()
    with watch.watch_list(client.listing) as listing:
        assert listing is client.listing
    watch.schedule_check()
    assert watch._checking is None  # the check has not started, because no list is watched
