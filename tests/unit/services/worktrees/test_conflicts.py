"""Test the tasks that resolve merge conflicts."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from tests.unit.services.conftest import VC, World

from maestro.domain.callers import Caller
from maestro.domain.priorities import Priority
from maestro.domain.spawns import SessionWorktree
from maestro.domain.tasks import Task, TaskStatus
from maestro.git.worktrees import MergeConflict
from maestro.git.worktrees.merge import FileConflict
from maestro.operations.task_shapes import StartTask
from maestro.services.tasks import moves
from maestro.services.worktrees import conflicts
from maestro.testing.factories import make_session

CONFLICT = MergeConflict(
    files=("parser.py",),
    details=(FileConflict("parser.py", "content", "<<<<<<<\n"),),
    files_total=1,
    into="main",
    into_commit="a" * 40,
    branch_commit="b" * 40,
)


class Branch:
    """A session with a worktree, and helpers that open conflict tasks and settle merges."""

    def __init__(self, world: World, caller: Caller) -> None:
        self.world, self.caller = world, caller

    async def worktree(self) -> SessionWorktree:
        found = await self.world.store.read(lambda tx: tx.worktrees.get(self.caller.name))
        assert found is not None
        return found

    async def open_task(self, **fields: Any) -> Task:
        session, worktree = await self.world.session(self.caller), await self.worktree()
        return await self.world.store.write(
            lambda tx: conflicts.open_conflict_task(tx, session, worktree, CONFLICT, **fields)
        )

    async def settle(self, into: str = "main") -> None:
        session, worktree = await self.world.session(self.caller), await self.worktree()
        await self.world.store.write(lambda tx: conflicts.settle_merge(tx, session, worktree, into))

    async def task(self, task: Task) -> Task:
        found = await self.world.store.read(lambda tx: tx.tasks.get(task.id))
        assert found is not None
        return found


def make_worktree(session_id: str, **fields: Any) -> SessionWorktree:
    values: dict[str, Any] = {
        "session_id": session_id,
        "project_id": VC.id,
        "repository": "/src/dave/vc",
        "path": f"/trees/{session_id}",
        "branch": f"maestro/{session_id}",
        "base_commit": "c" * 40,
        "merges_into": "main",
        "merged_into": None,
        "merged_at": None,
        "removed_at": None,
        "created_at": make_session().created_at,
    }
    return SessionWorktree(**(values | fields))


async def make_branch(world: World, name: str, **fields: Any) -> Branch:
    caller = await world.join(name, **fields)
    await world.store.write(lambda tx: tx.worktrees.insert(make_worktree(caller.name)))
    return Branch(world, caller)


@pytest.fixture
async def branch(world: World) -> Branch:
    return await make_branch(world, "worker")


async def test_a_merge_conflict_opens_an_urgent_task_with_gates(branch: Branch) -> None:
    task = await branch.open_task()
    assert task.title == f"Merge maestro/{branch.caller.name} into main" and task.priority is Priority.HIGH
    assert task.gates == [f"git merge-base --is-ancestor {letter * 40} HEAD" for letter in "ba"]
    assert (await branch.worktree()).conflict_task_id == task.id
    (notice,) = await branch.world.unread(branch.caller)
    assert notice.subject.startswith(f"{task.ref}: ") and "git merge main" in notice.body


async def test_a_second_conflict_uses_the_open_conflict_task_again(branch: Branch) -> None:
    first = await branch.open_task()
    assert (await branch.open_task()).id == first.id
    await branch.settle()
    assert (await branch.open_task()).id != first.id


async def test_the_conflict_task_of_a_run_is_a_child_of_the_task_of_the_run(branch: Branch) -> None:
    run_task = await branch.world.task(gates=["make test"])
    stored = await branch.task(run_task)
    task = await branch.open_task(run_task=stored)
    assert (task.parent_id, task.found_in, task.gates[-1]) == (stored.id, stored.id, "make test")
    assert "Maestro merges your branch" in task.description


async def test_the_person_gets_a_message_about_a_conflict_of_an_ended_session(branch: Branch) -> None:
    await branch.world.end(branch.caller)
    task = await branch.open_task()
    bodies = [message.body for message in await branch.world.unread()]
    assert f"{task.ref} has to resolve the conflict in parser.py." in bodies


async def test_a_merge_cancels_a_conflict_task_that_no_session_has_started(branch: Branch) -> None:
    task = await branch.open_task()
    await branch.settle()
    assert (await branch.task(task)).status is TaskStatus.CANCELLED


async def test_a_merge_does_not_change_a_started_conflict_task(branch: Branch) -> None:
    task = await branch.open_task()
    await branch.world.do(moves.start_task, StartTask(id=task.id), by=branch.caller)
    await branch.settle()
    assert (await branch.task(task)).status is TaskStatus.IN_PROGRESS


@pytest.mark.parametrize(("into", "merged_into"), [("main", "main"), ("release", None)])
async def test_the_merge_of_the_resolving_branch_marks_the_first_branch_as_merged(
    branch: Branch, into: str, merged_into: str | None
) -> None:
    task = await branch.open_task()
    resolver = await make_branch(branch.world, "resolver", task=[task.ref])
    await resolver.settle(into)
    assert (await branch.worktree()).merged_into == merged_into


def test_the_description_of_a_conflict_counts_the_files_that_are_not_shown() -> None:
    session = make_session()
    worktree = make_worktree(session.id)
    one = conflicts.describe_conflict(session, worktree, CONFLICT, in_run=False)
    assert "conflicts in 1 file.\n" in one and "more files" not in one
    assert f"maestro worktree merge {session.name} --into main" in one and f"in {worktree.path}:" in one
    many = msgspec.structs.replace(CONFLICT, files_total=3)
    text = conflicts.describe_conflict(session, worktree, many, in_run=True)
    assert (
        "conflicts in 3 files.\n" in text and "… and 2 more files" in text and f"git merge {worktree.branch}" in text
    )
