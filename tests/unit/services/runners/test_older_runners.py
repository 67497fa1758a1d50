"""The server records live runners of an earlier version, and finds live runners that the store does not know."""

from __future__ import annotations

import fcntl
import os
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from maestro.services.runners.older_runners import find_unknown_runners, record_older_runners
from maestro.system import processes
from maestro.testing.factories import make_spawn
from maestro.wire import runner_folder

World = Any
Folders = Any


@pytest.fixture
def program() -> Iterator[processes.Process]:
    """Start a child process of this process; this process stands for the runner."""
    started = subprocess.Popen(["sleep", "600"])
    process = processes.find_process(started.pid)
    assert process is not None
    yield process
    started.kill()
    started.wait()


@pytest.fixture
def runner() -> processes.Process:
    process = processes.find_process(os.getpid())
    assert process is not None
    return process


async def add_older_spawn(world: World, database: Path) -> str:
    """Store a session that an earlier version of the server has started, and return the id of the session."""
    caller = await world.join("w")
    await world.store.write(lambda tx: tx.spawns.insert(make_spawn(caller.name), manifest=b""))
    with closing(sqlite3.connect(database, isolation_level=None)) as connection:
        connection.execute("UPDATE spawns SET has_older_runner = 1")  # only a migration sets the mark
    return str(caller.name)


async def recorded_runner(world: World, session_id: str) -> tuple[int | None, str | None]:
    spawn = await world.store.read(lambda tx: tx.spawns.get(session_id))
    return spawn.runner_pid, spawn.runner_started


def write_note(
    folders: Folders, session_id: str, runner: processes.Process, program: processes.Process, *, changed: Any = None
) -> None:
    values: dict[str, Any] = {
        "runner": runner.pid,
        "runner_started": runner.started,
        "program": program.pid,
        "program_started": program.started,
    }
    folders.write_note(session_id, **(values | (changed or {})))


async def test_the_spawn_of_an_older_runner_is_completed_from_its_identity_file(
    world: World, folders: Folders, tmp_path: Path, runner: processes.Process, program: processes.Process
) -> None:
    session_id = await add_older_spawn(world, tmp_path / "maestro.db")
    write_note(folders, session_id, runner, program)
    await record_older_runners(world.store, folders.runners)
    assert await recorded_runner(world, session_id) == (runner.pid, runner.started)


@pytest.mark.parametrize(
    "fields",
    [{"epoch": 2}, {"runner_started": "another start"}, {"program_started": "another start"}, {"program": 2**22 + 1}],
    ids=str,
)
async def test_an_identity_file_with_other_processes_or_another_start_does_not_count(
    world: World,
    folders: Folders,
    tmp_path: Path,
    runner: processes.Process,
    program: processes.Process,
    fields: dict[str, Any],
) -> None:
    session_id = await add_older_spawn(world, tmp_path / "maestro.db")
    write_note(folders, session_id, runner, program, changed=fields)
    await record_older_runners(world.store, folders.runners)
    assert await recorded_runner(world, session_id) == (None, None)


async def test_the_spawn_of_a_runner_of_this_version_is_not_changed(
    world: World, folders: Folders, runner: processes.Process, program: processes.Process
) -> None:
    caller = await world.join("w")
    await world.store.write(lambda tx: tx.spawns.insert(make_spawn(caller.name), manifest=b""))
    write_note(folders, caller.name, runner, program)
    await record_older_runners(world.store, folders.runners)
    assert await recorded_runner(world, caller.name) == (None, None)


async def test_only_live_runners_of_unknown_sessions_are_found(
    world: World, folders: Folders, runner: processes.Process, program: processes.Process
) -> None:
    known = await world.join("w")
    await world.store.write(lambda tx: tx.spawns.insert(make_spawn(known.name), manifest=b""))
    for session_id in (known.name, "ses_restored", "ses_ended"):
        write_note(folders, session_id, runner, program)
    locks = [folders.write(name, runner_folder.LOCK, "") for name in (known.name, "ses_restored", "ses_ended")]
    with locks[0].open("r+") as first, locks[1].open("r+") as second:
        for file in (first, second):
            fcntl.flock(file, fcntl.LOCK_EX)
        found = await find_unknown_runners(world.store, folders.runners)
    assert found == {(runner.pid, runner.started): "ses_restored"}
