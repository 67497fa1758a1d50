"""Keeps runs going: starts what is ready, takes note of what ended, tries again, and says when a run is over.

No model is asked. Every step is decided on the store as it is, so a server that was killed goes on where it stood.
"""

from __future__ import annotations

import asyncio
import logging
from datetime import datetime, timedelta

import msgspec

from maestro.core import errors, limits
from maestro.core.clock import Clock
from maestro.domain import runs as rules
from maestro.domain import tasks as task_rules
from maestro.domain.callers import SERVER, THE_SERVER
from maestro.domain.events import Change, Kind
from maestro.domain.runs import Attempt, Outcome, Run, RunStatus, Standing, Strategy
from maestro.domain.sessions import Status as SessionStatus
from maestro.domain.tasks import FINAL, Status, Task
from maestro.operations import spawning as spawn_ops
from maestro.operations import task_shapes
from maestro.services.programs.launching import Launching
from maestro.services.programs.spawning import Spawning
from maestro.services.programs.starting import Starts
from maestro.services.programs.stopping import Stopping
from maestro.services.runs import records as runs
from maestro.services.runs import rights
from maestro.services.runs import waits as run_waits
from maestro.services.tasks import moves
from maestro.services.tasks.consequences import Outcome as Outcomes
from maestro.store.base import Store, Tx

log = logging.getLogger(__name__)
_OUTCOMES = {
    Status.COMPLETED: Outcome.COMPLETED,
    Status.CANCELLED: Outcome.STOPPED,
    Status.FAILED: Outcome.FAILED,
}
_CLAIMS_END = (Kind.TASK_RELEASED, Kind.TASK_CLAIM_EXPIRED)


class Dispatching:
    """Looks at every live run when something happened that may concern it."""

    name = "dispatching"

    def __init__(
        self, store: Store, spawning: Spawning, launching: Launching, stopping: Stopping, *, clock: Clock
    ) -> None:
        self._store = store
        self._spawning = spawning
        self._starts = Starts(launching)  # each run has a bound of its own
        self._stopping = stopping
        self._clock = clock

    async def run_once(self) -> datetime | None:
        """Every live run; and again after a while, whatever happens, for as long as there are any."""
        due = [await self._go_on(run) for run in await self._store.read(_live, quick=True)]
        if not due:
            return None
        at_the_latest = self._clock.now() + timedelta(seconds=limits.run_look_seconds)
        return min((when for when in due if when is not None), default=at_the_latest)

    async def close(self) -> None:
        """What is being started now is found and started by the next server."""
        await self._starts.close()

    async def _go_on(self, run: Run) -> datetime | None:
        """One run: what ended is noted, what may start is started. When to look again at the latest."""
        plan, begins, losers = await self._store.write(lambda tx: self._step(tx, run.id))
        await self._stopping.stop_all(losers, by=f"the end of {run.id}")
        if plan is None or plan.verdict is not None:
            return None
        begun = await asyncio.gather(*(self._begin(begin) for begin in begins))
        full = next((one.problem for one in begun if one.is_full), "")
        if full or (run.note and any(one.session_id for one in begun)):
            await self._store.write(lambda tx: _say(tx, run, f"Waits for room. {full}" if full else ""))
        if any(one.problem and not one.is_full for one in begun):
            return await self._go_on(run)  # it is counted, and there may be nothing left to do
        return plan.look_again

    def _step(self, tx: Tx, run_id: str) -> tuple[rules.Plan | None, list[_Begin], list[str]]:
        run = tx.runs.get(run_id)
        if run is None or run.status is not RunStatus.RUNNING:
            return None, [], []
        for attempt in tx.runs.adrift(run.id):
            _drift(tx, run, attempt)
        for one in runs.at_work(tx, run):
            if one.is_running:
                self._settle(tx, run, one)
        found, plan = _planned(tx, run)
        if plan.verdict is not None:
            return plan, [], self._finish(tx, run, found, plan)
        if not plan.start and not any(one.is_running for one in found):
            _say(tx, run, plan.note)
        tries = {one.task.id: len(one.attempts) for one in found}
        notes = {one.task.id: one.note for one in found}
        return plan, [_Begin(run, task, tries[task.id] + 1, notes[task.id]) for task in plan.start], []

    async def _begin(self, begin: _Begin) -> _Begun:
        """Start one session. Each in a transaction of its own: what is refused leaves nothing behind."""
        try:
            session_id = await self._store.write(lambda tx: self._start(tx, begin))
        except errors.LimitReached as error:
            return _Begun(problem=str(error), is_full=True)
        except (errors.NotReady, errors.ClaimLost, errors.IllegalMove):
            return _Begun()  # someone was faster: it is looked at again when that one is done
        except errors.StorageFailed:
            raise
        except errors.MaestroError as error:
            problem = str(error)
            log.warning("%s cannot start %s: %s", begin.run.id, begin.task.ref, problem)
            await self._store.write(lambda tx: _refused(tx, begin, problem))
            return _Begun(problem=problem)
        if session_id is not None:
            self._starts.begin(session_id)
        return _Begun(session_id=session_id)

    def _settle(self, tx: Tx, run: Run, one: Standing) -> None:
        """A task whose session has ended, or has it no more: how that came out, and whether it is open again."""
        attempt = one.attempts[-1]
        outcome, note = _outcome(tx, one.task, attempt)
        if outcome is None:
            return
        if outcome is not Outcome.COMPLETED:
            note = note or _why(tx, one.task, attempt)
        runs.settle(tx, run, one.task, attempt, outcome, note=note)
        over = msgspec.structs.replace(attempt, outcome=outcome, note=note, ended_at=tx.at)
        now = msgspec.structs.replace(one, attempts=[*one.attempts[:-1], over])
        if one.task.status is Status.FAILED and now.failures < run.attempts_max and run.strategy is not Strategy.RACE:
            moves.reopen(tx, THE_SERVER, task_shapes.OneTask(id=one.task.id))

    def _start(self, tx: Tx, begin: _Begin) -> str | None:
        """Claim and spawn in one transaction: nobody else can have the task in between."""
        run = tx.runs.get(begin.run.id)
        task = tx.tasks.get(begin.task.id) or begin.task  # the whole of its text
        if run is None or run.status is not RunStatus.RUNNING:
            return None  # it was stopped just now
        starter = rights.starter_of(tx, run)
        if starter is None:
            return None  # it is looked at again when its coordinator is there
        request = spawn_ops.SpawnSession(
            project=run.project_id,
            task=[task.id],
            member=[name for name in (run.member or task.member,) if name],
            tool=run.tool,
            words=run.words,
            name=_name(tx, begin),
            subject=task.title,
            message=_directive(task, begin),
            path=run.directory,
            worktree=run.worktrees,
            allow=run.allow,
            asks=run.asks,
        )
        made = self._spawning.spawn(tx, starter, request, run_id=run.id)
        tx.runs.begin(_attempt(begin, tx.at, session_id=made.id))
        return made.id

    def _finish(self, tx: Tx, run: Run, found: list[Standing], plan: rules.Plan) -> list[str]:
        """The run is over, and what it still has at work is stopped."""
        assert plan.verdict is not None
        runs.end(tx, run, plan.verdict, note=plan.note, actor=SERVER)
        if run.strategy is Strategy.RACE:
            self._decide_race(tx, run, found)
        return [one.attempts[-1].session_id for one in found if one.is_running]

    def _decide_race(self, tx: Tx, run: Run, found: list[Standing]) -> None:
        """Those that were slower are cancelled; those that failed have failed; the parent counts as done."""
        winner = next((one for one in found if one.task.status is Status.COMPLETED), None)
        why = "another attempt was faster" if winner is not None else "its race is over"
        for one in found:
            task = tx.tasks.get(one.task.id)
            if task is not None and task.status not in FINAL:
                moves.cancel(tx, THE_SERVER, task_shapes.ReasonedTask(id=task.id, reason=why))
        root = tx.tasks.get(run.task_id)
        if winner is not None and root is not None:
            _win(tx, root)


