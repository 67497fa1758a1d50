"""Run the gates of tasks in review. Complete a task whose gates pass; send back a task whose gates do not."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Callable
from datetime import datetime
from weakref import WeakValueDictionary

import msgspec

from maestro.core import errors, ids, limits
from maestro.core.clock import Clock
from maestro.domain import gates as rules
from maestro.domain.callers import SERVER_CALLER, SERVER_NAME
from maestro.domain.documents import StoredContent
from maestro.domain.events import EventKind, NewEvent
from maestro.domain.gates import GateResult
from maestro.domain.priorities import Priority
from maestro.domain.runs import AttemptOutcome, Run, RunStrategy
from maestro.domain.sandboxes import Sandbox, SandboxMode
from maestro.domain.sessions import Session
from maestro.domain.spawns import SessionWorktree
from maestro.domain.tasks import Task, TaskStatus
from maestro.git import sandbox
from maestro.git.worktrees import MergeConflict, Merged, find_unmerged_work
from maestro.operations import task_shapes
from maestro.services.gates.gate_directories import gate_directory
from maestro.services.projects.sandboxes import ProjectSandboxes
from maestro.services.runs import control as runs
from maestro.services.sessions import notices, report_effects
from maestro.services.tasks import moves, verdict_notices
from maestro.services.worktrees import conflicts
from maestro.services.worktrees.lifecycle import SessionWorktrees
from maestro.store.base import Store, Tx
from maestro.store.blobs import Blobs
from maestro.store.content_holds import FileHold
from maestro.system import shell_command
from maestro.text import redaction
from maestro.tools.environments import clear_environment


class _GateRun(msgspec.Struct, frozen=True):
    """A gate that has run, with its kept output."""

    result: GateResult
    output: StoredContent
    text: str
    is_timed_out: bool

    @property
    def verdict(self) -> str:
        return rules.rejection_reason(self.result, self.text, is_timed_out=self.is_timed_out)

    @property
    def summary(self) -> str:
        return f"gate {self.result.command}, {rules.failure_cause(self.result, is_timed_out=self.is_timed_out)}"


class _MergeRefusal(msgspec.Struct, frozen=True):
    """Why finished work cannot be merged. For a conflict also: its author, worktree and conflicting files."""

    reason: str
    author: Session | None = None
    worktree: SessionWorktree | None = None
    conflict: MergeConflict | None = None


class GateJob:
    """A job that judges a few tasks at a time, and runs the gates of each task in their order."""

    name = "gates"

    def __init__(
        self,
        store: Store,
        blobs: Blobs,
        worktrees: SessionWorktrees,
        sandboxes: ProjectSandboxes,
        *,
        clock: Clock,
        seconds_max: float = limits.gate_seconds_max,
    ) -> None:
        self._store = store
        self._blobs = blobs
        self._worktrees = worktrees
        self._sandboxes = sandboxes
        self._clock = clock
        self._seconds_max = seconds_max
        self._running: dict[str, asyncio.Task[None]] = {}
        self._in_gates: dict[str, Task] = {}  # tasks whose gate commands run now
        self._holds: dict[str, FileHold] = {}  # the outputs of a task's gates, until their rows are written
        self._merging: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self.on_done: Callable[[], None] = lambda: None  # called when a task is judged and another may begin

    async def run_once(self) -> datetime | None:
        """Begin to judge due tasks up to the limit. The end of each judgement asks for the next round."""
        for task_id in [task_id for task_id, work in self._running.items() if work.done()]:
            work = self._running.pop(task_id)
            if not work.cancelled():
                work.result()
        await self._cancel_outdated()
        parallel_max = limits.gates_parallel_max
        due = await self._store.read(lambda tx: tx.tasks.list_in_review(limit=parallel_max * 4))
        for task in due:
            if len(self._running) < parallel_max and task.id not in self._running:
                work = self._running[task.id] = asyncio.create_task(self._judge(task))
                work.add_done_callback(lambda _: self.on_done())
        return None

    async def _cancel_outdated(self) -> None:
        """Cancel the gates of tasks that were cancelled, deleted or judged by another caller meanwhile."""
        in_gates = dict(self._in_gates)

        def read_outdated(tx: Tx) -> list[str]:
            now = {task_id: tx.tasks.get(task_id) for task_id in in_gates}
            return [id for id, task in now.items() if task is None or not _is_unchanged(task, in_gates[id])]

        for task_id in await self._store.read(read_outdated, quick=True) if in_gates else ():
            if task_id in self._in_gates:
                self._running[task_id].cancel()

    async def close(self) -> None:
        for work in self._running.values():
            work.cancel()
        await asyncio.gather(*self._running.values(), return_exceptions=True)

    async def _judge(self, task: Task) -> None:
        """Judge the task while a hold keeps the outputs of its gates from removal."""
        with self._blobs.new_hold() as hold:
            self._holds[task.id] = hold
            try:
                await self._judge_holding(task)
            finally:
                del self._holds[task.id]

    async def _judge_holding(self, task: Task) -> None:
        loose = await self._loose_ends(task)
        if loose:
            await self._store.write(lambda tx: _conclude(tx, task, [], _MergeRefusal(loose)))
            return
        self._in_gates[task.id] = task
        try:
            gate_runs = await self._run_gates(task)
        finally:
            del self._in_gates[task.id]
        if not all(gate.result.passed for gate in gate_runs):
            await self._store.write(lambda tx: _conclude(tx, task, gate_runs, None))
            return
        run = await self._store.read(lambda tx: _run_of(tx, task), quick=True)
        # The lock covers merge and completion: of several attempts in a race only one is merged.
        async with self._merging.setdefault(run.id if run else task.id, asyncio.Lock()):
            lost = await self._store.read(lambda tx: _reason_if_race_lost(tx, run), quick=True) if run else ""
            refusal = _MergeRefusal(lost) if lost else await self._merge(task)
            await self._store.write(lambda tx: _conclude(tx, task, gate_runs, refusal))

    async def _run_gates(self, task: Task) -> list[_GateRun]:
        """Run the gates of the task one after another, up to the first gate that does not pass."""
        gate_runs: list[_GateRun] = []
        if not task.gates:
            return gate_runs
        # Read once: no gate of a task runs in another mode than the gate before it.
        within = await self._sandboxes.of_project(task.project_id)
        try:
            async with gate_directory(self._store, task, within) as directory:
                for command in task.gates:
                    gate_runs.append(await self._run_gate(task, command, directory, within))
                    if not gate_runs[-1].result.passed:
                        break  # the task goes back anyway, whatever the other gates say
        except errors.MaestroError as error:
            if len(gate_runs) < len(task.gates) and all(gate.result.passed for gate in gate_runs):
                text = f"{error} {error.hint}".strip().encode("utf-8", "replace")
                not_run = shell_command.CommandResult(code=None, output=text, output_bytes=len(text), seconds=0.0)
                gate_runs.append(await self._keep_result(task, task.gates[len(gate_runs)], not_run, within.mode))
        return gate_runs

    async def _merge(self, task: Task) -> _MergeRefusal | None:
        """Merge the worker's branch into the run's branch. Return why the merge is refused, or None."""

        session, worktree = await self._store.read(lambda tx: _worktree_to_merge(tx, task), quick=True)
        if session is None or worktree is None or worktree.merges_into is None:
            return None
        try:
            result = await self._worktrees.merge_branch(session, worktree, worktree.merges_into)
        except errors.MaestroError as error:
            return _MergeRefusal(f"The work could not be merged into {worktree.merges_into}: {error}")
        if isinstance(result, Merged):
            return None
        described = conflicts.describe_conflict(session, worktree, result, in_run=False)
        return _MergeRefusal(described, session, worktree, result)

    async def _loose_ends(self, task: Task) -> str:
        """Describe work that the merge would leave behind, such as uncommitted files; empty if all work is committed.

        Loose ends count as a failed gate. They are checked before the gates, because gates may leave files.
        """
        _, worktree = await self._store.read(lambda tx: _worktree_to_merge(tx, task), quick=True)
        if worktree is None:
            return ""
        try:
            return await find_unmerged_work(worktree.repository, path=worktree.path, branch=worktree.branch)
        except errors.MaestroError as error:
            return f"Maestro could not check whether all work is committed: {error}"

    async def _run_gate(self, task: Task, command: str, directory: str, within: Sandbox) -> _GateRun:
        ran = await sandbox.run_command(
            command,
            sandbox=within,
            directory=directory,
            environment=clear_environment(os.environ) | {"MAESTRO_TASK_ID": task.id, "MAESTRO_GATE": "1"},
            seconds_max=self._seconds_max,
            bytes_max=limits.gate_output_bytes_max,
            mark=f"gate-{task.id}",
        )
        return await self._keep_result(task, command, ran, within.mode)

    async def _keep_result(
        self, task: Task, command: str, ran: shell_command.CommandResult, mode: SandboxMode
    ) -> _GateRun:
        """Keep the redacted output of a gate, and return the gate's result."""
        result = GateResult(
            id=ids.new_id("gat", self._clock.now()),
            task_id=task.id,
            session_id=task.holder,
            command=command,
            passed=ran.has_passed,
            exit_code=None if ran.is_timed_out else ran.code,
            seconds=ran.seconds,
            created_at=self._clock.now(),
            sandbox=mode,
        )
        text = ran.output.decode("utf-8", "replace")
        is_cut = ran.output_bytes > len(ran.output)
        hidden = redaction.hide_in_end(text) if is_cut else redaction.hide_in_terminal(text)
        output = await asyncio.to_thread(
            self._holds[task.id].store_content, ran.output if hidden == text else hidden.encode()
        )
        return _GateRun(result, output, hidden, ran.is_timed_out)


