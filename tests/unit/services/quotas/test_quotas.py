"""Quotas count live registered sessions, and count each request once although its batch runs again."""

from __future__ import annotations

import asyncio
from typing import Any

from maestro.core import errors
from maestro.domain import manifests
from maestro.domain.callers import Caller
from maestro.domain.members import Permission
from maestro.domain.spawns import Spawn
from maestro.operations.task_shapes import CreateTask
from maestro.services.mail.rate_limit import MailLimiter
from maestro.services.quotas.families import Families
from maestro.services.quotas.quotas import QuotaBounds, Quotas
from maestro.store.base import Tx
from maestro.testing.manifests import make_manifest

World = Any


async def mark_spawned(world: World, caller: Caller) -> None:
    """Store a spawn for a session."""

    def write(tx: Tx) -> None:
        spawn = Spawn(
            session_id=caller.name,
            tool="claude",
            arguments=[],
            model=None,
            permission=Permission.EDIT,
            strategy="simple",
            template="execute-simple",
            directory="/src/dave/vc",
            run_id=None,
            runner_pid=None,
            runner_started=None,
            exit_code=None,
            exit_signal=None,
            tail=None,
            created_at=tx.at,
            ended_at=None,
        )
        tx.spawns.insert(spawn, manifest=manifests.encode_manifest(make_manifest()))

    await world.store.write(write)


async def test_only_live_registered_children_count_for_the_quota_of_sessions(world: World) -> None:
    boss = await world.boss("boss")
    children = [await world.join(f"child-{number}", under=boss) for number in range(3)]
    await mark_spawned(world, children[0])

    async def count(limit: int = 10) -> int:
        found: int = await world.store.read(lambda tx: tx.sessions.count_registered(boss.name, limit=limit))
        return found

    assert (await count(), await count(limit=1)) == (2, 1)
    await world.end(children[1])
    assert await count() == 1


async def test_a_batch_of_writes_that_runs_again_counts_once_for_quotas_and_mail_limits(world: World) -> None:
    """Each bound is exactly the use of the four successful writes, so a double count would refuse a write."""
    worker = await world.join("worker")
    quotas = Quotas(Families(), QuotaBounds(tasks_per_minute=4, project_bytes_per_day=40))
    guard = MailLimiter(Families(), per_minute=4, per_minute_of_family=4, per_minute_of_project=4)
    request = CreateTask(title="t", description="0123456789")

    def take(tx: Tx) -> None:
        quotas.count_new_task(tx, worker, request)
        guard.count_message(tx, worker, "mailbox", name="mailbox")
        mark(tx)

    def mark(tx: Tx) -> None:
        tx.sessions.renew_leases(worker.name, at=tx.at)

    def fail_halfway(tx: Tx) -> None:
        mark(tx)
        raise errors.Conflict("no")

    works = [take, take, fail_halfway, take, take]
    answers = await asyncio.gather(*(world.store.write(work) for work in works), return_exceptions=True)
    assert [type(answer).__name__ for answer in answers] == [
        "NoneType",
        "NoneType",
        "Conflict",
        "NoneType",
        "NoneType",
    ]
    refused = await asyncio.gather(world.store.write(take), return_exceptions=True)
    assert isinstance(refused[0], errors.LimitReached)
