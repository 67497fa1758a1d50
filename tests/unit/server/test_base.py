"""The shared objects of a server are opened with its data directory, and lost events are recorded as a problem."""

from __future__ import annotations

from pathlib import Path

from maestro.server.base import open_base
from maestro.store.health import DamageKind
from maestro.store.layout import MARK
from maestro.store.mark import Mark
from maestro.testing.clock import FakeClock


async def test_a_new_data_directory_has_no_problems(tmp_path: Path, clock: FakeClock) -> None:
    base = open_base(tmp_path, clock)
    assert base.health.problems == [] and base.state.started_at == clock.now()
    assert base.state.url is None and not base.state.stopping.is_set()
    await base.store.close()


async def test_lost_events_are_recorded_at_the_start(tmp_path: Path, clock: FakeClock) -> None:
    await open_base(tmp_path, clock).store.close()
    mark = Mark(tmp_path / MARK)
    mark.read()
    mark.write(7)
    base = open_base(tmp_path, clock)
    assert [problem.kind for problem in base.health.problems] == [DamageKind.LOST_EVENTS]
    await base.store.close()
