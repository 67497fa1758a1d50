"""The job deletes old mail after the set number of days, but no mail that a recipient has not read."""

from __future__ import annotations

import os
from datetime import timedelta
from typing import Any

import pytest

from maestro.core import limits
from maestro.operations import mail_shapes as ops
from maestro.services.housekeeping.mail_retention import MailRetentionJob
from maestro.services.housekeeping.stray_blobs import StrayBlobJob
from maestro.services.mail import receipts
from maestro.services.mail.search import MailSearch

World = Any
DAY = 24 * 3600


def job(world: World, days: int = 30) -> MailRetentionJob:
    return MailRetentionJob(world.store, MailSearch(world.store, world.blobs, clock=world.clock), days=days)


async def kept(world: World) -> list[str]:
    """Return the subjects of all stored messages of the person."""
    found = await world.store.read(lambda tx: tx.mail.of_sender("dana", before=2**62, limit=1000))
    return [message.subject for message in reversed(found)]


async def found(world: World, query: str) -> list[str]:
    search = MailSearch(world.store, world.blobs, clock=world.clock)
    page = await search.search_mail(world.dana, ops.SearchMail(query=query, everywhere=True))
    return [message.subject for message in page.messages]


async def test_mail_is_kept_for_ever_by_default(world: World) -> None:
    worker = await world.join("w")
    await world.send(None, "w", subject="old")
    await world.read(worker)
    world.clock.advance(1000 * DAY)
    await world.send(None, "w", subject="new")
    assert await job(world, days=0).run_once() is None
    assert await kept(world) == ["old", "new"]


async def test_old_read_mail_is_deleted_with_its_index_and_files(world: World) -> None:
    worker = await world.join("w")
    large = ops.MailFile(file_name="core", content=b"x" * (limits.inline_bytes_max + 1))
    await world.send(None, "w", subject="old", message="needle " * limits.inline_bytes_max, attach=[large])
    await world.read(worker)
    shown = await world.store.read(lambda tx: tx.mail.get(tx.mail.get_head(1)[0]))
    await world.do(receipts.acknowledge_messages, ops.AcknowledgeMail(ids=[shown.id]), by=worker)
    assert await found(world, "needle") == ["old"]
    world.clock.advance(31 * DAY)
    await world.send(None, "w", subject="new", message="needle")
    assert await job(world).run_once() == world.clock.now() + timedelta(hours=1)
    assert await kept(world) == ["new"] and await found(world, "needle") == ["new"]
    for file in world.blobs.all_files():
        os.utime(file, (0, 0))
    await StrayBlobJob(world.store, world.blobs, clock=world.clock).run_once()
    assert world.blobs.all_files() == []


async def test_the_files_of_stored_mail_are_not_removed(world: World) -> None:
    await world.join("w")
    large = ops.MailFile(file_name="core", content=b"x" * (limits.inline_bytes_max + 1))
    await world.send(None, "w", message="y" * (limits.inbox_body_chars_max + 1), attach=[large])
    for file in world.blobs.all_files():
        os.utime(file, (0, 0))
    await StrayBlobJob(world.store, world.blobs, clock=world.clock).run_once()
    assert len(world.blobs.all_files()) == 2


async def test_old_mail_stays_until_every_recipient_has_read_the_mail(world: World) -> None:
    one = await world.join("one")
    await world.join("two")
    await world.send(None, "one", "two", subject="half")
    await world.send(None, "vc", subject="project")
    await world.read(one)
    world.clock.advance(365 * DAY)
    await world.send(None, "one", subject="new")
    await job(world).run_once()
    assert await kept(world) == ["half", "project", "new"]


async def test_old_read_mail_that_is_not_indexed_yet_is_deleted(world: World) -> None:
    worker = await world.join("w")
    await world.send(None, "w", subject="old", message="needle")
    await world.read(worker)
    world.clock.advance(31 * DAY)
    await world.send(None, "w", subject="new", message="needle")
    await job(world).run_once()
    assert await kept(world) == ["new"] and await found(world, "needle") == ["new"]


async def test_the_claim_of_a_deleted_thread_is_deleted(world: World) -> None:
    worker = await world.join("w")
    sent = await world.send(None, "vc", subject="old")
    await world.reply(worker, sent)
    await world.read()
    world.clock.advance(31 * DAY)
    await world.send(None, "w", subject="new")
    await job(world).run_once()
    assert await kept(world) == ["new"]
    assert await world.store.read(lambda tx: tx.deliveries.thread_holder(sent.thread_id)) is None


async def test_each_round_is_bounded_and_continues_after_unread_mail(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "job_batch_rows_max", 2)
    worker = await world.join("w")
    for number in range(6):
        await world.send(None, "human" if number < 3 else "w", subject=str(number))
    await world.read(worker)
    world.clock.advance(31 * DAY)
    await world.send(None, "w", subject="new")
    running = job(world)
    assert [await running.run_once() for _ in range(3)] == [world.clock.now()] * 3
    assert await kept(world) == ["0", "1", "2", "new"]
    assert await running.run_once() == world.clock.now() + timedelta(hours=1)
