"""A primer tells a caller its identity, its related sessions, its tasks and its unread mail."""

from __future__ import annotations

from typing import Any

from maestro.core import limits
from maestro.operations.primer import ReadPrimer
from maestro.operations.task_shapes import StartTask
from maestro.services.sessions import primers
from maestro.services.tasks import moves

World = Any


async def read(world: World, caller: Any, *, tools: bool = False) -> str:
    found = await world.store.read(lambda tx: primers.read_primer(tx, caller, ReadPrimer(tools=tools)))
    return str(found.text)


async def test_the_primer_of_a_worker_names_its_coordinator_its_siblings_and_its_tasks(world: World) -> None:
    boss = await world.boss("boss")
    assigned, held = await world.task(), await world.task()
    worker = await world.join("w", under=boss, task=[assigned.id, held.id], path="/src/dave/vc")
    await world.join("sibling", under=boss)
    ended = await world.join("ended", under=boss)
    await world.end(ended)
    await world.task()
    await world.send(None, "w")
    await world.do(moves.start_task, StartTask(id=held.id), by=worker)
    text = await read(world, worker)
    assert "You are w, worker in Maestro, project vc, at dave/vc, for dana." in text
    assert "Your coordinator: boss" in text
    assert "Your siblings: sibling" in text and "ended" not in text
    held_lines = "You hold:\n- vc#2 (in_progress) t\n"
    assigned_lines = "You were started for:\n- vc#1 (ready) t\n"
    assert f"{held_lines}{assigned_lines}Ready tasks: 2. Unread messages: 1.\n" in text


async def test_the_primer_of_a_coordinator_names_its_workers_and_the_spawn_command(world: World) -> None:
    boss = await world.boss("boss")
    await world.join("w", under=boss)
    text = await read(world, boss)
    assert "Your workers: w" in text and "Your coordinator" not in text
    assert "maestro session spawn" in text


async def test_the_primer_of_a_new_worker_names_no_coordinator_no_ready_tasks_and_no_mail(world: World) -> None:
    text = await read(world, await world.join("w"))
    assert "You have no coordinator" in text and "Ready tasks: none. Unread messages: none." in text


async def test_the_primer_changes_when_the_coordinator_becomes_silent(world: World) -> None:
    boss = await world.boss("boss")
    worker = await world.join("w", under=boss)
    fresh = await read(world, worker)
    world.clock.advance(limits.session_lease_seconds + 1)
    assert await read(world, worker) != fresh


async def test_a_primer_names_operations_as_commands_or_as_tools(world: World) -> None:
    worker = await world.join("w")
    assert "maestro mail inbox" in await read(world, worker)
    assert "maestro mail inbox" not in await read(world, worker, tools=True)


async def test_the_primer_of_the_person_names_the_person_and_held_tasks(world: World) -> None:
    await world.task(held_by=world.dana)
    text = await read(world, world.dana)
    assert text.startswith("You are dana, person in Maestro, for dana.") and "You hold:\n- vc#1" in text
