"""The person reads the status of the server, stops the server, and reads and changes its settings."""

from __future__ import annotations

from pathlib import Path

import pytest

from maestro.core import errors
from maestro.domain.callers import Caller
from maestro.operations import server as server_ops
from maestro.server.app import Server
from maestro.testing.clock import FakeClock


async def test_the_status_shows_the_address_and_the_live_sessions(
    server: Server, join: object, dana: Caller, clock: FakeClock
) -> None:
    started_at = clock.now()
    await join("ada")  # type: ignore[operator]
    server.state.url = "http://127.0.0.1:1"
    clock.advance(60)
    status = await server.call(server_ops.STATUS, server_ops.EmptyRequest(), caller=dana)
    assert (status.url, status.sessions, status.started_at) == ("http://127.0.0.1:1", 1, started_at)
    assert status.problems == []


async def test_a_requested_stop_stops_the_server(server: Server, dana: Caller) -> None:
    stopped = await server.call(server_ops.STOP, server_ops.EmptyRequest(), caller=dana)
    assert server.state.stopping.is_set() and stopped.home == str(server.home)


async def test_the_answer_to_a_stop_does_not_name_a_data_directory_that_is_not_utf8(
    tmp_path: Path, dana: Caller, clock: FakeClock
) -> None:
    home = tmp_path / "data-\udcff"
    home.mkdir(mode=0o700)
    server = Server(home, clock=clock)
    try:
        stopped = await server.call(server_ops.STOP, server_ops.EmptyRequest(), caller=dana)
    finally:
        await server.close()
    assert stopped.home == ""


async def test_a_single_setting_is_shown_by_its_name(server: Server, dana: Caller) -> None:
    every = await server.call(server_ops.CONFIG_GET, server_ops.GetConfig(), caller=dana)
    one = await server.call(server_ops.CONFIG_GET, server_ops.GetConfig(name="port"), caller=dana)
    assert one.settings == {"port": every.settings["port"]} and len(every.settings) > 1
    with pytest.raises(errors.NotFound):
        await server.call(server_ops.CONFIG_GET, server_ops.GetConfig(name="colour"), caller=dana)


async def test_a_changed_setting_takes_effect_after_a_restart(server: Server, dana: Caller) -> None:
    request = server_ops.SetConfig(name="events_days", value="7")
    changed = await server.call(server_ops.CONFIG_SET, request, caller=dana)
    assert changed.settings == {"events_days": 7} and changed.counts_after_restart
    assert server.settings.events_days != 7
    shown = await server.call(server_ops.CONFIG_GET, server_ops.GetConfig(name="events_days"), caller=dana)
    assert shown.settings == {"events_days": 7}
