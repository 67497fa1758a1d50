"""A search finds sent mail by its words at once, for callers that may read the mail."""

from __future__ import annotations

from typing import Any

import pytest

from maestro.core import errors, limits
from maestro.operations import mail_shapes as ops
from maestro.services.mail.search import MailSearch

World = Any
OTHER = "prj_00000000000000000000000001"


async def found(world: World, query: str, by: Any = None, **fields: Any) -> list[str]:
    search = MailSearch(world.store, world.blobs, clock=world.clock)
    caller = by or world.dana
    if not caller.is_session and not fields.get("everywhere"):
        fields.setdefault("project", "vc")
    page = await search.search_mail(caller, ops.SearchMail(query=query, **fields))
    return [message.subject for message in page.messages]


async def test_a_search_finds_mail_by_words_phrases_and_beginnings_of_words(world: World) -> None:
    await world.join("w")
    await world.send(None, "w", subject="one", message="Deadlock in the pool, LOCK order reversed")
    await world.send(None, "w", subject="two", message="the pool is order less, lock it")
    for query, subjects in {
        "pool": ["two", "one"],
        "deadlock": ["one"],
        "DEADLOCK pool": ["one"],
        '"lock order"': ["one"],
        "dead*": ["one"],
        "dead": [],
        "two": ["two"],
        "pool nothing": [],
    }.items():
        assert await found(world, query) == subjects, query


@pytest.mark.parametrize(
    "query",
    ['pool" OR "x', "pool)", "NEAR(pool)", "pool -lock", "scope:prj", "a^b", 'say "unfinished', "{pool}", "*x"],
)
async def test_a_query_with_characters_of_search_operators_is_no_error(world: World, query: str) -> None:
    await world.join("w")
    await world.send(None, "w", subject="s", message="pool lock")
    await found(world, query)  # the result does not matter: the query must not raise an error


@pytest.mark.parametrize("query", ["*", '""', "- ! ?", '"  "'])
async def test_a_query_without_a_word_is_refused(world: World, query: str) -> None:
    with pytest.raises(errors.Invalid):
        await found(world, query)


async def test_a_session_finds_mail_that_its_project_sent_or_received(world: World) -> None:
    worker, stranger = await world.join("w"), await world.join("s", project=OTHER)
    await world.send(worker, "human", subject="ours", message="alpha")
    await world.send(stranger, "human", subject="theirs", message="alpha")
    await world.send(stranger, "vc", subject="between", message="alpha")
    assert await found(world, "alpha", worker) == ["between", "ours"]
    assert await found(world, "alpha", stranger) == ["between", "theirs"]
    assert await found(world, "alpha", everywhere=True) == ["between", "theirs", "ours"]
    assert await found(world, "alpha", project="other") == ["between", "theirs"]
    for fields in ({"everywhere": True}, {"project": "other"}):
        with pytest.raises(errors.NotPermitted):
            await found(world, "alpha", worker, **fields)


async def test_a_search_finds_mail_with_its_body_in_a_file(world: World) -> None:
    await world.join("w")
    await world.send(None, "w", subject="long", message="x " * limits.inline_bytes_max + "needle")
    assert await found(world, "needle") == ["long"]


async def test_a_search_indexes_all_batches_and_continues_in_pages(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "search_index_rows_max", 2)
    await world.join("w")
    for number in range(5):
        await world.send(None, "w", subject=str(number), message="alpha")
    search = MailSearch(world.store, world.blobs, clock=world.clock)
    page = await search.search_mail(world.dana, ops.SearchMail(query="alpha", project="vc", limit=3))
    assert [one.subject for one in page.messages] == ["4", "3", "2"]
    rest = ops.SearchMail(query="alpha", project="vc", limit=3, cursor=page.cursor or "")
    page = await search.search_mail(world.dana, rest)
    assert [one.subject for one in page.messages] == ["1", "0"] and page.cursor is None
    for cursor in ("x", "-1", "9" * 30):
        with pytest.raises(errors.Invalid):
            await search.search_mail(world.dana, ops.SearchMail(query="alpha", project="vc", cursor=cursor))


async def test_the_index_job_indexes_sent_mail(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "search_index_seconds", 0)
    monkeypatch.setattr(limits, "search_index_rows_max", 2)
    await world.join("w")
    for _ in range(3):
        await world.send(None, "w")
    job = MailSearch(world.store, world.blobs, clock=world.clock)
    assert await job.run_once() == world.clock.now()  # the first round only looks, because more mail may follow
    assert await behind(world) == 3
    assert await job.run_once() == world.clock.now()  # no mail followed, and one batch remains
    assert await behind(world) == 1
    await job.run_once()
    assert await behind(world) == 0 and await job.run_once() is None


async def test_the_index_job_waits_for_senders_for_a_limited_time(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "search_index_seconds", 0)
    monkeypatch.setattr(limits, "search_unindexed_messages_max", 4)
    await world.join("w")
    job = MailSearch(world.store, world.blobs, clock=world.clock)
    for expected in (1, 2, 3, 0):
        await world.send(None, "w")
        await job.run_once()
        assert await behind(world) == expected


async def behind(world: World) -> int:
    """Return the number of messages that are not indexed yet."""
    indexed_to, newest = await world.store.read(lambda tx: tx.mail.search_state())
    return int(newest - indexed_to)
