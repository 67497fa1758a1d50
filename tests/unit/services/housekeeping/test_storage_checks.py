"""The job checks the stored data once a day and asks the person about damage."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import pytest
from tests.unit.services.conftest import World

from maestro.core import errors, limits
from maestro.domain.asks import Ask
from maestro.operations import asks as ask_ops
from maestro.services.asks import asks
from maestro.services.housekeeping.storage_checks import StorageCheckJob
from maestro.store.health import DamageFinding, DamageKind, StorageHealth
from maestro.store.sqlite import SqliteStore
from maestro.testing.clock import FakeClock

LOST = DamageFinding(DamageKind.LOST_EVENTS, "Events 7 to 9 are lost.")
DATABASE = DamageFinding(DamageKind.DATABASE, "Page 3 is damaged.")
ACCEPT_LOSS = "accept the loss"
DAY = timedelta(hours=24)
AFTER_START = timedelta(seconds=limits.check_after_start_seconds)


class Check:
    """A check that counts its runs and returns set findings or raises a set error."""

    def __init__(self) -> None:
        self.findings: list[DamageFinding] = []
        self.error: errors.MaestroError | None = None
        self.runs = 0

    async def __call__(self) -> list[DamageFinding]:
        self.runs += 1
        if self.error is not None:
            raise self.error
        return self.findings


class Checked:
    """The job and its check, at the time of the first check after the start of a server."""

    def __init__(self, world: World, home: Path) -> None:
        self.world = world
        self.health = StorageHealth(home)
        self.check = Check()
        self.job = StorageCheckJob(world.store, self.health, clock=world.clock, check=self.check)
        world.clock.advance(AFTER_START.total_seconds())

    async def asks(self) -> list[Ask]:
        """Return the open asks of all projects."""
        listed = await self.world.store.read(lambda tx: asks.list_asks(tx, self.world.dana, ask_ops.ListAsks()))
        return list(listed.asks)


@pytest.fixture
def checked(world: World, tmp_path: Path) -> Checked:
    return Checked(world, tmp_path)


async def test_a_sound_store_is_checked_once_a_day(checked: Checked) -> None:
    now = checked.world.clock.now()
    assert [await checked.job.run_once() for _ in range(2)] == [now + DAY] * 2
    assert checked.check.runs == 1 and await checked.asks() == []


async def test_a_check_that_cannot_run_is_repeated_later(checked: Checked, caplog: pytest.LogCaptureFixture) -> None:
    checked.check.error = errors.StorageIOFailed("The disk does not answer.")
    assert await checked.job.run_once() == checked.world.clock.now() + AFTER_START
    assert "was not checked: The disk does not answer." in caplog.text
    await checked.job.run_once()
    assert checked.check.runs == 1, "the check is not repeated at once"


async def test_the_person_is_asked_once_about_damage_without_choices(checked: Checked) -> None:
    checked.check.findings = [DATABASE]
    for _ in range(2):
        await checked.job.run_once()
        checked.world.clock.advance(DAY.total_seconds())
    (ask,) = await checked.asks()
    assert ask.title == "The database is damaged: restore a backup" and ask.choices == []
    assert ask.text.startswith("Page 3 is damaged.\n\n")


async def test_the_ask_about_repaired_damage_is_withdrawn(checked: Checked) -> None:
    checked.check.findings = [DATABASE]
    await checked.job.run_once()
    checked.check.findings = []
    checked.world.clock.advance(DAY.total_seconds())
    await checked.job.run_once()
    assert await checked.asks() == [] and checked.health.problems == []


async def test_the_person_is_asked_about_recorded_damage_before_the_next_check(checked: Checked) -> None:
    await checked.job.run_once()
    checked.health.record_finding(LOST, at=checked.world.clock.now())
    await checked.job.run_once()
    (ask,) = await checked.asks()
    assert ask.choices == [ACCEPT_LOSS] and checked.check.runs == 1


async def test_a_loss_that_the_person_accepts_is_no_longer_a_problem(checked: Checked) -> None:
    checked.health.record_finding(LOST, at=checked.world.clock.now())
    await checked.job.run_once()
    (ask,) = await checked.asks()
    await checked.world.do(asks.answer_ask, ask_ops.AnswerAsk(id=ask.id, answer=ACCEPT_LOSS))
    await checked.job.run_once()
    assert checked.health.problems == [] and await checked.asks() == []


async def test_a_loss_stays_a_problem_if_the_person_withdraws_the_ask(checked: Checked) -> None:
    checked.health.record_finding(LOST, at=checked.world.clock.now())
    await checked.job.run_once()
    (ask,) = await checked.asks()
    await checked.world.do(asks.withdraw_ask, ask_ops.OneAsk(id=ask.id))
    await checked.job.run_once()
    assert [problem.kind for problem in checked.health.problems] == [DamageKind.LOST_EVENTS]
    assert await checked.asks() == [], "the person is not asked again"


@pytest.fixture
async def empty_store(tmp_path: Path, clock: FakeClock) -> AsyncIterator[SqliteStore]:
    """Open a store without projects, and close it after the test."""
    store = SqliteStore(tmp_path / "empty.db", clock=clock)
    yield store
    await store.close()


async def test_the_job_opens_no_ask_about_damage_before_the_first_project_exists(
    empty_store: SqliteStore, tmp_path: Path, clock: FakeClock
) -> None:
    health, check = StorageHealth(tmp_path), Check()
    health.record_finding(LOST, at=clock.now())
    await StorageCheckJob(empty_store, health, clock=clock, check=check).run_once()
    assert [problem.ask_id for problem in health.problems] == [""]
