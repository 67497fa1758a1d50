"""Timelines: the log, as far as it concerns one task, session or run."""

from __future__ import annotations

import msgspec

from maestro.core import errors, limits
from maestro.domain.callers import Caller
from maestro.domain.events import Event, Kind
from maestro.domain.sessions import Session
from maestro.domain.sight import may_read, may_read_task, redact_event, redact_task
from maestro.domain.tasks import Task
from maestro.operations import timeline as ops
from maestro.services import cursors
from maestro.services.mail.threads import may_see
from maestro.services.runs import records as runs
from maestro.services.scope import task_of
from maestro.services.sessions import kin
from maestro.store.base import Tx


def show(tx: Tx, caller: Caller, request: ops.ShowTimeline) -> ops.Timeline:
    """A page of everything that the log has about it and what belongs to it."""
    about, subjects = _subjects(tx, caller, request)
    return _told(tx, caller, about, subjects, after=cursors.number(request.cursor), limit=request.limit)


def _told(tx: Tx, caller: Caller, about: str, subjects: list[str], *, after: int, limit: int) -> ops.Timeline:
    """A page, without what the caller may not hear; it goes on all the same."""
    found = tx.events.about(subjects, after=after, limit=limit + 1)
    page, is_cut = found[:limit], len(found) > limit
    openers = {task.id: task.from_project_id for task in _tasks(tx, subjects)}
    shown = [event if _is_readable(caller, event, openers) else redact_event(event) for event in page]
    names = _Names(tx)
    return ops.Timeline(
        about=about,
        moments=[_moment(event, names) for event in shown if event is not None],
        truncated=is_cut,
        cursor=str(page[-1].seq) if is_cut else None,
    )


def _tasks(tx: Tx, subjects: list[str]) -> list[Task]:
    found = (tx.tasks.get(subject) for subject in subjects if subject.startswith("tsk_"))
    return [task for task in found if task]


def _is_readable(caller: Caller, event: Event, openers: dict[str, str | None]) -> bool:
    """Return whether the caller may read a log line as a whole. Messages were chosen by who may see them."""
    return event.subject.startswith("msg_") or may_read(caller, event.project, openers.get(event.subject))


def _subjects(tx: Tx, caller: Caller, request: ops.OfWhat) -> tuple[str, list[str]]:
    named = [name for name in (request.task, request.session, request.run) if name]
    if len(named) != 1:
        raise errors.Invalid("Of what?", hint="Say one of --task ID, --session ID or --run RUN.")
    if request.task:
        task = task_of(tx, caller, request.task, project=request.project)
        letters = tx.mail.of_task(task.id, before=cursors.NEWEST, limit=limits.page_items_default)
        mail = [message.id for message in letters if may_see(tx, caller, message)]
        whole = _tree(tx, task.id)
        return task.ref, [*whole, *mail, *_workers(tx, whole, [])]
    if request.session:
        session = kin.named(tx, caller, request.session, project=request.project)
        return session.name, [session.id, *session.tasks]
    run = runs.run_of(tx, caller, request.run or "", project=request.project)
    standing = runs.standing(tx, run)
    sessions = [attempt.session_id for one in standing for attempt in one.attempts]
    return run.id, [run.id, *(one.task.id for one in standing), *sessions]


def _tree(tx: Tx, task_id: str) -> list[str]:
    """A task and all below it, as far as a timeline goes: parents before their children."""
    found = [task_id]
    for parent in found:
        below = [child.id for child in tx.tasks.children(parent, limit=limits.page_items_max)]
        found += below[: limits.page_items_max - len(found)]
    return found