def _worktree_to_merge(tx: Tx, task: Task) -> tuple[Session | None, SessionWorktree | None]:
    """Return the session that holds the task and its worktree, if the worktree is to be merged."""
    now = tx.tasks.get(task.id)
    holder = task.holder if task.holder and now and now.status is TaskStatus.IN_REVIEW else ""
    worktree = tx.worktrees.get(holder)
    if worktree is None or worktree.merges_into is None or worktree.removed_at is not None:
        return None, None
    return tx.sessions.get(holder), worktree


def _conclude(tx: Tx, judged: Task, gate_runs: list[_GateRun], refusal: _MergeRefusal | None) -> None:
    """Keep the evidence, and complete or send back the task if the task has not changed since it was judged."""
    for gate in gate_runs:
        result = gate.result
        tx.gates.insert(result, gate.output)
        kind = EventKind.GATE_PASSED if result.passed else EventKind.GATE_FAILED
        data = {"ref": judged.ref, "gate": result.id, "command": result.command, "code": result.exit_code}
        data["sandbox"] = result.sandbox.value
        tx.log(NewEvent(kind, judged.id, judged.project_id, data), actor=SERVER_NAME)
    task = tx.tasks.get(judged.id)
    if task is None or not _is_unchanged(task, judged):
        return  # the task has moved on or was reported again: these results are about an older state
    passed = all(gate.result.passed for gate in gate_runs) and refusal is None
    if passed:
        moves.complete_task(tx, SERVER_CALLER, task_shapes.CompleteTask(id=task.id))
    holder = tx.sessions.get(task.holder) if task.holder else None
    if holder is not None:
        report_effects.apply_review(tx, holder, passed=passed)
    if passed:
        verdict_notices.report_passed(tx, task, holder)
    elif refusal is not None and _needs_conflict_task(tx, task, refusal):
        _open_conflict_task(tx, task, refusal)
    else:
        problem = "its work could not be merged" if refusal is not None else gate_runs[-1].summary
        reason = refusal.reason if refusal is not None else gate_runs[-1].verdict
        _send_back(tx, task, holder, problem=problem, reason=reason)


