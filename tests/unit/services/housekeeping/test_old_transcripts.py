"""The job removes transcripts of sessions that ended more than the set number of days ago."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest
from tests.unit.services.conftest import World

from maestro.core import limits
from maestro.domain.callers import Caller
from maestro.services.housekeeping.old_transcripts import TranscriptRetentionJob

DAY = 24 * 3600


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Create the folder that holds a folder for each session, and return it."""
    folder = tmp_path / "runs"
    folder.mkdir()
    return folder


def make_job(world: World, folder: Path, *, days: int = 30) -> TranscriptRetentionJob:
    return TranscriptRetentionJob(world.store, folder, days=days, clock=world.clock)


async def run_to_end(world: World, job: TranscriptRetentionJob) -> int:
    """Run the job until its round is over, and return the number of batches."""
    for batches in range(100):
        if await job.run_once() == world.clock.now() + timedelta(hours=6):
            return batches
    raise AssertionError("the job does not end")


def add_transcript(folder: Path, session_id: str) -> Path:
    (folder / session_id).mkdir()
    (folder / session_id / "transcript.cast").write_text("hello")
    return folder / session_id


async def ended(world: World, name: str) -> Caller:
    session = await world.join(name)
    await world.end(session)
    return session


async def test_the_transcript_of_an_ended_session_is_kept_for_the_set_number_of_days(
    world: World, folder: Path
) -> None:
    transcript = add_transcript(folder, (await ended(world, "w")).name)
    job = make_job(world, folder)
    world.clock.advance(30 * DAY)
    await run_to_end(world, job)
    assert transcript.exists()
    world.clock.advance(1)
    await run_to_end(world, job)
    assert not transcript.exists()


async def test_transcripts_of_live_sessions_and_unknown_folders_are_kept(world: World, folder: Path) -> None:
    live, unknown = add_transcript(folder, (await world.join("w")).name), add_transcript(folder, "not-ours")
    world.clock.advance(100 * DAY)
    await run_to_end(world, make_job(world, folder))
    assert live.exists() and unknown.exists()


async def test_zero_days_keep_transcripts_for_ever(world: World, folder: Path) -> None:
    transcript = add_transcript(folder, (await ended(world, "w")).name)
    world.clock.advance(1000 * DAY)
    assert await make_job(world, folder, days=0).run_once() is None
    assert transcript.exists()


async def test_folders_are_checked_in_batches(world: World, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "job_batch_rows_max", 2)
    for name in ("a", "b", "c", "d", "e"):
        add_transcript(folder, (await ended(world, name)).name)
    world.clock.advance(31 * DAY)
    assert await run_to_end(world, make_job(world, folder)) == 3
    assert list(folder.iterdir()) == []


async def test_the_job_treats_a_missing_folder_as_an_empty_folder(world: World, tmp_path: Path) -> None:
    assert await run_to_end(world, make_job(world, tmp_path / "missing")) == 0


async def test_a_linked_folder_is_removed_with_its_content_only_if_it_belongs_to_the_session(
    world: World, folder: Path, tmp_path: Path
) -> None:
    own, foreign = (await ended(world, "w")).name, (await ended(world, "v")).name
    for session_id, name in ((own, own), (foreign, "documents")):
        target = add_transcript(tmp_path, name)
        (folder / session_id).symlink_to(target)
    world.clock.advance(31 * DAY)
    await run_to_end(world, make_job(world, folder))
    assert not list(folder.iterdir())
    assert not (tmp_path / own).exists()
    assert (tmp_path / "documents").is_dir()
