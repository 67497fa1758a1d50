"""The starter of a run and the callers above stop and resume the run, and a short name finds the run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from maestro.core import errors
from maestro.domain.callers import Caller
from maestro.domain.runs import Run, RunStatus
from maestro.operations import runs as ops
from maestro.operations import sessions as session_ops
from maestro.operations import timeline as timeline_ops
from maestro.operations import worktrees as worktree_ops
from maestro.services import timelines
from maestro.services.projects.sandboxes import ProjectSandboxes
from maestro.services.runs import control as runs
from maestro.services.sessions import adoption
from maestro.services.worktrees.lifecycle import SessionWorktrees
from maestro.services.worktrees.removal import WorktreeRemoval

World = Any
VC = "prj_00000000000000000000000000"


class NoPrograms:
    """A stand-in that stops the programs of runs without sessions."""

    async def stop_programs(self, session_ids: list[str], *, by: str) -> None:
        assert not session_ids


def control(world: World) -> runs.RunControl:
    return runs.RunControl(world.store, world.hub, NoPrograms())  # type: ignore[arg-type]


async def started(world: World, *, by: Caller | None = None) -> Run:
    task = await world.task()
    run: Run = await world.do(runs.start_run, ops.StartRun(project=VC, task=task.id, tool="claude"), by=by)
    return run


async def stop_and_resume(world: World, run: Run, by: Caller) -> None:
    request = ops.OneRun(id=run.id)
    assert (await control(world).stop_run(by, request)).status is RunStatus.STOPPED
    assert (await control(world).resume_run(by, request)).status is RunStatus.RUNNING


async def require_refusal(world: World, run: Run, by: Caller) -> None:
    for call in (control(world).stop_run, control(world).resume_run):
        with pytest.raises(errors.NotPermitted, match="its own runs"):
            await call(by, ops.OneRun(id=run.id))
    assert (await control(world).show_run(world.dana, ops.ShowRun(id=run.id))).status is RunStatus.RUNNING


async def test_the_starter_of_a_run_and_the_sessions_above_stop_and_resume_the_run(world: World) -> None:
    top = await world.boss("top")
    boss = await world.boss("boss", under=top)
    run = await started(world, by=boss)
    for caller in (boss, top, world.dana):
        await stop_and_resume(world, run, caller)


async def test_other_sessions_neither_stop_nor_resume_a_run(world: World) -> None:
    top = await world.boss("top")
    boss, rival = await world.boss("boss", under=top), await world.boss("rival", under=top)
    below = await world.boss("below", under=boss)
    run, persons = await started(world, by=boss), await started(world)
    await require_refusal(world, run, rival)
    await require_refusal(world, run, below)
    await require_refusal(world, persons, top)


async def test_the_successor_of_the_starter_owns_the_run(world: World) -> None:
    boss, heir = await world.boss("boss"), await world.boss("heir")
    run = await started(world, by=boss)
    await world.join("w", under=boss)
    await world.end(boss, "lost")
    await require_refusal(world, run, heir)
    await world.do(adoption.adopt_sessions, session_ops.AdoptSessions(ids=[boss.name], by=heir.name))
    await stop_and_resume(world, run, heir)


@pytest.mark.parametrize("short", ["#1", "the end of its id"])
async def test_every_operation_finds_a_run_of_the_project_by_a_short_name(
    world: World, short: str, tmp_path: Path
) -> None:
    run = await started(world)
    name = short if short == "#1" else run.id[-8:]
    request = ops.OneRun(id=name, project="vc")
    assert (await control(world).stop_run(world.dana, request)).id == run.id
    assert (await control(world).resume_run(world.dana, request)).id == run.id
    shown = await world.do(timelines.show_timeline, timeline_ops.ShowTimeline(run=name, project="vc"))
    exported = await world.do(timelines.export_timeline, timeline_ops.ExportTimeline(run=name, project="vc"))
    assert shown.about == exported.about == run.id and exported.kind == "run"
    remove = worktree_ops.RemoveWorktrees(run=name, project="vc")
    found = SessionWorktrees(world.store, ProjectSandboxes(world.store, tmp_path))
    removed = await WorktreeRemoval(world.store, found).remove_worktrees(world.dana, remove)
    assert removed.removed == removed.kept == []
