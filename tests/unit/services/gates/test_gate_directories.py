"""The gates of a task run in the directory of its holder, of its run, or in the first checkout of its project."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from maestro.core import errors
from maestro.domain.sandboxes import Sandbox
from maestro.services.gates.gate_directories import gate_directory
from maestro.testing.factories import make_run, make_spawn

World = Any
CHECKOUT = "/src/dave/vc"  # the checkout of project vc


async def directory_of(world: World, task_id: str) -> str:
    """Return the directory of the task's gates; a temporary checkout no longer exists at the return."""
    task = await world.store.read(lambda tx: tx.tasks.get(task_id))
    async with gate_directory(world.store, task, Sandbox(data_directory="/nowhere")) as directory:
        return directory


async def test_gates_run_where_the_program_of_the_holder_runs(world: World) -> None:
    worker = await world.join("w")
    task = await world.task(held_by=worker)
    spawn = make_spawn(worker.name, directory="/worktrees/w")
    await world.store.write(lambda tx: tx.spawns.insert(spawn, manifest=b""))
    assert await directory_of(world, task.id) == "/worktrees/w"


async def test_gates_run_in_the_checkout_of_a_registered_holder(world: World) -> None:
    worker = await world.join("w", path=CHECKOUT)
    assert await directory_of(world, (await world.task(held_by=worker)).id) == CHECKOUT


async def test_gates_of_a_task_without_a_holder_run_in_the_first_checkout(world: World) -> None:
    assert await directory_of(world, (await world.task()).id) == CHECKOUT


async def test_a_project_without_a_checkout_has_no_directory_for_gates(world: World) -> None:
    def move_task(tx: Any) -> None:
        tx.projects.move_workspace("wsp_00000000000000000000000000", project_id=other, name="dave")

    other = "prj_00000000000000000000000001"
    task = await world.task()
    await world.store.write(move_task)
    with pytest.raises(errors.NotFound, match="no checkout in which the gates"):
        await directory_of(world, task.id)


async def test_gates_of_a_run_without_a_branch_run_in_the_directory_of_the_run(world: World) -> None:
    parent = await world.task()
    child = await world.task(parent=parent.id)
    run = make_run(parent.id, directory="/src/run")
    await world.store.write(lambda tx: tx.runs.insert(run))
    assert await directory_of(world, child.id) == "/src/run"


async def test_gates_of_a_run_with_a_branch_run_in_a_temporary_checkout_of_the_branch(
    world: World, make_repo: Callable[..., Path]
) -> None:
    repo = make_repo("engine")

    def run_git(*arguments: str) -> None:
        subprocess.run(["git", "-C", repo, *arguments], check=True, capture_output=True)

    run_git("commit", "-q", "--allow-empty", "-m", "first")
    run_git("checkout", "-q", "-b", "run-1")
    (repo / "merged").write_text("work\n")
    run_git("add", "-A")
    run_git("commit", "-qm", "work")
    run_git("checkout", "-q", "main")
    task = await world.task()
    run = make_run(task.id, directory=str(repo), branch="run-1")
    await world.store.write(lambda tx: tx.runs.insert(run))
    stored = await world.store.read(lambda tx: tx.tasks.get(task.id))
    async with gate_directory(world.store, stored, Sandbox(data_directory="/nowhere")) as directory:
        assert directory != str(repo)
        assert Path(directory, "merged").read_text() == "work\n"
    assert not Path(directory).exists()
