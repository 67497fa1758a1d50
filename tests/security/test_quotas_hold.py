"""Tests of quotas: no session can fill the store, the task list or the person's asks.

The quotas do not apply to the person and to imports from trackers.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from maestro.core import errors, limits
from maestro.domain.callers import Caller, Role
from maestro.domain.messages import MessageType
from maestro.domain.trackers import TRACKER_PREFIX
from maestro.operations import asks as ask_ops
from maestro.operations import documents as document_ops
from maestro.operations import mail as mail_ops
from maestro.operations import mail_shapes
from maestro.operations import sessions as session_ops
from maestro.operations import tasks as task_ops
from maestro.server.app import Server
from maestro.services.hooks.permission_hold import PermissionHolds
from maestro.services.quotas import quotas
from maestro.services.quotas.families import Families
from maestro.store.base import Tx
from maestro.testing.clock import FakeClock
from maestro.tools.hook_dialect import HookEvent, HookMoment

Join = Callable[..., Any]
BIG = b"x" * (limits.inline_bytes_max + 1)
DAY_SECONDS = 24 * 3600
PATIENCE_SECONDS = 10.0


async def until_refused(many: int, once: Callable[[int], Any]) -> int:
    """Repeat a call until the server refuses, and return the number of successful calls."""
    for count in range(many):
        try:
            await once(count)
        except errors.LimitReached:
            return count
    return many


def register(server: Server, caller: Caller, **fields: Any) -> Callable[[int], Any]:
    def once(number: int) -> Any:
        request = session_ops.RegisterSession(name=f"{caller.title or 'by'}-{number}", **fields)
        return server.call(session_ops.REGISTER, request, caller=caller)

    return once


def create(server: Server, caller: Caller, **fields: Any) -> Callable[[int], Any]:
    def once(number: int) -> Any:
        return server.call(task_ops.CREATE, task_ops.CreateTask(title=f"t{number}", **fields), caller=caller)

    return once


def ask(server: Server, caller: Caller) -> Callable[[int], Any]:
    def once(number: int) -> Any:
        return server.call(ask_ops.CREATE, ask_ops.CreateAsk(title=f"Which port? {number}"), caller=caller)

    return once


async def child_of(server: Server, parent: Caller, name: str) -> Caller:
    made = await server.call(session_ops.REGISTER, session_ops.RegisterSession(name=name), caller=parent)
    return await server.identify(token=made.token, peer=None)


# Tests of sessions


async def test_a_session_registers_children_up_to_the_limit(server: Server, join: Join) -> None:
    worker = await join("worker")
    assert await until_refused(500, register(server, worker)) == limits.sessions_per_parent_default


async def test_a_child_that_has_ended_frees_a_place_in_the_quota(
    server: Server, join: Join, clock: FakeClock
) -> None:
    worker = await join("worker")
    assert await until_refused(500, register(server, worker)) == limits.sessions_per_parent_default
    clock.advance(61)
    found = await server.store.read(lambda tx: tx.sessions.list_children(worker.name, limit=1))
    await server.call(session_ops.END, session_ops.EndSession(id=found[0].id), caller=worker)
    assert await until_refused(5, lambda number: register(server, worker)(1_000 + number)) == 1


async def test_grandchildren_count_in_the_quota_of_the_family(server: Server, join: Join) -> None:
    """Register children and grandchildren: the family has a common limit per minute."""
    worker = await join("worker")
    made = 0
    for number in range(20):
        with contextlib.suppress(errors.LimitReached):
            child = await child_of(server, worker, f"child-{number}")
            made += 1 + await until_refused(100, register(server, child))
    assert made <= limits.sessions_per_minute_default


async def test_the_person_registers_sessions_without_a_limit(server: Server, dana: Caller, vc: str) -> None:
    assert await until_refused(400, register(server, dana, project=vc)) == 400


# Tests of tasks


async def test_a_family_creates_tasks_up_to_the_limit_per_minute(
    server: Server, join: Join, clock: FakeClock
) -> None:
    worker = await join("worker")
    assert await until_refused(1_000, create(server, worker)) == limits.tasks_per_minute_default
    child = await child_of(server, worker, "child")
    assert await until_refused(10, create(server, child)) == 0
    clock.advance(61)
    assert await until_refused(10, create(server, child)) == 10


async def test_the_person_creates_tasks_without_a_limit(server: Server, dana: Caller, vc: str) -> None:
    assert await until_refused(1_000, create(server, dana, project=vc)) == 1_000


# Tests of asks


async def test_a_session_has_open_asks_up_to_the_limit(server: Server, join: Join) -> None:
    worker = await join("worker")
    assert await until_refused(300, ask(server, worker)) == limits.asks_per_session_default
    with pytest.raises(errors.LimitReached):  # a query to the person is an ask too
        query = mail_shapes.SendMail(to=["human"], subject="s", message="b", type=MessageType.QUERY)
        await server.call(mail_ops.SEND, query, caller=worker)
    found = await server.call(ask_ops.LIST, ask_ops.ListAsks(), caller=worker)
    await server.call(ask_ops.WITHDRAW, ask_ops.OneAsk(id=found.asks[0].id), caller=worker)
    assert await until_refused(5, ask(server, worker)) == 1


async def test_the_children_of_a_parent_together_have_open_asks_up_to_the_limit(server: Server, join: Join) -> None:
    worker = await join("worker")
    asked = 0
    for number in range(20):
        asked += await until_refused(20, ask(server, await child_of(server, worker, f"child-{number}")))
    assert asked == limits.asks_per_parent_default


async def test_withdrawn_asks_count_in_the_limit_per_minute(server: Server, join: Join) -> None:
    worker = await join("worker")

    async def ask_and_withdraw(number: int) -> None:
        made = await ask(server, worker)(number)
        await server.call(ask_ops.WITHDRAW, ask_ops.OneAsk(id=made.id), caller=worker)

    assert await until_refused(500, ask_and_withdraw) == limits.asks_per_minute_default


async def test_permission_hooks_count_in_the_limit_of_open_asks(server: Server, join: Join) -> None:
    """Fire permission hooks: each hook opens an ask until the quota is used up."""
    worker = await join("worker")
    holding = PermissionHolds(server.store, server.hub, may_ask=server.parts.quotas.quotas.count_ask)

    def hold(number: int) -> asyncio.Task[Any]:
        wanted = HookEvent(tool="claude", event="PermissionRequest", moment=HookMoment.ASKS, summary=f"rm {number}")
        return asyncio.create_task(holding.hold_call(worker, wanted))

    waiting = {hold(number) for number in range(100)}
    refused: set[asyncio.Task[Any]] = set()
    while len(waiting) > limits.asks_per_session_default:
        more, waiting = await asyncio.wait(waiting, timeout=PATIENCE_SECONDS, return_when=asyncio.FIRST_EXCEPTION)
        assert more, "the server still holds too many calls"
        refused |= more
    assert len(waiting) == limits.asks_per_session_default
    assert {type(one.exception()) for one in refused} == {errors.LimitReached}
    for one in waiting:
        one.cancel()
    await asyncio.gather(*waiting, return_exceptions=True)


async def test_an_import_of_a_tracker_has_no_limit(server: Server) -> None:
    """Count tasks for a name in a tracker, which is no session."""
    tracker = Caller(Role.PERSON, f"{TRACKER_PREFIX}ada")

    def import_many(tx: Tx) -> None:
        for number in range(2 * limits.tasks_per_minute_default):
            server.parts.quotas.quotas.count_new_task(
                tx, tracker, task_ops.CreateTask(title=f"t{number}", description="x" * 9)
            )

    await server.store.read(import_many)


# Tests of bytes


@pytest.fixture
def cramped(server: Server) -> Server:
    """Return the server with a small quota of bytes."""
    server.parts.quotas.quotas.bounds = quotas.QuotaBounds(project_bytes_per_day=3 * len(BIG))
    return server


def add(server: Server, caller: Caller, task_id: str) -> Callable[[int], Any]:
    def once(number: int) -> Any:
        content = BIG[:-1] + str(number % 10).encode()
        request = document_ops.AddDocument(id=task_id, title="d", content=content)
        return server.call(document_ops.ADD, request, caller=caller)

    return once


async def hold_task(server: Server, worker: Caller) -> str:
    task = await server.call(task_ops.CREATE, task_ops.CreateTask(title="t"), caller=worker)
    await server.call(task_ops.START, task_ops.StartTask(id=task.id), caller=worker)
    found: str = task.id
    return found


async def test_a_project_stores_bytes_up_to_the_limit_per_day(
    cramped: Server, join: Join, clock: FakeClock, dana: Caller
) -> None:
    worker, another = await join("worker"), await join("another")
    task_id = await hold_task(cramped, worker)
    assert await until_refused(10, add(cramped, worker, task_id)) == 3
    attach = [mail_shapes.MailFile(file_name="f", content=BIG + b"mail")]
    letter = mail_shapes.SendMail(to=["human"], subject="s", message="b", attach=attach)
    with pytest.raises(errors.LimitReached):
        await cramped.call(mail_ops.SEND, letter, caller=another)
    with pytest.raises(errors.LimitReached):
        await create(cramped, another, description="x" * 100_000)(1)
    assert len(cramped.blobs.all_files()) == 3  # refused requests leave no file
    assert await until_refused(5, add(cramped, dana, task_id)) == 5
    clock.advance(DAY_SECONDS)
    assert await until_refused(1, add(cramped, dana, task_id)) == 1
    await cramped.call(mail_ops.SEND, letter, caller=another)


async def test_a_refused_upload_does_not_count_in_the_quota(cramped: Server, join: Join) -> None:
    worker = await join("worker")
    task_id = await hold_task(cramped, worker)
    for _ in range(10):
        with pytest.raises(errors.NotFound):
            await add(cramped, worker, "vc#999")(0)
    assert await until_refused(10, add(cramped, worker, task_id)) == 3


async def test_a_new_server_counts_the_bytes_that_were_stored_on_the_same_day(
    server: Server, join: Join, clock: FakeClock
) -> None:
    worker = await join("worker")
    task_id = await hold_task(server, worker)
    await add(server, worker, task_id)(0)
    attach = [mail_shapes.MailFile(file_name="f", content=BIG)]
    letter = mail_shapes.SendMail(to=["human"], subject="s", message="x" * limits.message_chars_max, attach=attach)
    await server.call(mail_ops.SEND, letter, caller=worker)
    stored = 2 * len(BIG) + limits.message_chars_max
    anew = quotas.Quotas(Families(), quotas.QuotaBounds(project_bytes_per_day=stored + 1))
    await anew.load_bytes_of_day(server.store)
    anew.count_bytes(worker, 1, at=clock.now())
    with pytest.raises(errors.LimitReached) as refused:
        anew.count_bytes(worker, 1, at=clock.now())
    assert refused.value.data["used"] == stored + 1


# Tests of settings


async def test_every_quota_can_be_switched_off_in_the_settings(tmp_path: Path, clock: FakeClock) -> None:
    home = tmp_path / "set"
    home.mkdir(mode=0o700)
    names = quotas.QuotaBounds.__struct_fields__
    (home / "config.toml").write_text("".join(f"{name} = 0\n" for name in names))
    server = Server(home, clock=clock)
    try:
        assert server.parts.quotas.quotas.bounds == quotas.QuotaBounds(**dict.fromkeys(names, 0))
    finally:
        await server.close()
