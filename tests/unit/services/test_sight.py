"""A session does not read the manifest, the transcript or the asks of a session of another project."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tests.unit.services.conftest import OTHER, World
from tests.unit.services.conversations.conftest import spoken_with

from maestro.core import errors
from maestro.domain.callers import Caller
from maestro.events.feed import Feed
from maestro.operations import asks as ask_ops
from maestro.operations import server as log_ops
from maestro.operations import sessions as ops
from maestro.operations import terminals as terminal_ops
from maestro.services.asks import asks
from maestro.services.events import EventLog
from maestro.services.sessions import views
from maestro.services.supervision import control
from maestro.services.supervision.terminals import Terminals


class Walled:
    """A spawned session of project vc, and a session of another project that tries to read its texts."""

    def __init__(self, world: World, worker: Caller, stranger: Caller) -> None:
        self.world, self.worker, self.stranger = world, worker, stranger

    async def read(self, service: Callable[..., Any], request: Any, by: Caller) -> Any:
        return await self.world.store.read(lambda tx: service(tx, by, request))

    def log(self, by: Caller, **fields: Any) -> Any:
        log = EventLog(self.world.store, Feed(self.world.store, self.world.hub))
        return log.read_page(by, log_ops.ReadEvents(**fields))


@pytest.fixture
async def walled(world: World) -> Walled:
    return Walled(world, await spoken_with(world, "w"), await world.boss("stranger", project=OTHER.id))


async def test_a_session_of_another_project_cannot_read_the_manifest_of_a_session(walled: Walled) -> None:
    request = ops.OneSession(id=walled.worker.name)
    with pytest.raises(errors.NotPermitted, match="w belongs to the project vc") as refused:
        await walled.read(control.read_manifest, request, walled.stranger)
    assert f"session show {walled.worker.name}" in refused.value.hint
    peer = await walled.world.join("peer")
    for by in (walled.worker, peer, walled.world.dana):
        assert await walled.read(control.read_manifest, request, by)


async def test_a_session_of_another_project_cannot_read_the_transcript_of_a_session(
    walled: Walled, tmp_path: Path
) -> None:
    runners: Any = SimpleNamespace(session_folder=lambda session_id: tmp_path)
    (tmp_path / "transcript.cast").write_text('{"version": 2}\n[0.1, "o", "secret"]\n')
    terminals = Terminals(walled.world.store, runners)
    request = terminal_ops.ReadLogs(id=walled.worker.name)
    with pytest.raises(errors.NotPermitted):
        await terminals.read_logs(walled.stranger, request)
    peer = await walled.world.join("peer")
    for by in (peer, walled.world.dana):
        assert (await terminals.read_logs(by, request)).text == "secret"


async def test_a_session_of_another_project_cannot_read_the_asks_of_a_session(walled: Walled) -> None:
    await walled.world.do(asks.create_ask, ask_ops.CreateAsk(title="Secret?"), by=walled.worker)
    one = ops.OneSession(id=walled.worker.name)
    seen = await walled.read(views.show_session, one, walled.stranger)
    assert (seen.name, seen.status, seen.asks) == ("w", "needs_input", [])
    explaining = views.SessionExplainer(walled.world.store, walled.world.presence)
    assert {signal.detail for signal in (await explaining.explain_session(walled.stranger, one)).signals} == {""}
    with pytest.raises(errors.NotPermitted):
        await walled.read(asks.list_asks, ask_ops.ListAsks(project="vc"), walled.stranger)
    for by in (walled.worker, walled.world.dana):
        assert [ask.title for ask in (await walled.read(views.show_session, one, by)).asks] == ["Secret?"]
        assert "asks: Secret?" in [signal.detail for signal in (await explaining.explain_session(by, one)).signals]
        assert len((await walled.read(asks.list_asks, ask_ops.ListAsks(project="vc"), by)).asks) == 1
