"""Runs the gates of tasks that were reported complete. Only then do they count; what did not pass goes back."""

from __future__ import annotations

import asyncio
import os
from datetime import datetime

import msgspec

from maestro import commands, errors, ids, limits
from maestro.agents.base import cleared
from maestro.clock import Clock
from maestro.domain import gates as rules
from maestro.domain.callers import SERVER, THE_SERVER
from maestro.domain.documents import Content
from maestro.domain.events import Change, Kind
from maestro.domain.gates import GateResult
from maestro.domain.sessions import Session
from maestro.domain.spawns import Worktree
from maestro.domain.tasks import Priority, Status, Task
from maestro.operations import task_shapes
from maestro.services import moves, notices, reports
from maestro.services.worktrees import Worktrees
from maestro.store.base import Store, Tx
from maestro.store.blobs import Blobs


class _Said(msgspec.Struct, frozen=True):
    result: GateResult
    output: Content
    text: str


class Gates:
    """A few tasks at a time, each task's gates in their order."""

    name = "gates"

    def __init__(self, store: Store, blobs: Blobs, worktrees: Worktrees, *, clock: Clock) -> None:
        self._store = store
        self._blobs = blobs
        self._worktrees = worktrees
        self._clock = clock
        self._running: dict[str, asyncio.Task[None]] = {}

    async def run_once(self) -> datetime | None:
        """Begin with what is due and has a place; each task that is done asks for the next look."""
        many = limits.gates_parallel_max
        due = await self._store.read(lambda tx: tx.tasks.in_review(limit=many * 4))
        for task in due:
            if len(self._running) < many and task.id not in self._running:
                self._running[task.id] = asyncio.create_task(self._judge(task))
        if not self._running:
            return None
        await asyncio.wait(self._running.values(), return_when=asyncio.FIRST_COMPLETED)
        for task_id in [task_id for task_id, work in self._running.items() if work.done()]:
            self._running.pop(task_id).result()
        return self._clock.now()

    async def close(self) -> None:
        for work in self._running.values():
            work.cancel()
        await asyncio.gather(*self._running.values(), return_exceptions=True)

    async def _judge(self, task: Task) -> None:
        directory = await self._store.read(lambda tx: _directory(tx, task))
        said: list[_Said] = []
        for command in task.gates:
            said.append(await self._run(task, command, directory))
            if not said[-1].result.passed:
                break  # the rest would say nothing more
        conflict = await self._merge(task) if all(one.result.passed for one in said) else ""
        await self._store.write(lambda tx: _conclude(tx, task, said, conflict))

    async def _merge(self, task: Task) -> str:
        """Bring a worker's branch into its run's; why that cannot be, or nothing."""

        def look(tx: Tx) -> tuple[Session | None, Worktree | None]:
            holder = task.holder or ""
            return tx.sessions.get(holder), tx.worktrees.get(holder)

        session, found = await self._store.read(look, quick=True)
        if session is None or found is None or found.merges_into is None or found.merged_at is not None:
            return ""
        try:
            done = await self._worktrees.bring_in(session, found, found.merges_into)
        except errors.MaestroError as error:
            return f"It could not be merged into {found.merges_into}: {error}"
        if done.commit is not None:
            return ""
        return f"It conflicts with {done.into}. Merge that branch into yours and mend it:\n\n" + "\n".join(
            done.conflicts
        )

    async def _run(self, task: Task, command: str, directory: str | None) -> _Said:
        if directory is None:
            ran = commands.Ran(None, b"There is no checkout to run it in.", 0.0)
        else:
            ran = await commands.run(
                command,
                directory=directory,
                environment=cleared(os.environ) | {"MAESTRO_TASK_ID": task.id, "MAESTRO_GATE": "1"},
                seconds_max=limits.gate_seconds_max,
                bytes_max=limits.gate_output_bytes_max,
            )
        result = GateResult(
            id=ids.new("gat", self._clock.now()),
            task_id=task.id,
            session_id=task.holder,
            command=command,
            passed=ran.passed,
            exit_code=ran.code,
            seconds=ran.seconds,
            created_at=self._clock.now(),
        )
        output = await asyncio.to_thread(self._blobs.keep, ran.output)
        return _Said(result, output, ran.output.decode("utf-8", "replace"))


def _conclude(tx: Tx, seen: Task, said: list[_Said], conflict: str) -> None:
    """Keep the evidence and move the task, if it still stands where it stood."""
    for one in said:
        tx.gates.insert(one.result, one.output)
        kind = Kind.GATE_PASSED if one.result.passed else Kind.GATE_FAILED
        data = {"ref": seen.ref, "gate": one.result.id, "command": one.result.command, "code": one.result.exit_code}
        tx.log(Change(kind, seen.id, seen.project_id, data), actor=SERVER)
    task = tx.tasks.get(seen.id)
    if task is None or task.status is not Status.IN_REVIEW or task.gates != seen.gates:
        return
    passed = all(one.result.passed for one in said) and not conflict
    if passed:
        moves.complete(tx, THE_SERVER, task_shapes.CompleteTask(id=task.id))
    holder = tx.sessions.get(task.holder) if task.holder else None
    if holder is not None:
        reports.reviewed(tx, holder, passed=passed)
    if passed:
        return
    why = (conflict or rules.verdict([one.result for one in said], said[-1].text))[: limits.reason_chars_max]
    moves.reject(tx, THE_SERVER, task_shapes.ReasonedTask(id=task.id, reason=why))
    _tell_holder(tx, task, why)


def _tell_holder(tx: Tx, task: Task, why: str) -> None:
    """Whoever holds it goes on with it; if nobody is there any more, it is open for the next."""
    session = tx.sessions.get(task.holder) if task.holder else None
    if session is not None and session.ended_at is None:
        notices.to_session(tx, session, subject=f"{task.ref} is not done yet", text=why, priority=Priority.HIGH)
        return
    now = tx.tasks.get(task.id)
    if session is not None and now is not None and now.status is Status.IN_PROGRESS:
        try:
            moves.fail(tx, THE_SERVER, task_shapes.ReasonedTask(id=task.id, reason=why))
        except errors.Conflict:
            return


def _directory(tx: Tx, task: Task) -> str | None:
    """Where the work was done: the session's own directory, else the project's first checkout."""
    spawn = tx.spawns.get(task.holder) if task.holder else None
    if spawn is not None:
        return spawn.directory
    session = tx.sessions.get(task.holder) if task.holder else None
    workspace = tx.projects.workspace(session.workspace_id) if session and session.workspace_id else None
    if workspace is not None:
        return workspace.path
    found = tx.projects.workspaces(task.project_id, limit=1)
    return found[0].path if found else None
