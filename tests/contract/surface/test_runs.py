"""Tests of runs and dry runs of spawns, the same on every surface."""

from __future__ import annotations

from typing import Any

import pytest

from maestro.core import errors
from maestro.operations import runs, server, spawning, tasks

Surface = Any


async def test_a_dry_run_of_a_spawn_shows_the_prompt_and_changes_nothing(surface: Surface) -> None:
    made = await surface.call(tasks.CREATE, title="Parser", description="All of the grammar.")
    shown = await surface.call(
        spawning.SPAWN, task=[made["id"]], name="parser", message="Keep it small.", tool="command", dry_run=True
    )
    assert (shown["dry_run"], shown["name"], shown["mode"]) == (True, "parser", "execute")
    assert [task["ref"] for task in shown["manifest"]["tasks"]] == [made["ref"]]
    assert "Keep it small." in shown["task_prompt"] and "All of the grammar." in shown["task_prompt"]
    task = await surface.call(tasks.SHOW, id=made["id"])
    assert (task["status"], task["ready"], task["holder"]) == ("todo", True, None)


async def test_a_dry_run_of_a_spawn_refuses_a_task_that_is_not_ready_and_an_unknown_tool(surface: Surface) -> None:
    first = await surface.call(tasks.CREATE, title="First")
    second = await surface.call(tasks.CREATE, title="Second", depends_on=[first["id"]])
    with pytest.raises(errors.NotReady):
        await surface.call(spawning.SPAWN, task=[second["id"]], tool="command", dry_run=True)
    with pytest.raises(errors.NotFound):
        await surface.call(spawning.SPAWN, tool="no-such-tool", dry_run=True)


async def test_a_new_project_has_no_runs_and_an_unknown_run_is_not_found(surface: Surface) -> None:
    assert await surface.call(runs.LIST) == {"runs": [], "cursor": None}
    for operation in (runs.SHOW, runs.STOP):
        with pytest.raises(errors.NotFound):
            await surface.call(operation, id="run_00000000000000000000000000")


@pytest.mark.not_over("mcp", why="left to the command: a person's")
async def test_the_recovery_report_of_a_new_server_is_empty(surface: Surface) -> None:
    found = await surface.call(server.RECOVERY)
    assert (found["rebooted"], found["sessions"], found["runs"]) == (False, [], [])
