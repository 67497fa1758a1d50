"""Runs the gates of tasks that were reported complete. Only then do they count; what did not pass goes back."""

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
from maestro.domain.callers import SERVER, THE_SERVER
from maestro.domain.documents import Content
from maestro.domain.events import Change, Kind
from maestro.domain.gates import GateResult
from maestro.domain.runs import Outcome, Run, Strategy
from maestro.domain.sandboxes import Mode, Sandbox
from maestro.domain.sessions import Session
from maestro.domain.spawns import Worktree
from maestro.domain.tasks import Priority, Status, Task
from maestro.git import sandbox
from maestro.git.worktrees import Conflicted, Merged, loose_ends
from maestro.operations import task_shapes
from maestro.services.projects.sandboxes import Sandboxes
from maestro.services.runs import records as runs
from maestro.services.sessions import notices, reports
from maestro.services.tasks import moves, verdicts
from maestro.services.upkeep.gate_places import place_of
from maestro.services.worktrees import conflicts
from maestro.services.worktrees.keeping import Worktrees
from maestro.store.base import Store, Tx
from maestro.store.blobs import Blobs
from maestro.store.holds import Hold
from maestro.system import shell_command
from maestro.text import redaction
from maestro.tools.base import cleared


class _Said(msgspec.Struct, frozen=True):
    result: GateResult
    output: Content
    text: str
    is_timed_out: bool

    @property
    def verdict(self) -> str:
        return rules.verdict(self.result, self.text, is_timed_out=self.is_timed_out)

    @property
    def in_short(self) -> str:
        return f"gate {self.result.command}, {rules.how(self.result, is_timed_out=self.is_timed_out)}"


class _Clash(msgspec.Struct, frozen=True):
    """Why finished work cannot come in; where it is a conflict, whose and with what."""

    why: str
    author: Session | None = None
    worktree: Worktree | None = None
    conflict: Conflicted | None = None


