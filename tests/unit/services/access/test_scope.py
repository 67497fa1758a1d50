"""References find projects and tasks; callers without the right to read or change them are refused."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from tests.unit.services.conftest import DAVE, OTHER, VC, World

from maestro.core import errors
from maestro.domain.callers import Caller
from maestro.domain.links import LinkSource, ProjectLink
from maestro.domain.projects import Project
from maestro.domain.tasks import Task
from maestro.services.access import scope


async def find_project(world: World, name: str, *, by: Caller | None = None, **fields: Any) -> str:
    found: Project = await world.store.read(lambda tx: scope.find_project(tx, by or world.dana, name, **fields))
    return found.name


async def find_task(world: World, ref: str, *, by: Caller | None = None, project: str = "") -> Task:
    return await world.store.read(lambda tx: scope.find_task(tx, by or world.dana, ref, project=project))


async def link_other(world: World, name: str) -> None:
    """Link project other in the checkout of dave."""
    link = ProjectLink(
        name=name,
        project_id=OTHER.id,
        project="other",
        key=OTHER.key,
        source=LinkSource.CONFIG,
        remote="",
        path="",
        of=DAVE.address,
    )
    await world.store.write(lambda tx: tx.links.put(DAVE.id, link))


async def require_movable(world: World, caller: Caller, task: Any, **fields: Any) -> None:
    now = await find_task(world, task.id)
    await world.store.read(lambda tx: scope.require_movable_task(tx, caller, now, **fields))


@pytest.mark.parametrize("name", ["other", OTHER.id, OTHER.key])
async def test_a_project_is_found_by_name_id_and_key(world: World, name: str) -> None:
    assert await find_project(world, name) == "other"


async def test_an_empty_project_name_means_the_project_of_the_session_and_fails_for_the_person(world: World) -> None:
    assert await find_project(world, "", by=await world.join("w")) == "vc"
    with pytest.raises(errors.NotFound, match="No project was named"):
        await find_project(world, "")
    with pytest.raises(errors.NotFound, match="no project 'third'"):
        await find_project(world, "third")


async def test_a_link_of_the_checkout_comes_before_the_names_of_the_server(world: World) -> None:
    await link_other(world, "vc")
    await link_other(world, "lib")
    worker = msgspec.structs.replace(await world.join("w"), workspace_id=DAVE.id)
    for name in ("lib", "LIB", "vc"):
        assert await find_project(world, name, by=worker) == "other"
    assert await find_project(world, VC.id, by=worker) == "vc", "a link does not replace a project id"


async def test_the_person_uses_the_links_of_the_project_at_hand(world: World) -> None:
    await link_other(world, "lib")
    for project_at_hand in ("vc", VC.id):
        assert await find_project(world, "lib", project_at_hand=project_at_hand) == "other"
    for elsewhere in ("", "other", "third"):
        with pytest.raises(errors.NotFound):
            await find_project(world, "lib", project_at_hand=elsewhere)


async def test_a_session_reads_a_list_of_its_own_project_only(world: World) -> None:
    worker, stranger = await world.join("w"), await world.join("stranger", project=OTHER.id)

    async def find_readable(caller: Caller) -> str:
        found = await world.store.read(
            lambda tx: scope.find_readable_project(tx, caller, "vc", action="reads the log", hint="Wait.")
        )
        return found.name

    for caller in (worker, world.dana):
        assert await find_readable(caller) == "vc"
    with pytest.raises(errors.NotPermitted, match="reads the log of its own project only, not of vc") as refused:
        await find_readable(stranger)
    assert (refused.value.hint, refused.value.data) == ("Wait.", {"project": "vc"})


async def test_a_task_is_found_by_id_and_by_number(world: World) -> None:
    task, worker = await world.task(), await world.join("w")
    assert (await find_task(world, task.id)).ref == (await find_task(world, "vc#1")).ref == "vc#1"
    for ref in ("#1", "1"):
        assert (
            (await find_task(world, ref, project="vc")).id == (await find_task(world, ref, by=worker)).id == task.id
        )


async def test_a_task_reference_may_use_a_link_of_the_project_at_hand(world: World) -> None:
    await link_other(world, "lib")
    stranger = await world.join("stranger", project=OTHER.id)
    await world.task()
    with pytest.raises(errors.NotFound, match="no task 'lib#1'"):
        await find_task(world, "lib#1", project="vc")
    with pytest.raises(errors.NotFound, match="no project 'lib'"):
        await find_task(world, "lib#1", by=stranger)


@pytest.mark.parametrize("ref", ["vc", "vc#", "vc#one", "#1#2", "1" * 16, ""])
async def test_a_text_that_is_no_task_reference_is_refused(world: World, ref: str) -> None:
    with pytest.raises(errors.NotFound, match="is not a task reference"):
        await find_task(world, ref, project="vc")


@pytest.mark.parametrize("ref", ["vc#7", "tsk_00000000000000000000000000"])
async def test_an_unknown_task_is_not_found(world: World, ref: str) -> None:
    with pytest.raises(errors.NotFound, match="There is no task"):
        await find_task(world, ref)


async def test_a_session_of_another_project_reads_the_texts_of_a_task_only_if_its_project_opened_it(
    world: World,
) -> None:
    task = await find_task(world, (await world.task()).id)
    stranger = await world.boss("stranger", project=OTHER.id)
    for caller in (world.dana, await world.join("w")):
        scope.require_readable_task(caller, task)
    with pytest.raises(errors.NotPermitted, match="Only agents of its project") as refused:
        scope.require_readable_task(stranger, task)
    assert refused.value.hint.endswith("maestro task show vc#1")
    issue = msgspec.structs.replace(task, from_project_id=OTHER.id)
    scope.require_readable_task(stranger, issue)


async def test_a_session_may_change_its_own_project_only(world: World) -> None:
    worker = await world.join("w")
    for caller, project in ((worker, VC), (worker, None), (world.dana, OTHER)):
        scope.require_own_project(caller, project)
    with pytest.raises(errors.NotPermitted, match="may not create teams in project other"):
        scope.require_own_project(worker, OTHER, action="create teams")


async def test_a_worker_moves_only_tasks_that_it_holds(world: World) -> None:
    worker, other = await world.join("w"), await world.join("other")
    held, free = await world.task(held_by=worker), await world.task()
    blocked = await world.task(depends_on=[free.ref])
    await require_movable(world, worker, held)
    with pytest.raises(errors.NotHeld, match=f"its holder is {worker.name}"):
        await require_movable(world, other, held)
    with pytest.raises(errors.NotHeld, match="no holder and is todo") as refused:
        await require_movable(world, worker, free)
    assert refused.value.hint == f"Claim the task: maestro task claim '{free.ref}'"
    with pytest.raises(errors.NotHeld) as refused:
        await require_movable(world, worker, blocked)
    assert refused.value.hint == "", "a task that is not ready cannot be claimed"


async def test_a_coordinator_moves_all_tasks_of_its_project_and_no_tasks_of_other_projects(world: World) -> None:
    task = await world.task(held_by=await world.join("w"))
    for caller in (await world.boss("boss"), world.dana):
        await require_movable(world, caller, task)
    with pytest.raises(errors.NotPermitted, match="may not change tasks in project vc"):
        await require_movable(world, await world.boss("stranger", project=OTHER.id), task)


async def test_a_wrong_fence_is_refused_and_the_holder_learns_the_present_fence(world: World) -> None:
    worker = await world.join("w")
    task = await world.task(held_by=worker)
    now = await find_task(world, task.id)
    await require_movable(world, worker, task, fence=now.fence)
    with pytest.raises(errors.ClaimLost) as refused:
        await require_movable(world, worker, task, fence=now.fence + 1)
    assert refused.value.hint == f"You hold the task: use the fence {now.fence}."
    with pytest.raises(errors.ClaimLost) as refused:
        await require_movable(world, world.dana, task, fence=now.fence + 1)
    assert "Another session has claimed the task" in refused.value.hint
