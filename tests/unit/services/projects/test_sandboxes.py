"""The sandbox of gates and set-up commands has the mode and the caches of the project."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from maestro.domain.sandboxes import Sandbox, SandboxMode
from maestro.operations.projects import EditProject
from maestro.services.projects import registry
from maestro.services.projects.sandboxes import ProjectSandboxes

World = Any


async def test_a_sandbox_has_the_mode_and_caches_of_its_project(world: World, tmp_path: Path) -> None:
    sandboxes = ProjectSandboxes(world.store, tmp_path)
    project_id = (await world.task()).project_id
    strict = next(mode for mode in SandboxMode if mode is not SandboxMode.NONE)
    edit = EditProject(project="vc", sandbox=strict, caches=["/var/cache/pip"])
    await world.do(registry.edit_project, edit)
    expected = Sandbox(mode=strict, caches=("/var/cache/pip",), data_directory=str(tmp_path))
    assert await sandboxes.of_project(project_id) == expected
    await world.do(registry.edit_project, EditProject(project="vc", sandbox=SandboxMode.NONE))
    assert await sandboxes.of_project(project_id) == Sandbox(mode=SandboxMode.NONE, data_directory=str(tmp_path))


async def test_an_unknown_project_has_the_default_sandbox(world: World, tmp_path: Path) -> None:
    sandboxes = ProjectSandboxes(world.store, tmp_path)
    assert await sandboxes.of_project("prj_unknown") == Sandbox(data_directory=str(tmp_path))
