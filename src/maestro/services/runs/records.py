"""Runs as records: starting, looking, stopping, going on. What a run does next is `dispatching`'s."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator

import msgspec

from maestro.core import errors, ids, limits
from maestro.domain.callers import SERVER, Caller
from maestro.domain.events import Change, Kind
from maestro.domain.grants import rights_of
from maestro.domain.runs import Attempt, Outcome, Run, RunStatus, Standing, Strategy, landing
from maestro.domain.sight import may_read
from maestro.domain.tasks import Priority, Status, Task
from maestro.events.hub import Hub
from maestro.git import worktrees
from maestro.operations import runs as ops
from maestro.operations import task_shapes
from maestro.services.programs.choices import directory_of, members_of, tool_of
from maestro.services.programs.stopping import Stopping
from maestro.services.runs import rights
from maestro.services.runs import waits as run_waits
from maestro.services.runs.ownership import owns_run
from maestro.services.scope import may_write, project_of, readable_project, task_of
from maestro.services.sessions import notices
from maestro.services.tasks import moves
from maestro.services.tasks import records as task_service
from maestro.store.base import Store, Tx

_SHOWN_AGAIN_SECONDS = 0.2
_WAITS_SHOWN_MAX = 5
_SHORT_CHARS_MIN = 4


def start(tx: Tx, caller: Caller, request: ops.StartRun) -> Run:
    """A new run of a task: of all that is below it, or of itself if nothing is."""
    task = task_of(tx, caller, request.task, project=request.project)
    project = project_of(tx, caller, task.project_id)
    may_write(caller, project, what="start runs")
    there = tx.runs.of_task(task.id)
    if there is not None:
        raise errors.Conflict(f"{there.id} works off {task.ref} already.", hint=f"maestro run show {there.id}")
    if task.status is Status.COMPLETED:
        raise errors.Conflict(f"{task.ref} is completed already.", hint=f"maestro task reopen '{task.ref}'")
    members_of(tx, project, [request.member] if request.member else [])
    if request.strategy is Strategy.RACE and tx.tasks.unfinished_children(task.id, limit=1):
        raise errors.Conflict(
            f"{task.ref} has tasks below it: a race is for one task.",
            hint="Race one of those, or use --strategy dag.",
        )
    run = Run(
        id=ids.new("run", tx.at),
        project_id=project.id,
        task_id=task.id,
        strategy=request.strategy,
        max_parallel=request.max_parallel,
        attempts_max=request.attempts,
        member=request.member,
        tool=tool_of(tx, project, request.tool, request.words, [request.member] if request.member else []).name,
        words=request.words,
        worktrees=request.worktree,
        directory=directory_of(tx, request.path, project),
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
    found = standing(tx, run)
    if len(found) > limits.run_tasks_max:
        raise errors.TooLarge(f"A run has at most {limits.run_tasks_max} tasks.", hint="Run parts of the tree.")
    rights.check_start(tx, caller, run, [run.member or one.task.member for one in found] or [run.member])
    if run.strategy is Strategy.RACE:
        _line_up(tx, caller, run, task)
    data = {"task": task.ref, "strategy": run.strategy.value}
    tx.log(Change(Kind.RUN_STARTED, run.id, project.id, data), actor=caller.name)
    return run


def _line_up(tx: Tx, caller: Caller, run: Run, task: Task) -> None:
    """In a race each attempt is a child task with its own claim; the run holds the parent."""
    for number in range(1, run.attempts_max + 1):
        made = task_shapes.CreateTask(
            project=task.project_id,
            title=f"Attempt {number}: {task.title}"[: limits.title_chars_max],
            description=task.description,
            parent=task.id,
            accept=task.accept,
            gates=task.gates,
            priority=task.priority,
        )
        task_service.create(tx, caller, made)


def standing(tx: Tx, run: Run) -> list[Standing]:
    """A run's tasks with their attempts."""
    if run.strategy is Strategy.RACE:
        # Those that were made with the run, and no others: what was there before has won nothing.
        children = tx.tasks.children(run.task_id, limit=limits.run_tasks_max)
        found = [child for child in children if child.created_at == run.created_at]
    else:
        found = tx.tasks.to_work_off(run.task_id, limit=limits.run_tasks_max + 1)
    attempts = tx.runs.attempts(run.id)
    return [Standing(one, attempts.get(one.id, []), run.resumed_at) for one in found]


