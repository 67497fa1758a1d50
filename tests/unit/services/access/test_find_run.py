"""A request names a run by its id, by a part of its id, or by its task."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from tests.unit.services.conftest import OTHER, VC, World

from maestro.core import errors
from maestro.domain.callers import Caller
from maestro.domain.runs import Run, RunStatus
from maestro.operations import runs as ops
from maestro.services.access.find_run import find_run
from maestro.services.runs import control as runs


async def start(world: World, task: Any) -> Run:
    world.clock.advance(0.01)  # a later time gives each run a later id
    run: Run = await world.do(runs.start_run, ops.StartRun(project=VC.id, task=task.id, tool="claude"))
    return run


async def add_run(world: World, like: Run, run_id: str) -> None:
    run = msgspec.structs.replace(like, id=run_id)
    await world.store.write(lambda tx: tx.runs.insert(run))


async def find(world: World, name: str, *, by: Caller | None = None, project: str = "vc") -> str:
    found: Run = await world.store.read(lambda tx: find_run(tx, by or world.dana, name, project=project))
    return found.id


async def test_a_run_is_found_by_its_id_and_by_parts_of_its_id(world: World) -> None:
    run = await start(world, await world.task())
    for name in (run.id, run.id[:-2], run.id.removeprefix("run_")[:12], run.id[-4:], f"…{run.id[-6:]}"):
        assert await find(world, name) == run.id


async def test_a_task_reference_finds_the_newest_run_of_the_task(world: World) -> None:
    task = await world.task()
    first = await start(world, task)
    await world.store.write(lambda tx: tx.runs.change_status(first, RunStatus.STOPPED, note="", at=tx.at))
    second = await start(world, task)
    for name in ("#1", "vc#1", task.id):
        assert await find(world, name) == second.id


async def test_a_reference_to_a_task_without_a_run_finds_no_run(world: World) -> None:
    await world.task()
    with pytest.raises(errors.NotFound, match="no run '#1'"):
        await find(world, "#1")


async def test_fewer_than_four_characters_of_an_id_find_no_run(world: World) -> None:
    run = await start(world, await world.task())
    with pytest.raises(errors.NotFound):
        await find(world, run.id[-3:])


async def test_an_ambiguous_part_of_an_id_is_refused_with_the_candidates(world: World) -> None:
    run = await start(world, await world.task())
    other_id = f"run_{'0' * 20}{run.id[-6:]}"
    await add_run(world, run, other_id)
    with pytest.raises(errors.Ambiguous) as refused:
        await find(world, run.id[-6:])
    assert sorted(refused.value.data["candidates"]) == sorted([run.id, other_id])
    assert await find(world, run.id[-8:]) == run.id


async def test_a_run_of_another_project_is_not_found(world: World) -> None:
    run = await start(world, await world.task())
    stranger = await world.boss("stranger", project=OTHER.id)
    for name in (run.id, run.id[-6:], "#1"):
        with pytest.raises(errors.NotFound):
            await find(world, name, by=stranger, project="")
    with pytest.raises(errors.NotFound, match="no run"):
        await find(world, run.id[-6:], by=stranger, project="vc")