def export(tx: Tx, caller: Caller, request: ops.ExportTimeline) -> ops.Story:
    """All of it, with what it is about: tasks and their evidence, and the sessions that worked on them."""
    request = _aimed(request)
    about, subjects = _subjects(tx, caller, request)
    told = _told(tx, caller, about, subjects, after=0, limit=limits.story_moments_max)
    tasks = _tasks(tx, subjects)
    session_ids = _workers(tx, [task.id for task in tasks], [one for one in subjects if one.startswith("ses_")])
    sessions = [session for session in map(tx.sessions.get, session_ids) if session]
    kind = "run" if request.run else "session" if request.session else "task"
    run = runs.run_of(tx, caller, request.run, project=request.project) if request.run else None
    whole = tx.tasks.get(run.task_id) if run else (tasks[0] if tasks else None)
    status = run.status.value if run else (sessions[0].status.value if kind == "session" else tasks[0].status.value)
    return ops.Story(
        about=told.about,
        moments=told.moments,
        truncated=told.truncated,
        kind=kind,
        title=whole.title if whole else "",
        status=status,
        note=run.note if run else "",
        at=tx.at,
        tasks=[_story_task(tx, caller, task) for task in tasks],
        sessions=[_story_session(tx, caller, session) for session in sessions],
    )


def _aimed(request: ops.ExportTimeline) -> ops.ExportTimeline:
    """What is meant by a bare name: a run and a task show what they are, all else is a session."""
    if request.run or request.task or request.session or not request.target:
        return request
    if request.target.startswith("run_"):
        return msgspec.structs.replace(request, run=request.target)
    if "#" in request.target or request.target.startswith("tsk_"):
        return msgspec.structs.replace(request, task=request.target)
    return msgspec.structs.replace(request, session=request.target)


def _workers(tx: Tx, task_ids: list[str], known: list[str]) -> list[str]:
    """The sessions that were named, and those that started one of the tasks."""
    found = dict.fromkeys(known)
    for task_id in task_ids:
        for event in tx.events.after(0, subject=task_id, limit=limits.page_items_max):
            if event.kind == Kind.TASK_STARTED and event.actor.startswith("ses_"):
                found[event.actor] = None
    return list(found)


def _story_task(tx: Tx, caller: Caller, task: Task) -> ops.StoryTask:
    many, is_readable = limits.page_items_default, may_read_task(caller, task)
    return ops.StoryTask(
        ref=task.ref,
        title=task.title,
        status=task.status,
        depends_on=[one.ref for one in tx.tasks.dependencies(task.id, limit=many)],
        started_at=task.started_at,
        finished_at=task.finished_at,
        reason=redact_task(caller, task).reason,
        reports=tx.documents.reports(task.id, limit=many) if is_readable else [],
        gates=tx.gates.of_task(task.id, limit=many) if is_readable else [],
        documents=tx.documents.of_task(task.id, limit=many) if is_readable else [],
    )


def _story_session(tx: Tx, caller: Caller, session: Session) -> ops.StorySession:
    is_readable = may_read(caller, session.project_id)
    spawn = tx.spawns.get(session.id) if is_readable else None
    worktree = tx.worktrees.get(session.id) if is_readable else None
    tasks = [tx.tasks.get(one) for one in session.tasks]
    return ops.StorySession(
        name=session.name,
        mode=session.mode,
        status=session.status,
        tool=session.tool,
        tasks=[task.ref for task in tasks if task],
        created_at=session.created_at,
        ended_at=session.ended_at,
        exit_code=spawn.exit_code if spawn else None,
        branch=worktree.branch if worktree else None,
        merged_into=worktree.merged_into if worktree else None,
    )


class _Names:
    """Ids as people know them, looked up once."""

    def __init__(self, tx: Tx) -> None:
        self._tx = tx
        self._known: dict[str, str] = {}

    def of(self, name: str) -> str:
        if name not in self._known:
            self._known[name] = self._look_up(name)
        return self._known[name]

    def _look_up(self, name: str) -> str:
        if name.startswith("ses_"):
            found = self._tx.sessions.route(name)
            return found.name if found else name
        if name.startswith("tsk_"):
            task = self._tx.tasks.get(name)
            return task.ref if task else name
        return name


def _moment(event: Event, names: _Names) -> ops.Moment:
    return ops.Moment(
        seq=event.seq,
        at=event.at,
        kind=event.kind,
        who=names.of(event.actor),
        what=str(event.data.get("ref") or names.of(event.subject)),
        data=event.data,
    )