def at_work(tx: Tx, run: Run) -> list[Standing]:
    """Those of a run's tasks that it is at; of a race, all."""
    if run.strategy is Strategy.RACE:
        return standing(tx, run)
    return _with_attempts(tx, run, tx.tasks.at_work(run.id))


def to_begin(tx: Tx, run: Run, *, limit: int) -> list[Standing]:
    """Those that it could begin, or could try again later."""
    if run.strategy is Strategy.RACE or not limit:
        return []
    return _with_attempts(tx, run, tx.tasks.to_begin(run.task_id, run.id, project_id=run.project_id, limit=limit))


def _with_attempts(tx: Tx, run: Run, found: list[Task]) -> list[Standing]:
    attempts = tx.runs.attempts(run.id, [one.id for one in found])
    return [Standing(one, attempts.get(one.id, []), run.resumed_at) for one in found]


def view(tx: Tx, run: Run) -> ops.RunView:
    """A run as one sees it at a glance."""
    found = standing(tx, run)
    root = tx.tasks.get(run.task_id)
    edges = tx.tasks.graph.edges([one.task.id for one in found])
    counts = Counter("ready" if one.task.ready else one.task.status.value for one in found)
    return ops.RunView(
        **msgspec.structs.asdict(run),
        task=root.ref if root else run.task_id,
        title=root.title if root else "",
        tasks=[_shown(tx, one, edges.get(one.task.id, [])) for one in found],
        counts=dict(counts),
        found=task_service.links(tx.tasks.found_below(run.task_id, limit=limits.blockers_shown_max)),
    )


def _shown(tx: Tx, one: Standing, edges: list[tuple[str, Status]]) -> ops.RunTask:
    last = one.attempts[-1] if one.attempts else None
    session = tx.sessions.route(last.session_id) if last else None
    return ops.RunTask(
        id=one.task.id,
        ref=one.task.ref,
        title=one.task.title,
        status=one.task.status,
        ready=one.task.ready,
        attempts=len(one.attempts),
        session=session.name if session else None,
        session_status=session.status if session else None,
        since=last.started_at if last and one.is_running else None,
        waits_on=[ref for ref, status in edges if status is not Status.COMPLETED][:_WAITS_SHOWN_MAX],
        depends_on=[ref for ref, _ in edges],
        started_at=one.task.started_at,
        finished_at=one.task.finished_at,
        note=one.task.reason if one.task.status is Status.BLOCKED else one.note or _sent_back(one.task),
        held_by=run_waits.holder_name(tx, one.task) if one.task.holder and not one.is_running else None,
    )


def _sent_back(task: Task) -> str:
    """Why somebody works on it again that had handed it in."""
    lines = task.reason.splitlines() if task.status is Status.IN_PROGRESS else []
    return lines[0][: limits.run_note_chars_max] if lines else ""


def list_page(tx: Tx, caller: Caller, request: ops.ListRuns) -> ops.RunList:
    hint = "`maestro task show` tells where a task of another project stands."
    project = readable_project(tx, caller, request.project, what="lists the runs", hint=hint)
    found = tx.runs.page(project.id, before=request.cursor or "run_~", limit=request.limit + 1)
    shown = found[: request.limit]
    cursor = shown[-1].id if len(found) > request.limit else None
    return ops.RunList(runs=[_listed(tx, run) for run in shown], cursor=cursor)


def _listed(tx: Tx, run: Run) -> ops.RunInList:
    root = tx.tasks.get(run.task_id)
    task, title = (root.ref, root.title) if root else (run.task_id, "")
    return ops.RunInList(**msgspec.structs.asdict(run), task=task, title=title)


