"""Start, show, stop and resume runs. The background job `dispatch` decides the next step of a run."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator

import msgspec

from maestro.core import errors, ids, limits
from maestro.domain.callers import SERVER_NAME, Caller
from maestro.domain.events import EventKind, NewEvent
from maestro.domain.grants import rights_of
from maestro.domain.priorities import Priority
from maestro.domain.runs import Attempt, AttemptOutcome, Run, RunStatus, RunStrategy, TaskAttempts, describe_result
from maestro.domain.tasks import Task, TaskStatus
from maestro.events.hub import Hub
from maestro.git import worktrees
from maestro.operations import runs as ops
from maestro.operations import task_shapes
from maestro.services.access.find_run import find_run
from maestro.services.access.scope import find_project, find_readable_project, find_task, require_own_project
from maestro.services.runs import rights
from maestro.services.runs import wait_reasons as run_waits
from maestro.services.sessions import notices
from maestro.services.sessions.run_ownership import owns_run
from maestro.services.supervision.spawn_options import choose_directory, choose_tool, find_members
from maestro.services.supervision.stop import ProgramStopper
from maestro.services.task_links import task_links
from maestro.services.tasks import editing as task_service
from maestro.services.tasks import moves
from maestro.store.base import Store, Tx

_REDRAW_SECONDS = 0.2
_WAITS_SHOWN_MAX = 5


def start_run(tx: Tx, caller: Caller, request: ops.StartRun) -> Run:
    """Start a run of all tasks below the task, or of the task itself if it has no children."""
    task = find_task(tx, caller, request.task, project=request.project)
    project = find_project(tx, caller, task.project_id)
    require_own_project(caller, project, action="start runs")
    live_run = tx.runs.of_task(task.id)
    if live_run is not None:
        raise errors.Conflict(f"{live_run.id} already works on {task.ref}.", hint=f"maestro run show {live_run.id}")
    if task.status is TaskStatus.COMPLETED:
        raise errors.Conflict(f"{task.ref} is completed already.", hint=f"maestro task reopen '{task.ref}'")
    find_members(tx, project, [request.member] if request.member else [])
    if request.strategy is RunStrategy.RACE and tx.tasks.list_unfinished_children(task.id, limit=1):
        raise errors.Conflict(
            f"{task.ref} has tasks below it, and a race takes a single task.",
            hint="Start the race for a task without children, or use --strategy dag.",
        )
    run = Run(
        id=ids.new_id("run", tx.at),
        project_id=project.id,
        task_id=task.id,
        strategy=request.strategy,
        max_parallel=request.max_parallel,
        attempts_max=request.attempts,
        member=request.member,
        tool=choose_tool(
            tx, project, request.tool, request.arguments, [request.member] if request.member else []
        ).name,
        arguments=request.arguments,
        worktrees=request.worktree,
        directory=choose_directory(tx, request.path, project),
        branch=None,
        status=RunStatus.RUNNING,
        note="",
        started_by=caller.name,
        created_at=tx.at,
        ended_at=None,
        allow=request.allow,
        asks=request.asks,
        rights=rights_of(caller),
    )
    if run.worktrees:
        run = msgspec.structs.replace(run, branch=f"maestro/run-{run.id[-8:]}")
    tx.runs.insert(run)
    standings = tasks_with_attempts(tx, run)
    if len(standings) > limits.run_tasks_max:
        hint = f"Start runs for parts of {task.ref}."
        raise errors.TooLarge(f"A run has at most {limits.run_tasks_max} tasks.", hint=hint)
    members = [run.member or task_standing.task.member for task_standing in standings]
    rights.check_start(tx, caller, run, members or [run.member])
    if run.strategy is RunStrategy.RACE:
        _create_race_tasks(tx, caller, run, task)
    data = {"task": task.ref, "strategy": run.strategy.value}
    tx.log(NewEvent(EventKind.RUN_STARTED, run.id, project.id, data), actor=caller.name)
    return run


def _create_race_tasks(tx: Tx, caller: Caller, run: Run, task: Task) -> None:
    """Create a child task for each attempt of a race. Each child has its own claim; the run holds the parent."""
    for number in range(1, run.attempts_max + 1):
        request = task_shapes.CreateTask(
            project=task.project_id,
            title=f"Attempt {number}: {task.title}"[: limits.title_chars_max],
            description=task.description,
            parent=task.id,
            accept=task.accept,
            gates=task.gates,
            priority=task.priority,
        )
        task_service.create_task(tx, caller, request)


def tasks_with_attempts(tx: Tx, run: Run) -> list[TaskAttempts]:
    """Return the tasks of the run with their attempts."""
    if run.strategy is RunStrategy.RACE:
        # Only children that were created with the run take part in the race.
        children = tx.tasks.list_children(run.task_id, limit=limits.run_tasks_max)
        tasks = [child for child in children if child.created_at == run.created_at]
    else:
        tasks = tx.tasks.list_work_in_tree(run.task_id, limit=limits.run_tasks_max + 1)
    attempts = tx.runs.attempts_by_task(run.id)
    return [TaskAttempts(task, attempts.get(task.id, []), run.resumed_at) for task in tasks]


def running_tasks(tx: Tx, run: Run) -> list[TaskAttempts]:
    """Return the tasks that the run works on now; for a race, all tasks."""
    if run.strategy is RunStrategy.RACE:
        return tasks_with_attempts(tx, run)
    return _with_attempts(tx, run, tx.tasks.list_with_open_attempt(run.id))


def startable_tasks(tx: Tx, run: Run, *, limit: int) -> list[TaskAttempts]:
    """Return tasks that the run could start now, or could attempt again later."""
    if run.strategy is RunStrategy.RACE or not limit:
        return []
    return _with_attempts(
        tx, run, tx.tasks.list_startable(run.task_id, run.id, project_id=run.project_id, limit=limit)
    )


def _with_attempts(tx: Tx, run: Run, tasks: list[Task]) -> list[TaskAttempts]:
    attempts = tx.runs.attempts_by_task(run.id, [task.id for task in tasks])
    return [TaskAttempts(task, attempts.get(task.id, []), run.resumed_at) for task in tasks]


def run_view(tx: Tx, run: Run) -> ops.RunView:
    """Return the run with its tasks, as `run show` shows it."""
    standings = tasks_with_attempts(tx, run)
    tasks = [task_standing.task for task_standing in standings]
    root = tx.tasks.get(run.task_id)
    edges = tx.tasks.graph.dependencies_of([task.id for task in tasks])
    counts = Counter("ready" if task.ready else task.status.value for task in tasks)
    return ops.RunView(
        **msgspec.structs.asdict(run),
        task=root.ref if root else run.task_id,
        title=root.title if root else "",
        tasks=[_run_task(tx, shown, edges.get(shown.task.id, [])) for shown in standings],
        counts=dict(counts),
        found=task_links(tx.tasks.list_found_below(run.task_id, limit=limits.blockers_shown_max)),
    )


def _run_task(tx: Tx, shown: TaskAttempts, edges: list[tuple[str, TaskStatus]]) -> ops.RunTask:
    task = shown.task
    last = shown.attempts[-1] if shown.attempts else None
    session = tx.sessions.mail_route(last.session_id) if last else None
    return ops.RunTask(
        id=task.id,
        ref=task.ref,
        title=task.title,
        status=task.status,
        ready=task.ready,
        attempts=len(shown.attempts),
        session=session.name if session else None,
        session_status=session.status if session else None,
        since=last.started_at if last and shown.is_running else None,
        waits_on=[ref for ref, status in edges if status is not TaskStatus.COMPLETED][:_WAITS_SHOWN_MAX],
        depends_on=[ref for ref, _ in edges],
        started_at=task.started_at,
        finished_at=task.finished_at,
        note=task.reason if task.status is TaskStatus.BLOCKED else shown.note or _rejection_reason(task),
        held_by=run_waits.holder_name(tx, task) if task.holder and not shown.is_running else None,
    )


def _rejection_reason(task: Task) -> str:
    """Return why a task that was reported complete is in progress again; one line, or an empty text."""
    lines = task.reason.splitlines() if task.status is TaskStatus.IN_PROGRESS else []
    return lines[0][: limits.run_note_chars_max] if lines else ""


def list_runs(tx: Tx, caller: Caller, request: ops.ListRuns) -> ops.RunList:
    hint = "`maestro task show` shows the status of a task of another project."
    project = find_readable_project(tx, caller, request.project, action="lists the runs", hint=hint)
    runs = tx.runs.list_page(project.id, before=request.cursor or "run_~", limit=request.limit + 1)
    shown = runs[: request.limit]
    cursor = shown[-1].id if len(runs) > request.limit else None
    return ops.RunList(runs=[_run_in_list(tx, run) for run in shown], cursor=cursor)


def _run_in_list(tx: Tx, run: Run) -> ops.RunInList:
    root = tx.tasks.get(run.task_id)
    task, title = (root.ref, root.title) if root else (run.task_id, "")
    return ops.RunInList(**msgspec.structs.asdict(run), task=task, title=title)


def _own_run(tx: Tx, caller: Caller, request: ops.OneRun, *, action: str) -> Run:
    """Return the run if the caller owns it; refuse otherwise (see `run_ownership`)."""
    run = find_run(tx, caller, request.id, project=request.project)
    if owns_run(tx, caller, run):
        return run
    raise errors.NotPermitted(
        f"{run.id} belongs to another session. A session may {action} its own runs and runs of sessions below it."
    )


def resume_run(tx: Tx, caller: Caller, request: ops.OneRun) -> Run:
    """Resume the run where it stopped. Failed tasks are reopened, and their attempts are counted from zero again."""
    run = _own_run(tx, caller, request, action="resume")
    if run.status is RunStatus.RUNNING:
        return run
    if run.status is RunStatus.COMPLETED:
        raise errors.Conflict(f"{run.id} is completed and cannot be resumed.", data={"status": run.status})
    live_run = tx.runs.of_task(run.task_id)
    if live_run is not None:
        raise errors.Conflict(f"{live_run.id} works on the same task.", hint=f"maestro run show {live_run.id}")
    if not tx.runs.resume(run, at=tx.at):
        hint = f"Check its state: maestro run show {run.id}"
        raise errors.Conflict(f"{run.id} was changed by another caller just now.", hint=hint)
    for task_standing in tasks_with_attempts(tx, run):
        if task_standing.task.status is TaskStatus.FAILED:
            moves.reopen_task(tx, caller, task_shapes.OneTask(id=task_standing.task.id))
    tx.log(NewEvent(EventKind.RUN_RESUMED, run.id, run.project_id, {}), actor=caller.name)
    return tx.runs.get(run.id) or run


def settle_attempt(tx: Tx, run: Run, task: Task, attempt: Attempt, outcome: AttemptOutcome, *, note: str) -> None:
    """Record and log the outcome of an attempt."""
    tx.runs.end_attempt(attempt, outcome, note=note, at=tx.at)
    log_attempt(tx, run, task, attempt, outcome, note=note)


def log_attempt(tx: Tx, run: Run, task: Task, attempt: Attempt, outcome: AttemptOutcome, *, note: str) -> None:
    """Log the outcome of an attempt."""
    data = {"task": task.ref, "attempt": attempt.number, "outcome": outcome.value, "note": note}
    tx.log(NewEvent(EventKind.RUN_ATTEMPT, run.id, run.project_id, data), actor=SERVER_NAME)


def end_run(tx: Tx, run: Run, status: RunStatus, *, note: str, actor: str) -> None:
    """End the run, and notify its starter."""
    if tx.runs.change_status(run, status, note=note, at=tx.at):
        data = {"status": status.value, "note": note}
        tx.log(NewEvent(EventKind.RUN_ENDED, run.id, run.project_id, data), actor=actor)
        root = tx.tasks.get(run.task_id)
        name = f"{run.id} ({root.ref})" if root else run.id
        priority = Priority.HIGH if status is RunStatus.FAILED else Priority.NORMAL
        has_result = any(shown.task.status is TaskStatus.COMPLETED for shown in tasks_with_attempts(tx, run))
        branch_note = describe_result(msgspec.structs.replace(run, status=status), has_completed_work=has_result)
        text = "\n\n".join(filter(None, (note, branch_note)))
        subject = f"{name} {status}"
        notices.notify_run_end(tx, run.started_by, run.project_id, subject=subject, text=text, priority=priority)


class RunControl:
    """The operations on runs: start, show, follow, stop and resume."""

    def __init__(self, store: Store, hub: Hub, stopping: ProgramStopper) -> None:
        self._store = store
        self._hub = hub
        self._stopping = stopping

    async def start_run(self, caller: Caller, request: ops.StartRun) -> ops.RunView:
        run = await self._start_run(caller, request)
        return await self._view(run.id)

    async def start_and_follow(self, caller: Caller, request: ops.StartRun) -> AsyncIterator[ops.RunView]:
        run = await self._start_run(caller, request)
        if request.detach:
            yield await self._view(run.id)
            return
        async for shown in self._follow(run.id):
            yield shown

    async def show_run(self, caller: Caller, request: ops.ShowRun) -> ops.RunView:
        return await self._store.read(
            lambda tx: run_view(tx, find_run(tx, caller, request.id, project=request.project))
        )

    async def show_and_follow(self, caller: Caller, request: ops.ShowRun) -> AsyncIterator[ops.RunView]:
        shown = await self.show_run(caller, request)
        if not request.follow:
            yield shown
            return
        async for changed in self._follow(shown.id):
            yield changed

    async def resume_run(self, caller: Caller, request: ops.OneRun) -> ops.RunView:
        run = await self._resume_run(caller, request)
        return await self._view(run.id)

    async def resume_and_follow(self, caller: Caller, request: ops.OneRun) -> AsyncIterator[ops.RunView]:
        run = await self._resume_run(caller, request)
        async for shown in self._follow(run.id):
            yield shown

    async def stop_run(self, caller: Caller, request: ops.OneRun) -> Run:
        """End the run and stop its sessions. The end of a session releases its tasks."""

        def write(tx: Tx) -> tuple[Run, list[Attempt]]:
            run = _own_run(tx, caller, request, action="stop")
            if run.status is not RunStatus.RUNNING:
                raise errors.Conflict(f"{run.id} is already {run.status}.", data={"status": run.status})
            end_run(tx, run, RunStatus.STOPPED, note=f"stopped by {caller.title or caller.name}", actor=caller.name)
            running = [shown.attempts[-1] for shown in tasks_with_attempts(tx, run) if shown.is_running]
            return tx.runs.get(run.id) or run, running

        run, running = await self._store.write(write)
        await self._stopping.stop_programs([attempt.session_id for attempt in running], by=f"the end of {run.id}")
        return run

    async def _start_run(self, caller: Caller, request: ops.StartRun) -> Run:
        """Start the run. A run with worktrees is refused before any write if its directory cannot have worktrees."""

        def read_directory(tx: Tx) -> str:
            task = find_task(tx, caller, request.task, project=request.project)
            return choose_directory(tx, request.path, find_project(tx, caller, task.project_id))

        if request.worktree:
            await worktrees.require_ready(await self._store.read(read_directory, quick=True))
        return await self._store.write(lambda tx: start_run(tx, caller, request))

    async def _resume_run(self, caller: Caller, request: ops.OneRun) -> Run:
        run = await self._store.read(lambda tx: _own_run(tx, caller, request, action="resume"), quick=True)
        if run.worktrees and run.status is not RunStatus.RUNNING:
            await worktrees.require_ready(run.directory)
        return await self._store.write(lambda tx: resume_run(tx, caller, request))

    async def _follow(self, run_id: str) -> AsyncIterator[ops.RunView]:
        """Yield the view of the run, and a new view after each change, until the run has ended."""
        shown = await self._view(run_id)
        yield shown
        with self._hub.subscribe([shown.project_id]) as subscription:
            while shown.status is RunStatus.RUNNING:
                subscription.take_events()
                now = await self._view(run_id)
                if now != shown:
                    yield now
                shown = now
                if now.status is not RunStatus.RUNNING:
                    return
                await subscription.wait_for_event()
                await asyncio.sleep(_REDRAW_SECONDS)  # a burst of events causes a single new view

    async def _view(self, run_id: str) -> ops.RunView:
        def read_view(tx: Tx) -> ops.RunView:
            run = tx.runs.get(run_id)
            assert run is not None
            return run_view(tx, run)

        return await self._store.read(read_view)
