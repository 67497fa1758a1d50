"""A store with one project, and services called straight on it: no server between."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from maestro.domain.callers import Caller, Role, person
from maestro.domain.events import Event
from maestro.domain.projects import Project
from maestro.store.sqlite import SqliteStore
from maestro.testing.clock import FakeClock

AT = FakeClock().now()
VC = Project("prj_00000000000000000000000000", "example.org/vc", "vc", ["plan"], AT)
OTHER = Project("prj_00000000000000000000000001", "example.org/other", "other", ["plan"], AT)


class World:
    """Runs services as some caller."""

    def __init__(self, store: SqliteStore) -> None:
        self.store = store
        self.dana = person("dana")
        self.coordinator = Caller(Role.COORDINATOR, "ses_c", session_id="ses_c", project_id=VC.id, human="dana")

    async def do(self, service: Callable[..., Any], request: Any, *, by: Caller | None = None) -> Any:
        """One use case in a transaction of its own."""
        return await self.store.write(lambda tx: service(tx, by or self.dana, request))

    async def log(self) -> list[Event]:
        return await self.store.read(lambda tx: tx.events.after(0, limit=1000))


@pytest.fixture
async def world(tmp_path: Path, clock: FakeClock) -> AsyncIterator[World]:
    store = SqliteStore(tmp_path / "maestro.db", clock=clock)
    await store.write(lambda tx: [tx.projects.insert(project) for project in (VC, OTHER)])
    yield World(store)
    await store.close()
