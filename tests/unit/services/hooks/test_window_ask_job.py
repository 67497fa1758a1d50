"""A change of the program's record withdraws the ask in its window; a record elsewhere is not read."""

from __future__ import annotations

import os
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from maestro.domain.sessions import SessionStatus, StatusSource
from maestro.services.hooks.window_ask_job import WindowAskJob
from maestro.services.sessions import status
from maestro.testing.factories import make_ask

World = Any
VC = "prj_00000000000000000000000000"


@pytest.fixture
async def record(world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Open an ask in the window of a codex session, and return the record file of its conversation."""
    monkeypatch.setenv("CODEX_HOME", str(tmp_path / "codex"))
    folder = tmp_path / "codex" / "sessions"
    folder.mkdir(parents=True)
    file = folder / "rollout.jsonl"
    file.write_text("{}\n")
    await open_ask(world, file)
    return file


async def open_ask(world: World, file: Path) -> None:
    caller = await world.join("codex", tool="codex")
    session = await world.session(caller)
    await world.store.write(
        lambda tx: status.apply_signal(
            tx, session, SessionStatus.NEEDS_INPUT, source=StatusSource.HOOK, detail="", actor=caller.name
        )
    )
    ask = make_ask(session_id=caller.name, created_at=world.clock.now())
    await world.store.write(lambda tx: tx.asks.insert(ask))
    await world.store.write(lambda tx: tx.asks.set_record(ask.id, str(file), record_since=tx.at))
    await world.store.write(lambda tx: tx.asks.leave_to_window(ask.id, record_since=tx.at))
    change(file, world, after=0)


def change(file: Path, world: World, *, after: float) -> None:
    """Set the time of the record's last change, in seconds after the ask was opened."""
    at = (world.clock.now() + timedelta(seconds=after)).timestamp()
    os.utime(file, (at, at))


async def open_asks(world: World) -> int:
    return len(await world.store.read(lambda tx: tx.asks.list_open(after="", limit=9)))


async def test_the_ask_stays_until_the_record_changes_after_a_moment(world: World, record: Path) -> None:
    job = WindowAskJob(world.store)
    assert await job.run_once() is not None and await open_asks(world) == 1
    change(record, world, after=0.1)
    assert await job.run_once() is None and await open_asks(world) == 0
    session = await world.store.read(lambda tx: tx.sessions.by_name(VC, "codex"))
    assert (session.status, session.status_source) == (SessionStatus.IDLE, StatusSource.HOOK)
    assert await job.run_once() is None


async def test_a_record_outside_the_folder_of_the_tool_is_not_read(
    world: World, record: Path, tmp_path: Path
) -> None:
    outside = tmp_path / "outside.jsonl"
    outside.write_text("{}\n")
    await world.store.write(
        lambda tx: [
            tx.asks.set_record(ask.id, str(outside), record_since=tx.at)
            for ask in tx.asks.list_open(after="", limit=9)
        ]
    )
    change(outside, world, after=99)
    assert await WindowAskJob(world.store).run_once() is not None and await open_asks(world) == 1