class _Begin(msgspec.Struct, frozen=True):
    """A task that may be started now, for the how-manieth time."""

    run: Run
    task: Task
    number: int
    note: str  # why the time before came to nothing


class _Begun(msgspec.Struct, frozen=True):
    """What came of it."""

    session_id: str | None = None
    problem: str = ""
    is_full: bool = False  # it may be tried again when others have ended


def _live(tx: Tx) -> list[Run]:
    found = page = tx.runs.live(limit=limits.page_items_max)
    while len(page) == limits.page_items_max:
        page = tx.runs.live(after=page[-1].id, limit=limits.page_items_max)
        found = found + page
    return found


def _attempt(begin: _Begin, at: datetime, *, session_id: str) -> Attempt:
    return Attempt(
        run_id=begin.run.id,
        task_id=begin.task.id,
        number=begin.number,
        session_id=session_id,
        outcome=None,
        started_at=at,
        ended_at=None,
    )


def _refused(tx: Tx, begin: _Begin, problem: str) -> None:
    """No session could be started: that counts as a try, so that a run does not try for ever."""
    run = tx.runs.get(begin.run.id)
    if run is None or run.status is not RunStatus.RUNNING:
        return
    note = problem[: limits.run_note_chars_max]
    tried = _attempt(begin, tx.at, session_id="")
    tx.runs.begin(msgspec.structs.replace(tried, outcome=Outcome.REFUSED, note=note, ended_at=tx.at))
    runs.tell(tx, run, begin.task, tried, Outcome.REFUSED, note=note)


def _drift(tx: Tx, run: Run, attempt: Attempt) -> None:
    """A try whose task was deleted is over."""
    note = "Its task was deleted."
    tx.runs.end(attempt, Outcome.STOPPED, note=note, at=tx.at)
    told = {"task": attempt.task_id, "attempt": attempt.number, "outcome": Outcome.STOPPED.value, "note": note}
    tx.log(Change(Kind.RUN_ATTEMPT, run.id, run.project_id, told), actor=SERVER)


