"""The job releases free pages of the database file in slices, and keeps some free pages for new rows."""

from __future__ import annotations

from datetime import timedelta

from tests.unit.services.conftest import World

from maestro.core import limits
from maestro.domain.documents import Document, StoredContent
from maestro.services.housekeeping.released_space import SpaceReleaseJob
from maestro.store.base import Tx
from maestro.testing.factories import make_task

PAGE_BYTES = 4096
AN_HOUR = timedelta(hours=1)


async def free_pages(world: World) -> int:
    return (await world.store.read(lambda tx: tx.space.page_usage())).free


async def make_free_pages(world: World, count: int) -> None:
    """Insert a document of about `count` pages, and delete the document."""
    task, size = make_task(number=7), count * PAGE_BYTES

    def insert(tx: Tx) -> None:
        tx.tasks.insert(task)
        document = Document("doc_1", task.id, "t", "f", size, "s", "dana", tx.at)
        tx.documents.insert(document, StoredContent(b"x" * size, None, size, "s"))

    await world.store.write(insert)
    await world.store.write(lambda tx: tx.tasks.delete(task.id))


async def test_a_slice_of_free_pages_is_released_and_the_next_slice_follows_soon(world: World) -> None:
    await make_free_pages(world, limits.free_pages_kept + 2 * limits.released_pages_at_once)
    before = await free_pages(world)
    due = await SpaceReleaseJob(world.store).run_once()
    assert before - await free_pages(world) == limits.released_pages_at_once
    assert due is not None and due - world.clock.now() < timedelta(seconds=1)


async def test_some_free_pages_stay_for_new_rows(world: World) -> None:
    await make_free_pages(world, limits.free_pages_kept + limits.released_pages_at_once)
    job = SpaceReleaseJob(world.store)
    for _ in range(100):
        due = await job.run_once()
        if due == world.clock.now() + AN_HOUR:
            break
    free = await free_pages(world)
    assert limits.free_pages_kept - limits.released_pages_at_once < free <= limits.free_pages_kept


async def test_few_free_pages_are_not_released(world: World) -> None:
    await make_free_pages(world, limits.free_pages_kept // 2)
    before = await free_pages(world)
    assert before > 0
    assert await SpaceReleaseJob(world.store).run_once() == world.clock.now() + AN_HOUR
    assert await free_pages(world) == before
