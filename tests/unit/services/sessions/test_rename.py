"""The person, the session itself and the sessions above it rename a session; mail and tasks stay with the session."""

from __future__ import annotations

from typing import Any

import pytest

from maestro.core import errors
from maestro.domain.events import EventKind
from maestro.operations import session_settings as ops
from maestro.services.sessions.rename import rename_session

World = Any


async def rename(world: World, session: str, name: str, *, by: Any = None) -> Any:
    request = ops.RenameSession(id=session, name=name, project="" if by and by.is_session else "vc")
    return await world.do(rename_session, request, by=by)


async def test_a_renamed_session_gets_mail_under_its_new_name_and_keeps_its_tasks(world: World) -> None:
    worker = await world.join("claude-2")
    held = await world.task(held_by=worker)
    renamed = await rename(world, "claude-2", "parser")
    assert (renamed.id, renamed.name) == (worker.name, "parser")
    await world.send(None, "parser")
    assert await world.store.read(lambda tx: tx.deliveries.count_open(worker.name, reader=worker.name)) == 1
    assert (await world.store.read(lambda tx: tx.tasks.get(held.id))).holder == worker.name
    (event,) = [event for event in await world.log() if event.kind == EventKind.SESSION_RENAMED]
    assert (event.subject, event.data) == (worker.name, {"from": "claude-2", "name": "parser"})


async def test_a_taken_name_a_reserved_name_and_an_ended_session_are_refused(world: World) -> None:
    await world.join("a")
    ended = await world.join("b")
    with pytest.raises(errors.NameTaken):
        await rename(world, "b", "a")
    with pytest.raises(errors.Invalid, match="reserved"):
        await rename(world, "b", "human")
    await world.end(ended)
    with pytest.raises(errors.Conflict, match="has ended"):
        await rename(world, ended.name, "c")


async def test_a_session_renames_itself_and_its_workers_and_no_other_session(world: World) -> None:
    boss = await world.boss("boss")
    worker, stranger = await world.join("w", under=boss), await world.join("s")
    assert (await rename(world, "w", "w2", by=worker)).name == "w2"
    assert (await rename(world, "w2", "w3", by=boss)).name == "w3"
    with pytest.raises(errors.NotPermitted, match="may rename"):
        await rename(world, "w3", "w4", by=stranger)


async def test_the_same_name_again_changes_nothing(world: World) -> None:
    await world.join("a")
    await rename(world, "a", "a")
    assert EventKind.SESSION_RENAMED not in [event.kind for event in await world.log()]
