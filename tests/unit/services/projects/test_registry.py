"""Callers list and show projects, and the person edits the name, the stages and the rules of a project."""

from __future__ import annotations

from typing import Any

import pytest

from maestro.core import errors
from maestro.domain.projects import InboundPolicy
from maestro.domain.sandboxes import SandboxMode
from maestro.operations.projects import EditProject, ListProjects, OneProject
from maestro.services.projects import registry

World = Any


async def edit(world: World, **fields: Any) -> Any:
    return await world.do(registry.edit_project, EditProject(project="vc", **fields))


async def changes(world: World) -> list[dict[str, Any]]:
    return [event.data for event in await world.log() if event.kind == "project.changed"]


async def test_projects_are_listed_by_name_in_pages(world: World) -> None:
    first = await world.do(registry.list_projects, ListProjects(limit=1))
    assert [project.name for project in first.projects] == ["other"] and first.cursor == "other"
    second = await world.do(registry.list_projects, ListProjects(limit=1, cursor=first.cursor))
    assert [project.name for project in second.projects] == ["vc"] and second.cursor is None


async def test_a_project_is_shown_with_its_checkouts_and_the_number_of_its_tasks(world: World) -> None:
    blocker = await world.task()
    await world.task(depends_on=[blocker.id])
    shown = await world.do(registry.show_project, OneProject(project="vc"))
    assert (shown.name, shown.tracker, shown.tracker_problem) == ("vc", "builtin", "")
    assert [workspace.address for workspace in shown.workspaces] == ["dave/vc"]
    assert (shown.tasks["todo"], shown.tasks["ready"]) == (2, 1)


async def test_a_new_project_name_is_stored_in_lower_case_and_logged(world: World) -> None:
    assert (await edit(world, name="Engine")).name == "engine"
    assert await changes(world) == [{"name": "engine", "was": "vc"}]
    with pytest.raises(errors.NotFound):
        await world.do(registry.show_project, OneProject(project="vc"))


async def test_the_name_of_another_project_or_a_reserved_word_is_refused_as_project_name(world: World) -> None:
    with pytest.raises(errors.NameTaken):
        await edit(world, name="other")
    with pytest.raises(errors.Invalid, match="'Human' is a reserved word"):
        await edit(world, name="Human")
    assert (await edit(world, name="vc", inbound=InboundPolicy.CLOSED)).name == "vc"


async def test_an_edit_of_a_project_without_a_change_is_refused(world: World) -> None:
    with pytest.raises(errors.Invalid, match="No change was given for project vc"):
        await edit(world)


async def test_an_edit_replaces_the_whole_list_of_stages(world: World) -> None:
    assert (await edit(world, stages=["design", "build"])).stages == ["design", "build"]
    with pytest.raises(errors.Invalid, match="named twice"):
        await edit(world, stages=["build", "build"])


async def test_a_stage_with_tasks_cannot_be_removed(world: World) -> None:
    await world.task(stage="plan")
    with pytest.raises(errors.Conflict, match="Tasks of vc are in stage 'plan'"):
        await edit(world, stages=["build"])
    assert (await edit(world, stages=["build", "plan"])).stages == ["build", "plan"]


async def test_an_edit_of_the_rules_is_logged_only_if_a_rule_changes(world: World) -> None:
    for _ in range(2):
        edited = await edit(world, inbound=InboundPolicy.CLOSED, replies_reopen=False)
        assert (edited.inbound, edited.replies_reopen) == (InboundPolicy.CLOSED, False)
    assert len(await changes(world)) == 1


async def test_an_edit_of_the_sandbox_mode_removes_the_caches_of_the_sandbox(world: World) -> None:
    strict = next(mode for mode in SandboxMode if mode is not SandboxMode.NONE)
    edited = await edit(world, sandbox=strict, caches=["/var/cache/pip"])
    assert (edited.sandbox, edited.caches) == (strict, ["/var/cache/pip"])
    assert (await edit(world, caches=["/var/cache/npm"])).caches == ["/var/cache/npm"]
    assert (await edit(world, sandbox=strict)).caches == []


@pytest.mark.parametrize("folder", ["cache", "/var/../etc"])
async def test_a_cache_that_is_no_absolute_folder_is_refused(world: World, folder: str) -> None:
    with pytest.raises(errors.Invalid, match="cannot be a cache of a sandbox"):
        await edit(world, caches=["/var/cache/pip", folder])
