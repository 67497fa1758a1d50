"""Tests of the records of sessions, the same on every surface: lists, status, waits, reports and adoption."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from maestro.core import errors
from maestro.operations import mail, sessions, tasks

Surface = Any


async def family(surface: Surface) -> None:
    await surface.join("boss", mode="coordinate")
    for name in ("w", "x"):
        await surface.join(name, parent="boss")


async def names(surface: Surface, by: str = "dana", **fields: Any) -> list[str]:
    return [one["name"] for one in (await surface.call(sessions.LIST, by=by, **fields))["sessions"]]


async def test_sessions_are_listed_by_state_relation_and_page(surface: Surface) -> None:
    await family(surface)
    await surface.join("loner")
    await surface.call(sessions.END, id="x")
    assert await names(surface) == ["boss", "w", "x", "loner"]
    assert await names(surface, active=True) == ["boss", "w", "loner"]
    assert await names(surface, status="stopped") == ["x"]
    assert await names(surface, by="w", siblings=True) == ["x"]
    assert await names(surface, by="boss", my_workers=True, active=True) == ["w"]
    page = await surface.call(sessions.LIST, limit=3)
    assert await names(surface, limit=3, cursor=page["cursor"]) == ["loner"]
    with pytest.raises(errors.NotFound):
        await surface.call(sessions.LIST, siblings=True)


async def test_a_session_is_shown_with_its_relations_and_the_reason_for_its_status(surface: Surface) -> None:
    await family(surface)
    await surface.call(tasks.CREATE, title="t")
    await surface.call(tasks.START, by="w", id="#1")
    await surface.call(mail.SEND, to=["w"], subject="s", message="b")
    shown = await surface.call(sessions.SHOW, by="x", id="w")
    assert (shown["name"], shown["status"], shown["status_source"]) == ("w", "working", "report")
    assert shown["coordinator"]["name"] == "boss" and [one["name"] for one in shown["siblings"]] == ["x"]
    assert (shown["held"], shown["unread"]) == ([f"{surface.project}#1"], 1)
    assert {one["name"] for one in (await surface.call(sessions.SHOW, id="boss"))["workers"]} == {"w", "x"}
    await surface.call(sessions.HEARTBEAT, by="w", status="idle")
    why = await surface.call(sessions.EXPLAIN, id="w")
    assert why["session"]["status"] == "idle" and why["signals"][0]["source"] == "heartbeat"
    assert not why["is_lease_expired"] and "is alive" in why["verdict"]
    for operation in (sessions.SHOW, sessions.EXPLAIN):
        with pytest.raises(errors.NotFound):
            await surface.call(operation, id="nobody")


async def test_a_wait_for_sessions_ends_when_they_end_or_change_or_at_the_timeout(surface: Surface) -> None:
    await family(surface)
    waits = asyncio.create_task(surface.call(sessions.WAIT, by="boss", ids=["w", "x"], timeout=30_000))
    for by in ("w", "x"):
        await surface.call(sessions.END, by=by, status="completed")
    done = await waits
    assert done["reached"] and [one["status"] for one in done["sessions"]] == ["completed", "completed"]
    again = await surface.call(sessions.WAIT, by="boss", ids=["w"], timeout=30_000)  # returns at once
    assert again["reached"]
    otherwise = await surface.call(sessions.WAIT, by="boss", ids=["w"], until="failed", timeout=30_000)
    assert not otherwise["reached"]
    await surface.join("y")
    with pytest.raises(errors.TimedOut):
        await surface.call(sessions.WAIT, ids=["y"], timeout=50)
    since = otherwise["seq"]
    change = asyncio.create_task(
        surface.call(sessions.WAIT, ids=["y"], until="any-change", since=since, timeout=30_000)
    )
    await surface.call(sessions.HEARTBEAT, by="y", status="idle")
    assert (await change)["reached"]


async def test_a_report_moves_the_task_and_the_coordinator_gets_a_notice(surface: Surface) -> None:
    await family(surface)
    await surface.call(tasks.CREATE, title="t")
    await surface.call(tasks.START, by="w", id="#1")
    said = await surface.call(sessions.REPORT, by="w", kind="progress", text="half")
    assert (said["status"], said["task"]["status"]) == ("working", "in_progress")
    said = await surface.call(sessions.REPORT, by="w", kind="complete", text="all of it")
    assert (said["status"], said["task"]["status"]) == ("completed", "completed")
    heard = (await surface.call(mail.INBOX, by="boss", peek=True))["messages"]
    task = f"{surface.project}#1"
    assert [(one["subject"], one["body"]) for one in heard] == [
        (f"w goes on with {task}", "half"),
        (f"w has completed {task}", "all of it"),
    ]
    for _ in range(2):
        await surface.call(tasks.CREATE, title="t")
    for ref in ("#2", "#3"):
        await surface.call(tasks.START, by="x", id=ref)
    with pytest.raises(errors.Conflict) as refused:
        await surface.call(sessions.REPORT, by="x", kind="complete", text="which?")
    assert len(refused.value.data["held"]) == 2
    with pytest.raises(errors.NotPermitted):
        await surface.call(sessions.REPORT, kind="complete", text="no session")


async def test_a_coordinator_adopts_the_workers_of_a_lost_coordinator(surface: Surface) -> None:
    await family(surface)
    heir = await surface.join("heir", mode="coordinate")
    with pytest.raises(errors.NotPermitted):
        await surface.call(sessions.ADOPT, by="heir", ids=["w"])
    with pytest.raises(errors.NotPermitted):
        await surface.call(sessions.ADOPT, by="w", ids=["x"])
    await surface.call(sessions.END, by="boss", status="lost")
    adopted = await surface.call(sessions.ADOPT, by="heir", ids=["boss"])
    assert {one["name"] for one in adopted["sessions"]} == {"w", "x"} and adopted["by"] == heir["id"]
    who = await surface.call(sessions.WHOAMI, by="w")
    assert who["coordinator"]["name"] == "heir"
    sent = await surface.call(mail.SEND, by="w", to_coordinator=True, subject="s", message="b")
    assert [one["name"] for one in sent["deliveries"]] == ["heir"]


async def test_a_lost_session_that_makes_a_call_is_live_again(surface: Surface) -> None:
    await surface.join("w")
    await surface.call(sessions.END, id="w", status="lost")
    await surface.call(tasks.LIST, by="w")
    shown = await surface.call(sessions.SHOW, id="w")
    assert (shown["name"], shown["ended_at"]) == ("w", None)


async def test_a_worker_gets_a_notice_when_its_coordinator_ends(surface: Surface) -> None:
    await family(surface)
    await surface.call(sessions.END, by="boss")
    (notice,) = (await surface.call(mail.WAIT, by="w", timeout=30_000))["messages"]
    assert notice["subject"] == "Your coordinator boss is stopped" and notice["sender"]["kind"] == "maestro"
    assert not (await surface.call(sessions.WHOAMI, by="w"))["coordinator"]["fresh"]
