"""The reconcile job checks sessions in rounds. tests/integration/services/recovery uses real runners."""

from __future__ import annotations

import fcntl
from collections.abc import Awaitable, Callable

import pytest

from maestro.core import limits
from maestro.domain.callers import Caller
from maestro.server.app import Server
from maestro.services.recovery.reconcile import ReconcileJob
from maestro.testing.factories import make_spawn
from maestro.wire import runner_folder

Join = Callable[..., Awaitable[Caller]]


async def test_an_empty_batch_after_a_full_batch_does_not_end_the_job(
    server: Server, vc: str, join: Join, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "job_batch_rows_max", 1)
    worker = await join("w")
    await server.store.write(
        lambda tx: tx.spawns.insert(make_spawn(worker.session_id or "", created_at=tx.at), manifest=b"{}")
    )
    folder = server.home / runner_folder.SESSIONS / (worker.session_id or "")
    folder.mkdir(parents=True)
    parts = server.parts
    job = ReconcileJob(
        server.store,
        parts.runners.runners,
        parts.supervision.launcher,
        parts.supervision.starts,
        parts.recovery.findings,
        clock=server.clock,
    )
    with (folder / runner_folder.LOCK).open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # as a live runner does
        assert await job.run_once() == server.clock.now(), "the batch is full: the next batch follows at once"
        due = await job.run_once()
        assert due is not None and due > server.clock.now(), "one session lives: the job is due again"