def run_of(tx: Tx, caller: Caller, run_id: str, *, project: str = "") -> Run:
    """A run by its id, the end of it, or the task whose newest run it is."""
    run = tx.runs.get(run_id) or _shortened(tx, caller, run_id, project)
    if run is None or not may_read(caller, run.project_id):
        raise errors.NotFound(f"There is no run {run_id!r}.", hint="maestro run list")
    return run


def _shortened(tx: Tx, caller: Caller, text: str, project: str) -> Run | None:
    if "#" in text or text.startswith("tsk_"):
        return tx.runs.last_of_task(task_of(tx, caller, text, project=project).id)
    wanted = text.removeprefix("run_").removeprefix("…")
    if len(wanted) < _SHORT_CHARS_MIN:
        return None
    owner = project_of(tx, caller, project)
    newest = tx.runs.page(owner.id, before="run_~", limit=limits.page_items_max)
    found = [run for run in newest if run.id.endswith(wanted) or run.id.startswith(f"run_{wanted}")]
    if len(found) > 1:
        raise errors.Ambiguous(
            f"{text!r} could be {' or '.join(run.id for run in found[:_WAITS_SHOWN_MAX])}.",
            data={"candidates": [run.id for run in found]},
        )
    return found[0] if found else None


def _own(tx: Tx, caller: Caller, request: ops.OneRun, *, what: str) -> Run:
    """A run of the caller's: it or one below it has started it, or it succeeded who did. All are the person's."""
    run = run_of(tx, caller, request.id, project=request.project)
    if owns_run(tx, caller, run):
        return run
    raise errors.NotPermitted(f"A session may {what} its own runs and those of whom it started, no others.")


def resume(tx: Tx, caller: Caller, request: ops.OneRun) -> Run:
    """Go on where it stood; what had failed is tried anew, and its tries are counted from here."""
    run = _own(tx, caller, request, what="resume")
    if run.status is RunStatus.RUNNING:
        return run
    if run.status is RunStatus.COMPLETED:
        raise errors.Conflict("This run is completed.", data={"status": run.status})
    there = tx.runs.of_task(run.task_id)
    if there is not None:
        raise errors.Conflict(f"{there.id} works off the same task.", hint=f"maestro run show {there.id}")
    if not tx.runs.resume(run, at=tx.at):
        raise errors.Conflict("This run was changed by someone else just now.", hint="Look again.")
    for one in standing(tx, run):
        if one.task.status is Status.FAILED:
            moves.reopen(tx, caller, task_shapes.OneTask(id=one.task.id))
    tx.log(Change(Kind.RUN_RESUMED, run.id, run.project_id, {}), actor=caller.name)
    return tx.runs.get(run.id) or run


def settle(tx: Tx, run: Run, task: Task, attempt: Attempt, outcome: Outcome, *, note: str) -> None:
    """How an attempt came out."""
    tx.runs.end(attempt, outcome, note=note, at=tx.at)
    tell(tx, run, task, attempt, outcome, note=note)


def tell(tx: Tx, run: Run, task: Task, attempt: Attempt, outcome: Outcome, *, note: str) -> None:
    told = {"task": task.ref, "attempt": attempt.number, "outcome": outcome.value, "note": note}
    tx.log(Change(Kind.RUN_ATTEMPT, run.id, run.project_id, told), actor=SERVER)


def end(tx: Tx, run: Run, status: RunStatus, *, note: str, actor: str) -> None:
    """A run is over."""
    if tx.runs.move(run, status, note=note, at=tx.at):
        data = {"status": status.value, "note": note}
        tx.log(Change(Kind.RUN_ENDED, run.id, run.project_id, data), actor=actor)
        root = tx.tasks.get(run.task_id)
        what = f"{run.id} ({root.ref})" if root else run.id
        priority = Priority.HIGH if status is RunStatus.FAILED else Priority.NORMAL
        done = any(one.task.status is Status.COMPLETED for one in standing(tx, run))
        where = landing(msgspec.structs.replace(run, status=status), is_something_done=done)
        text = "\n\n".join(filter(None, (note, where)))
        subject = f"{what} {status}"
        notices.run_ended(tx, run.started_by, run.project_id, subject=subject, text=text, priority=priority)