def _say(tx: Tx, run: Run, why: str) -> None:
    """That a run waits, and for what; or that it waits no more."""
    if tx.runs.say(run.id, why) and why:
        tx.log(Change(Kind.RUN_WAITING, run.id, run.project_id, {"note": why}), actor=SERVER)


def _name(tx: Tx, begin: _Begin) -> str:
    """A session of a run is called by its task and try, t12.1; if someone has that name, by its run as well."""
    short = f"t{begin.task.number}.{begin.number}"
    is_free = tx.sessions.by_name(begin.run.project_id, short) is None
    return short if is_free else f"{begin.run.id[-6:]}-{short}"


def _directive(task: Task, begin: _Begin) -> str:
    """What a session is told of its task; one that tries again, also why the last try came to nothing."""
    if not begin.note:
        return task.description
    again = (
        f"This is try {begin.number}. The one before came to nothing: {begin.note}\nSee: maestro task show {task.ref}"
    )
    return f"{task.description}\n\n{again}".strip()


def _planned(tx: Tx, run: Run) -> tuple[list[Standing], rules.Plan]:
    """What to do next: from what moves, as long as anything does. Only whole can a run be judged."""
    given_up = _given_up(tx, run)
    if given_up is not None:
        return runs.standing(tx, run), given_up
    going = runs.at_work(tx, run)
    room = rules.room(run, [one for one in going if one.is_running])
    for many in (2 * room, limits.run_tasks_moving_max):  # a few will do, unless they wait for their next try
        found = going + runs.to_begin(tx, run, limit=many if room else 0)
        plan = rules.plan(run, found, tx.at)
        if len(plan.start) >= room or len(found) < len(going) + many:
            break
    if plan.verdict is None and (plan.start or any(one.is_running for one in found)):
        return found, plan
    found = runs.standing(tx, run)
    if len(found) > limits.run_tasks_max:
        return found, rules.Plan(verdict=RunStatus.FAILED, note=f"It has grown beyond {limits.run_tasks_max} tasks.")
    return found, _waiting(tx, run, found, rules.plan(run, found, tx.at))


def _waiting(tx: Tx, run: Run, found: list[Standing], plan: rules.Plan) -> rules.Plan:
    """A run that can do nothing now may wait for others; it says for whom, or that they will not come."""
    if plan.start or plan.verdict not in (None, RunStatus.FAILED) or run.strategy is Strategy.RACE:
        return plan
    waits, stuck = run_waits.why(tx, run, found)
    if waits:
        return rules.Plan(look_again=plan.look_again, note=f"Waits. {waits}")
    note = f"{plan.note} {stuck}"[: limits.run_note_chars_max] if stuck and plan.verdict else plan.note
    return msgspec.structs.replace(plan, note=note)


def _win(tx: Tx, root: Task) -> None:
    """A race is won: its task is done, whatever has failed; its gates are those that the winner has passed."""
    outcome = Outcomes(tx, THE_SERVER)
    if root.status in task_rules.TRANSITIONS["roll_up"] and not root.open_blockers and not root.stage_held:
        root = outcome.apply(task_rules.roll_up(root, at=tx.at))
    if root.status is Status.IN_REVIEW:
        outcome.apply(task_rules.complete(root, accepted=True, at=tx.at))


def _given_up(tx: Tx, run: Run) -> rules.Plan | None:
    """Whether someone has taken away what a run is for."""
    root = tx.tasks.get(run.task_id)
    if root is None:
        return rules.Plan(verdict=RunStatus.FAILED, note="Its task was deleted.")
    if root.status is Status.CANCELLED:
        return rules.Plan(verdict=RunStatus.STOPPED, note=_cancelled(root))
    return None


def _cancelled(task: Task) -> str:
    return f"{task.ref} was cancelled" + (f": {task.reason}" if task.reason else ".")


def _outcome(tx: Tx, task: Task, attempt: Attempt) -> tuple[Outcome | None, str]:
    """How an attempt came out, and why if its task does not say; None while it goes on, or its gates do."""
    session = tx.sessions.route(attempt.session_id)
    is_live = session is not None and session.is_live
    if is_live and rules.is_taken_away(task, attempt):
        return rules.taken_away(attempt, tx.events.newest(task.id, kinds=_CLAIMS_END))
    if is_live or task.status is Status.IN_REVIEW or task.status in _OUTCOMES:
        return _OUTCOMES.get(task.status), ""
    if session is not None and session.status is SessionStatus.STOPPED:
        return Outcome.STOPPED, ""
    return Outcome.LOST if session is None or session.status is SessionStatus.LOST else Outcome.FAILED, ""


def _why(tx: Tx, task: Task, attempt: Attempt) -> str:
    """Why an attempt came to nothing, in a line: what its task says, else how its program ended."""
    if task.status is Status.CANCELLED:
        return _cancelled(task)[: limits.run_note_chars_max]
    spawn = tx.spawns.get(attempt.session_id)
    said = task.reason or (spawn.tail if spawn else None) or ""
    return next((line.strip() for line in said.splitlines() if line.strip()), "")[: limits.run_note_chars_max]
