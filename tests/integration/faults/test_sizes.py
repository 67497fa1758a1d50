"""The database file shrinks after retention, and a running server limits the size of its log."""

from __future__ import annotations

import contextlib
import itertools
import sqlite3
import time
from datetime import timedelta
from pathlib import Path

import pytest

from maestro.core import limits
from maestro.domain.callers import Caller
from maestro.operations import tasks
from maestro.operations.task_shapes import CreateTask
from maestro.server.app import Server
from maestro.services.housekeeping.released_space import SpaceReleaseJob
from maestro.services.housekeeping.retention import EventRetentionJob
from maestro.store.layout import DATABASE
from maestro.testing.clock import FakeClock
from maestro.testing.live import LiveServer

OLD_EVENTS = 30_000


def fill(home: Path, clock: FakeClock) -> int:
    """Write many old events; return the size of the database file."""
    at = int((clock.now() - timedelta(days=400)).timestamp()) * 1_000_000
    with contextlib.closing(sqlite3.connect(home / DATABASE)) as database:
        database.executemany(
            "INSERT INTO events (at, project, kind, version, actor, subject, data) VALUES (?, 'p', 'k', 1, 'a', ?, ?)",
            [(at, f"s{number}", "x" * 500) for number in range(OLD_EVENTS)],
        )
        database.execute("UPDATE events SET at = ?", (at,))
        database.commit()
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return (home / DATABASE).stat().st_size


async def let_go(server: Server) -> list[int]:
    """Run retention and the release of space to their ends; return the free pages before each slice."""
    await server.background_jobs.close()
    retention, space = EventRetentionJob(server.store, events_days=90), SpaceReleaseJob(server.store)
    while (await retention.run_once() or server.clock.now()) <= server.clock.now():
        pass
    free = []
    while True:
        free.append((await server.store.read(lambda tx: tx.space.page_usage()))[0])
        due = await space.run_once()
        assert due is not None and len(free) < 10_000
        if due > server.clock.now() + timedelta(seconds=1):
            return free


async def test_the_database_file_shrinks_after_retention(
    server: Server, clock: FakeClock, vc: str, dana: Caller
) -> None:
    await server.call(tasks.CREATE, CreateTask(project=vc, title="kept"), caller=dana)
    large = fill(server.home, clock)
    free = await let_go(server)
    slices = [before - after for before, after in itertools.pairwise(free)]
    assert max(slices) <= limits.released_pages_at_once, "a long slice would delay writers"
    await server.close()
    assert (server.home / DATABASE).stat().st_size < large / 5
    with contextlib.closing(sqlite3.connect(server.home / DATABASE)) as database:
        assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        assert database.execute("SELECT title FROM tasks").fetchall() == [("kept",)]


async def test_a_database_of_an_earlier_version_can_shrink_after_its_next_start(
    tmp_path: Path, clock: FakeClock
) -> None:
    home = tmp_path / "data"
    home.mkdir(mode=0o700)
    await Server(home, clock=clock).close()
    with contextlib.closing(sqlite3.connect(home / DATABASE)) as database:
        database.execute("PRAGMA journal_mode = DELETE")
        database.execute("PRAGMA auto_vacuum = NONE")
        database.execute("VACUUM")
    large = fill(home, clock)
    server = Server(home, clock=clock)
    await let_go(server)
    await server.close()
    assert (home / DATABASE).stat().st_size < large / 5


@pytest.mark.slow
async def test_a_large_database_of_an_earlier_version_is_compacted_by_hand(
    tmp_path: Path, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "data"
    home.mkdir(mode=0o700)
    await Server(home, clock=clock).close()
    with contextlib.closing(sqlite3.connect(home / DATABASE)) as database:
        database.execute("PRAGMA journal_mode = DELETE")
        database.execute("PRAGMA auto_vacuum = NONE")
        database.execute("VACUUM")
    fill(home, clock)
    monkeypatch.setattr(limits, "compact_at_start_bytes_max", 1024)
    await Server(home, clock=clock).close()
    with contextlib.closing(sqlite3.connect(home / DATABASE)) as database:
        assert database.execute("PRAGMA auto_vacuum").fetchone() == (0,), "a start must not make a large copy"
    live = LiveServer(home)
    done = live.run_command("doctor", "--compact")
    assert done.returncode == 0, done
    assert b"compacted" in done.stdout
    with contextlib.closing(sqlite3.connect(home / DATABASE)) as database:
        assert database.execute("PRAGMA auto_vacuum").fetchone() == (2,)
    with live:
        refused = live.run_command("doctor", "--compact")
        assert refused.returncode == 5 and b"maestro down" in refused.stderr


def test_the_log_of_a_running_server_is_cut(tmp_path: Path) -> None:
    home = tmp_path / "data"
    home.mkdir(mode=0o700)
    log = home / "server.log"
    log.write_bytes(b"x" * (limits.log_bytes_max + 1))
    with LiveServer(home) as live:
        deadline = time.monotonic() + 30
        while not (home / "server.log.1").exists() or log.stat().st_size > limits.log_bytes_max:
            assert time.monotonic() < deadline
            time.sleep(0.05)
        live.stop()
    assert "stopping" in log.read_text(), "the server continues to write to the same file"