class RunControl:
    """Starting and following, stopping and resuming."""

    def __init__(self, store: Store, hub: Hub, stopping: Stopping) -> None:
        self._store = store
        self._hub = hub
        self._stopping = stopping

    async def start(self, caller: Caller, request: ops.StartRun) -> ops.RunView:
        run = await self._started(caller, request)
        return await self._view(run.id)

    async def start_and_follow(self, caller: Caller, request: ops.StartRun) -> AsyncIterator[ops.RunView]:
        run = await self._started(caller, request)
        if request.detach:
            yield await self._view(run.id)
            return
        async for shown in self._follow(run.id):
            yield shown

    async def show(self, caller: Caller, request: ops.ShowRun) -> ops.RunView:
        return await self._store.read(lambda tx: view(tx, run_of(tx, caller, request.id, project=request.project)))

    async def show_and_follow(self, caller: Caller, request: ops.ShowRun) -> AsyncIterator[ops.RunView]:
        shown = await self.show(caller, request)
        if not request.follow:
            yield shown
            return
        async for one in self._follow(shown.id):
            yield one

    async def resume(self, caller: Caller, request: ops.OneRun) -> ops.RunView:
        run = await self._resumed(caller, request)
        return await self._view(run.id)

    async def resume_and_follow(self, caller: Caller, request: ops.OneRun) -> AsyncIterator[ops.RunView]:
        run = await self._resumed(caller, request)
        async for shown in self._follow(run.id):
            yield shown

    async def stop(self, caller: Caller, request: ops.OneRun) -> Run:
        """No more is started, and what runs is stopped; tasks are given back by their sessions' ends."""

        def write(tx: Tx) -> tuple[Run, list[Attempt]]:
            run = _own(tx, caller, request, what="stop")
            if run.status is not RunStatus.RUNNING:
                raise errors.Conflict(f"This run is {run.status} already.", data={"status": run.status})
            end(tx, run, RunStatus.STOPPED, note=f"stopped by {caller.title or caller.name}", actor=caller.name)
            running = [one.attempts[-1] for one in standing(tx, run) if one.is_running]
            return tx.runs.get(run.id) or run, running

        run, running = await self._store.write(write)
        await self._stopping.stop_all([attempt.session_id for attempt in running], by=f"the end of {run.id}")
        return run

    async def _started(self, caller: Caller, request: ops.StartRun) -> Run:
        """Refused before anything is written, if its sessions are to have worktrees and cannot."""

        def directory(tx: Tx) -> str:
            task = task_of(tx, caller, request.task, project=request.project)
            return directory_of(tx, request.path, project_of(tx, caller, task.project_id))

        if request.worktree:
            await worktrees.ready(await self._store.read(directory, quick=True))
        return await self._store.write(lambda tx: start(tx, caller, request))

    async def _resumed(self, caller: Caller, request: ops.OneRun) -> Run:
        run = await self._store.read(lambda tx: _own(tx, caller, request, what="resume"), quick=True)
        if run.worktrees and run.status is not RunStatus.RUNNING:
            await worktrees.ready(run.directory)
        return await self._store.write(lambda tx: resume(tx, caller, request))

    async def _follow(self, run_id: str) -> AsyncIterator[ops.RunView]:
        """The run as it stands, and again whenever something has changed, until it is over."""
        shown = await self._view(run_id)
        yield shown
        with self._hub.subscribe([shown.project_id]) as subscription:
            while shown.status is RunStatus.RUNNING:
                subscription.take()
                now = await self._view(run_id)
                if now != shown:
                    yield now
                shown = now
                if now.status is not RunStatus.RUNNING:
                    return
                await subscription.wait()
                await asyncio.sleep(_SHOWN_AGAIN_SECONDS)  # a burst is one picture

    async def _view(self, run_id: str) -> ops.RunView:
        def look(tx: Tx) -> ops.RunView:
            run = tx.runs.get(run_id)
            assert run is not None
            return view(tx, run)

        return await self._store.read(look)