class Gates:
    """A few tasks at a time, each task's gates in their order."""

    name = "gates"

    def __init__(
        self,
        store: Store,
        blobs: Blobs,
        worktrees: Worktrees,
        sandboxes: Sandboxes,
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
        self._asking: dict[str, Task] = {}  # whose commands run
        self._holds: dict[str, Hold] = {}  # the outputs of a task's gates, until their rows are written
        self._merging: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self.on_done: Callable[[], None] = lambda: None  # there is room for another

    async def run_once(self) -> datetime | None:
        """Begin with what is due and has a place; whoever is done asks for the next look."""
        for task_id in [task_id for task_id, work in self._running.items() if work.done()]:
            work = self._running.pop(task_id)
            if not work.cancelled():
                work.result()
        await self._give_up()
        many = limits.gates_parallel_max
        due = await self._store.read(lambda tx: tx.tasks.in_review(limit=many * 4))
        for task in due:
            if len(self._running) < many and task.id not in self._running:
                work = self._running[task.id] = asyncio.create_task(self._judge(task))
                work.add_done_callback(lambda _: self.on_done())
        return None

    async def _give_up(self) -> None:
        """End the gates of what is no longer to be judged: it was cancelled or deleted, or someone has judged it."""
        asking = dict(self._asking)

        def look(tx: Tx) -> list[str]:
            now = {task_id: tx.tasks.get(task_id) for task_id in asking}
            return [task_id for task_id, task in now.items() if task is None or not _stands(task, asking[task_id])]

        for task_id in await self._store.read(look, quick=True) if asking else ():
            if task_id in self._asking:
                self._running[task_id].cancel()

    async def close(self) -> None:
        for work in self._running.values():
            work.cancel()
        await asyncio.gather(*self._running.values(), return_exceptions=True)

    async def _judge(self, task: Task) -> None:
        with self._blobs.hold() as hold:
            self._holds[task.id] = hold
            try:
                await self._judge_holding(task)
            finally:
                del self._holds[task.id]

    async def _judge_holding(self, task: Task) -> None:
        loose = await self._loose_ends(task)
        if loose:
            await self._store.write(lambda tx: _conclude(tx, task, [], _Clash(loose)))
            return
        self._asking[task.id] = task
        try:
            said = await self._asked(task)
        finally:
            del self._asking[task.id]
        if not all(one.result.passed for one in said):
            await self._store.write(lambda tx: _conclude(tx, task, said, None))
            return
        run = await self._store.read(lambda tx: _run_of(tx, task), quick=True)
        # Merged and completed before the next one is: of several attempts in a race only one gets in.
        async with self._merging.setdefault(run.id if run else task.id, asyncio.Lock()):
            lost = await self._store.read(lambda tx: _has_lost(tx, run), quick=True) if run else ""
            clash = _Clash(lost) if lost else await self._merge(task)
            await self._store.write(lambda tx: _conclude(tx, task, said, clash))

    async def _asked(self, task: Task) -> list[_Said]:
        """What the gates say, one after another up to the first that does not pass."""
        said: list[_Said] = []
        if not task.gates:
            return said
        # Read once: no gate of a task runs in another mode than the gate before it.
        within = await self._sandboxes.of_project(task.project_id)
        try:
            async with place_of(self._store, task, within) as directory:
                for command in task.gates:
                    said.append(await self._run(task, command, directory, within))
                    if not said[-1].result.passed:
                        break  # the rest would say nothing more
        except errors.MaestroError as error:
            if len(said) < len(task.gates) and all(one.result.passed for one in said):
                text = f"{error} {error.hint}".strip().encode("utf-8", "replace")
                never = shell_command.Ran(code=None, output=text, output_bytes=len(text), seconds=0.0)
                said.append(await self._said(task, task.gates[len(said)], never, within.mode))
        return said

    async def _merge(self, task: Task) -> _Clash | None:
        """Bring a worker's branch into its run's; why that cannot be, or nothing."""

        session, found = await self._store.read(lambda tx: _to_be_merged(tx, task), quick=True)
        if session is None or found is None or found.merges_into is None:
            return None
        try:
            done = await self._worktrees.bring_in(session, found, found.merges_into)
        except errors.MaestroError as error:
            return _Clash(f"It could not be merged into {found.merges_into}: {error}")
        if isinstance(done, Merged):
            return None
        return _Clash(conflicts.described(session, found, done, in_run=False), session, found, done)

    async def _loose_ends(self, task: Task) -> str:
        """What of a worker's work would be left behind by the merge: as good as a gate that did not pass. Before the
        gates, for those may leave files themselves."""
        _, found = await self._store.read(lambda tx: _to_be_merged(tx, task), quick=True)
        if found is None:
            return ""
        try:
            return await loose_ends(found.repository, path=found.path, branch=found.branch)
        except errors.MaestroError as error:
            return f"Nobody can tell whether all of it is committed: {error}"

    async def _run(self, task: Task, command: str, directory: str, within: Sandbox) -> _Said:
        ran = await sandbox.run(
            command,
            sandbox=within,
            directory=directory,
            environment=cleared(os.environ) | {"MAESTRO_TASK_ID": task.id, "MAESTRO_GATE": "1"},
            seconds_max=self._seconds_max,
            bytes_max=limits.gate_output_bytes_max,
            mark=f"gate-{task.id}",
        )
        return await self._said(task, command, ran, within.mode)

    async def _said(self, task: Task, command: str, ran: shell_command.Ran, mode: Mode) -> _Said:
        result = GateResult(
            id=ids.new("gat", self._clock.now()),
            task_id=task.id,
            session_id=task.holder,
            command=command,
            passed=ran.passed,
            exit_code=None if ran.is_timed_out else ran.code,
            seconds=ran.seconds,
            created_at=self._clock.now(),
            sandbox=mode,
        )
        text = ran.output.decode("utf-8", "replace")
        is_cut = ran.output_bytes > len(ran.output)
        hidden = redaction.hide_in_end(text) if is_cut else redaction.hide_in_terminal(text)
        output = await asyncio.to_thread(self._holds[task.id].keep, ran.output if hidden == text else hidden.encode())
        return _Said(result, output, hidden, ran.is_timed_out)


def _to_be_merged(tx: Tx, task: Task) -> tuple[Session | None, Worktree | None]:
    """Who did a task in a run with worktrees, and where."""
    now = tx.tasks.get(task.id)
    holder = task.holder if task.holder and now and now.status is Status.IN_REVIEW else ""
    found = tx.worktrees.get(holder)
    if found is None or found.merges_into is None or found.removed_at is not None:
        return None, None
    return tx.sessions.get(holder), found


def _conclude(tx: Tx, seen: Task, said: list[_Said], clash: _Clash | None) -> None:
    """Keep the evidence and move the task, if it still stands where it stood."""
    for one in said:
        tx.gates.insert(one.result, one.output)
        kind = Kind.GATE_PASSED if one.result.passed else Kind.GATE_FAILED
        data = {"ref": seen.ref, "gate": one.result.id, "command": one.result.command, "code": one.result.exit_code}
        data["sandbox"] = one.result.sandbox.value
        tx.log(Change(kind, seen.id, seen.project_id, data), actor=SERVER)
    task = tx.tasks.get(seen.id)
    if task is None or not _stands(task, seen):
        return  # it went on meanwhile, or was handed in anew: then this was said about something else
    passed = all(one.result.passed for one in said) and clash is None
    if passed:
        moves.complete(tx, THE_SERVER, task_shapes.CompleteTask(id=task.id))
    holder = tx.sessions.get(task.holder) if task.holder else None
    if holder is not None:
        reports.reviewed(tx, holder, passed=passed)
    if passed:
        verdicts.passed(tx, task, holder)
    elif clash is not None and _is_for_another(tx, task, clash):
        _hand_on(tx, task, clash)
    else:
        what = "it could not be merged" if clash is not None else said[-1].in_short
        _send_back(tx, task, holder, what=what, why=clash.why if clash is not None else said[-1].verdict)


def _stands(task: Task, seen: Task) -> bool:
    """Whether a task is still to be judged for what was handed in."""
    return task.status is Status.IN_REVIEW and task.updated_at == seen.updated_at


def _is_for_another(tx: Tx, task: Task, clash: _Clash) -> bool:
    """Whether a conflict needs a task of its own: its author has ended. What is itself to mend one is tried again."""
    if clash.author is None or clash.conflict is None:
        return False
    author = tx.sessions.get(clash.author.id)
    return author is not None and author.ended_at is not None and tx.worktrees.mended_by(task.id) is None


def _hand_on(tx: Tx, task: Task, clash: _Clash) -> None:
    """The task is open again and waits for the one that mends the conflict; so does whatever depends on it."""
    assert clash.author is not None and clash.worktree is not None and clash.conflict is not None
    mending = conflicts.go_back(tx, clash.author, clash.worktree, clash.conflict, of=task)
    why = f"It conflicts with {clash.conflict.into}: {mending.ref} is to mend that."
    moves.reject(tx, THE_SERVER, task_shapes.ReasonedTask(id=task.id, reason=why))
    moves.release(tx, THE_SERVER, task_shapes.HeldTask(id=task.id))
    attempt = tx.runs.attempt_of(clash.author.id)
    run = tx.runs.get(attempt.run_id) if attempt else None
    if attempt is not None and run is not None:
        runs.settle(tx, run, task, attempt, Outcome.FAILED, note=why)


def _send_back(tx: Tx, task: Task, holder: Session | None, *, what: str, why: str) -> None:
    """Whoever holds it goes on with it; if nobody is there any more, it is open for the next."""
    why = why[: limits.reason_chars_max]
    moves.reject(tx, THE_SERVER, task_shapes.ReasonedTask(id=task.id, reason=why))
    if holder is not None and holder.ended_at is None:
        notices.to_session(tx, holder, subject=f"{task.ref} is not done yet", text=why, priority=Priority.HIGH)
    elif holder is not None:
        with contextlib.suppress(errors.Conflict):
            moves.fail(tx, THE_SERVER, task_shapes.ReasonedTask(id=task.id, reason=why))
    verdicts.failed(tx, task, holder, what=what, why=why)


def _run_of(tx: Tx, task: Task) -> Run | None:
    """The run that a task is worked on for."""
    attempt = tx.runs.attempt_of(task.holder) if task.holder else None
    return tx.runs.get(attempt.run_id) if attempt else None


def _has_lost(tx: Tx, run: Run) -> str:
    """Why an attempt counts no more: another has won the race."""
    if run.strategy is not Strategy.RACE:
        return ""
    won = any(one.task.status is Status.COMPLETED for one in runs.standing(tx, run))
    return "Another attempt was faster." if won else ""
