"""A worker calls the operations for holders only on a task that the worker holds."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from maestro.core import errors
from maestro.domain.callers import Caller, Callers
from maestro.operations import issues, projects, tasks
from maestro.operations.registry import REGISTRY
from maestro.operations.task_shapes import CreateTask, StartTask
from maestro.server.app import Server

Join = Callable[..., Awaitable[Caller]]

# The request fields of each operation besides the task.
FIELDS: dict[str, dict[str, Any]] = {
    "task.edit": {"title": "b"},
    "task.release": {},
    "task.complete": {},
    "task.block": {"reason": "x"},
    "task.unblock": {},
    "task.fail": {},
    "task.depend": {"on": ["#2"]},
    "task.report": {"kind": "progress", "text": "x"},
    "task.docs.add": {"title": "t", "content": "eA=="},
    "issue.close": {"message": "mended"},
}
HELD = [name for name, operation in REGISTRY.items() if Callers.HOLDER in operation.callers]


def test_these_tests_cover_each_operation_for_holders() -> None:
    assert set(FIELDS) == set(HELD)


@pytest.mark.parametrize("name", HELD)
async def test_a_worker_calls_an_operation_for_holders_only_on_a_task_that_the_worker_holds(
    server: Server, dana: Caller, vc: str, join: Join, name: str, tmp_path: Path
) -> None:
    for title in ("a", "b"):
        if name.startswith("issue."):
            (tmp_path / "beads").mkdir(exist_ok=True)
            init = projects.InitProject(path=str(tmp_path / "beads"), name="beads")
            beads = (await server.call(projects.INIT, init, caller=dana)).project.id
            opened = issues.OpenIssue(to="vc", title=title, message="It breaks.", project=beads)
            await server.call(issues.OPEN, opened, caller=dana)
        else:
            await server.call(tasks.CREATE, CreateTask(project=vc, title=title), caller=dana)
    holder, stranger = await join("holder"), await join("stranger")
    await server.call(tasks.START, StartTask(id="#1"), caller=holder)
    operation = REGISTRY[name]
    if name == "task.unblock":
        block = msgspec.convert({"id": "#1", "reason": "x"}, tasks.BLOCK.request)
        await server.call(tasks.BLOCK, block, caller=holder)
    before = await server.store.read(lambda tx: tx.events.last_seq())
    for ref in ("#1", "#2"):  # another session holds the first task, and no session holds the second task
        with pytest.raises(errors.ClaimLost):
            request = msgspec.convert({"id": ref, **FIELDS[name]}, operation.request)
            await server.call(operation, request, caller=stranger)
    assert await server.store.read(lambda tx: tx.events.last_seq()) == before
    request = msgspec.convert({"id": "#1", **FIELDS[name]}, operation.request)
    await server.call(operation, request, caller=holder)
