"""The server stops when its data directory is missing, and records damage of its storage."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from maestro.core import errors
from maestro.server.base import ServerBase, open_base
from maestro.server.parts.storage import build_storage, handle_storage_fault
from maestro.store.health import DamageKind
from maestro.testing.clock import FakeClock


@pytest.fixture
async def base(tmp_path: Path, clock: FakeClock) -> AsyncIterator[ServerBase]:
    base = open_base(tmp_path, clock)
    base.background_jobs.start_jobs([entry.job for entry in build_storage(base).jobs])
    yield base
    await base.background_jobs.close()
    await base.store.close()


async def test_a_missing_data_directory_stops_the_server(base: ServerBase) -> None:
    first, second = errors.StorageGone("The directory is gone."), errors.StorageGone("Still gone.")
    handle_storage_fault(base, first)
    handle_storage_fault(base, second)
    assert base.state.stopping.is_set() and base.state.fault is first


async def test_damage_is_recorded_and_the_server_continues(base: ServerBase) -> None:
    handle_storage_fault(base, errors.StorageDamaged("A page is damaged."))
    (problem,) = base.health.problems
    assert (problem.kind, problem.text) == (DamageKind.DATABASE, "A page is damaged.")
    assert not base.state.stopping.is_set()


async def test_other_storage_faults_neither_stop_the_server_nor_are_recorded(base: ServerBase) -> None:
    handle_storage_fault(base, errors.StorageFull("No space is left."))
    assert base.health.problems == [] and not base.state.stopping.is_set() and base.state.fault is None