def _is_unchanged(task: Task, judged: Task) -> bool:
    """Return whether the task is still in review with the work that was judged."""
    return task.status is TaskStatus.IN_REVIEW and task.updated_at == judged.updated_at


def _needs_conflict_task(tx: Tx, task: Task, refusal: _MergeRefusal) -> bool:
    """Return whether a new task must resolve the conflict, because the author of the work has ended.

    A task that itself resolves a conflict gets no further task; it is attempted again.
    """
    if refusal.author is None or refusal.conflict is None:
        return False
    author = tx.sessions.get(refusal.author.id)
    return author is not None and author.ended_at is not None and tx.worktrees.of_conflict_task(task.id) is None


def _open_conflict_task(tx: Tx, task: Task, refusal: _MergeRefusal) -> None:
    """Open a task that resolves the conflict. The judged task and its dependants wait for the new task."""
    assert refusal.author is not None and refusal.worktree is not None and refusal.conflict is not None
    conflict_task = conflicts.open_conflict_task(
        tx, refusal.author, refusal.worktree, refusal.conflict, run_task=task
    )
    reason = (
        f"The work conflicts with {refusal.conflict.into}: {conflict_task.ref} has to resolve the conflict first."
    )
    moves.reject_task(tx, SERVER_CALLER, task_shapes.ReasonedTask(id=task.id, reason=reason))
    moves.release_task(tx, SERVER_CALLER, task_shapes.HeldTask(id=task.id))
    attempt = tx.runs.attempt_of_session(refusal.author.id)
    run = tx.runs.get(attempt.run_id) if attempt else None
    if attempt is not None and run is not None:
        runs.settle_attempt(tx, run, task, attempt, AttemptOutcome.FAILED, note=reason)


def _send_back(tx: Tx, task: Task, holder: Session | None, *, problem: str, reason: str) -> None:
    """Reject the task. A live holder continues with the task; the task of an ended holder fails."""
    reason = reason[: limits.reason_chars_max]
    moves.reject_task(tx, SERVER_CALLER, task_shapes.ReasonedTask(id=task.id, reason=reason))
    if holder is not None and holder.ended_at is None:
        notices.notify_session(tx, holder, subject=f"{task.ref} is not done yet", text=reason, priority=Priority.HIGH)
    elif holder is not None:
        with contextlib.suppress(errors.Conflict):
            moves.fail_task(tx, SERVER_CALLER, task_shapes.ReasonedTask(id=task.id, reason=reason))
    verdict_notices.report_failed(tx, task, holder, problem=problem, reason=reason)


def _run_of(tx: Tx, task: Task) -> Run | None:
    """Return the run that the holder of the task works for."""
    attempt = tx.runs.attempt_of_session(task.holder) if task.holder else None
    return tx.runs.get(attempt.run_id) if attempt else None


def _reason_if_race_lost(tx: Tx, run: Run) -> str:
    """Return why the attempt no longer counts, if another attempt has won the race; else an empty text."""
    if run.strategy is not RunStrategy.RACE:
        return ""
    is_won = any(standing.task.status is TaskStatus.COMPLETED for standing in runs.tasks_with_attempts(tx, run))
    return "Another attempt was faster." if is_won else ""
