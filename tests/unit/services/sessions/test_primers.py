"""A primer tells a caller its identity, its related sessions, its tasks and its unread mail."""

from __future__ import annotations

from typing import Any

from maestro.core import limits
from maestro.domain.links import LinkSource, ProjectLink
from maestro.operations.primer import ReadPrimer
from maestro.operations.task_shapes import StartTask
from maestro.services.sessions import primers
from maestro.services.tasks import moves

World = Any
OTHER = "prj_00000000000000000000000001"


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


async def test_the_primer_names_the_other_agents_of_the_project_with_checkout_and_task(world: World) -> None:
    boss = await world.boss("boss")
    worker = await world.join("w", under=boss)
    other = await world.join("claude-2", path="/src/dave/vc")
    held = await world.task(held_by=other)
    await world.end(await world.join("ended"))
    text = await read(world, worker)
    assert f"Other agents here: claude-2 (dave/vc, {held.ref} t)." in text


async def test_the_primer_names_linked_projects_and_their_agents_that_are_online(world: World) -> None:
    worker = await world.join("w", path="/src/dave/vc")
    assert "Linked projects" not in await read(world, worker)
    link = ProjectLink(
        name="kit", project_id=OTHER, project="other", key="example.org/other", source=LinkSource.CONFIG
    )
    await world.store.write(lambda tx: tx.links.put(worker.workspace_id, link))
    assert "Linked projects: kit (no agent online). A fault of a linked project" in await read(world, worker)
    await world.join("erin", project=OTHER)
    assert "Linked projects: kit (online: erin)." in await read(world, worker)
    world.clock.advance(limits.presence_online_seconds_max + 1)
    assert "kit (no agent online)" in await read(world, worker)
