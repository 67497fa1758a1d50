"""Provide sessions that Maestro has started, alone or for a run."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from maestro.domain.callers import Caller
from maestro.domain.runs import RunStatus
from maestro.testing.factories import make_run, make_spawn

World = Any


@pytest.fixture
def spawn(world: World) -> Callable[..., Awaitable[Caller]]:
    """Return a function that registers a spawned session; with `run`, the session belongs to a run of that status."""

    next_pid = 2**22  # above the pids of real processes

    async def start(name: str, *, run: RunStatus | None = None, **fields: Any) -> Caller:
        nonlocal next_pid
        caller: Caller = await world.join(name, **fields)
        next_pid += 1
        task = await world.task() if run is not None else None

        def write(tx: Any) -> None:
            made = make_run(task.id, status=run) if task is not None else None
            if made is not None:
                tx.runs.insert(made)
            tx.spawns.insert(make_spawn(caller.name, run_id=made.id if made else None), manifest=b"")
            tx.spawns.set_process(caller.name, pid=next_pid, started="1")

        await world.store.write(write)
        return caller

    return start
