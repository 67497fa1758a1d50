"""References find sessions; only the person, the session and the sessions above have authority over a session."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from tests.unit.services.conftest import OTHER, World

from maestro.core import errors
from maestro.domain.callers import Caller
from maestro.services.access import session_relations as relations


async def find(world: World, ref: str, *, by: Caller | None = None, project: str = "vc") -> str:
    found = await world.store.read(lambda tx: relations.find_session(tx, by or world.dana, ref, project=project))
    return found.id


async def is_above(world: World, above: Caller, below: Caller) -> bool:
    session = await world.session(below)
    return await world.store.read(lambda tx: relations.is_same_or_above(tx, above.name, session))


async def require_authority(world: World, caller: Caller, session: Caller) -> None:
    record = await world.session(session)
    await world.store.read(lambda tx: relations.require_authority(tx, caller, record, action="stop"))


async def test_a_caller_without_a_session_has_no_own_session(world: World) -> None:
    worker = await world.join("w")
    assert (await world.store.read(lambda tx: relations.own_session(tx, worker))).id == worker.name
    unknown = msgspec.structs.replace(worker, session_id="ses_unknown")
    for caller in (world.dana, unknown):
        with pytest.raises(errors.NotFound, match="You are not a session"):
            await world.store.read(lambda tx, caller=caller: relations.own_session(tx, caller))


async def test_an_ended_session_is_no_live_caller(world: World) -> None:
    worker = await world.join("w")

    async def require_live(caller: Caller) -> None:
        await world.store.read(lambda tx: relations.require_live_caller(tx, caller))

    for caller in (worker, world.dana):
        await require_live(caller)
    await world.end(worker)
    with pytest.raises(errors.NotAuthenticated, match="has ended"):
        await require_live(worker)


async def test_a_session_is_found_by_id_and_by_name_in_its_project(world: World) -> None:
    worker, stranger = await world.join("w"), await world.join("stranger", project=OTHER.id)
    for ref in ("w", "session:w", worker.name, f"session:{worker.name}"):
        assert await find(world, ref) == worker.name
    assert await find(world, "w", by=worker, project="") == worker.name
    assert await find(world, worker.name, by=stranger, project="") == worker.name, "an id needs no project"
    for caller, project in ((world.dana, ""), (stranger, ""), (world.dana, "other")):
        with pytest.raises(errors.NotFound, match="no session 'w'"):
            await find(world, "w", by=caller, project=project)


async def test_a_name_means_the_live_session_else_the_last_session(world: World) -> None:
    first = await world.join("w")
    await world.end(first)
    second = await world.join("w")
    assert await find(world, "w") == second.name
    await world.end(second)
    assert await find(world, "w") == second.name


async def test_a_session_is_above_the_sessions_that_it_started_at_any_depth(world: World) -> None:
    top = await world.boss("top")
    middle = await world.boss("middle", under=top)
    bottom, beside = await world.join("bottom", under=middle), await world.join("beside", under=top)
    assert await is_above(world, top, bottom) and await is_above(world, bottom, bottom)
    assert not await is_above(world, bottom, top) and not await is_above(world, beside, bottom)


async def test_authority_over_a_session_is_with_the_person_and_the_sessions_above(world: World) -> None:
    top = await world.boss("top")
    worker, beside = await world.join("w", under=top), await world.join("beside", under=top)
    for caller in (world.dana, top, worker):
        await require_authority(world, caller, worker)
    for caller, session in ((beside, worker), (worker, top)):
        with pytest.raises(errors.NotPermitted, match="may stop only itself and the sessions that it started"):
            await require_authority(world, caller, session)


async def test_a_session_of_another_project_cannot_read_the_texts_of_a_session(world: World) -> None:
    worker, stranger = await world.join("w"), await world.boss("stranger", project=OTHER.id)
    record = await world.session(worker)

    async def require_same(caller: Caller) -> None:
        await world.store.read(lambda tx: relations.require_same_project(tx, caller, record, action="read its logs"))

    for caller in (world.dana, worker, await world.join("peer")):
        await require_same(caller)
    with pytest.raises(
        errors.NotPermitted, match="project vc: only sessions of that project read its logs"
    ) as refused:
        await require_same(stranger)
    assert refused.value.data == {"id": worker.name, "project": "vc"}


async def test_the_sessions_above_a_live_session_and_the_person_may_open_its_mailbox(world: World) -> None:
    top = await world.boss("top")
    worker, beside = await world.join("w", under=top), await world.join("beside", under=top)

    async def open_mailbox(caller: Caller) -> Any:
        return await world.store.read(lambda tx: relations.caller_of_mailbox(tx, caller, "w", project="vc"))

    assert (await open_mailbox(top)).name == (await open_mailbox(world.dana)).name == worker.name
    with pytest.raises(errors.NotPermitted, match="look into the inbox of"):
        await open_mailbox(beside)
    await world.end(worker)
    with pytest.raises(errors.Conflict, match="w has ended"):
        await open_mailbox(top)


async def test_a_session_watches_events_of_its_own_end_and_the_person_watches_none(world: World) -> None:
    worker = await world.join("w")
    assert relations.own_end_subjects(worker) == [worker.name]
    assert relations.own_end_subjects(world.dana) == []
