"""Timelines: the events of a task, a session or a run, with the events of related objects."""

from __future__ import annotations

import msgspec

from maestro.core import errors, limits
from maestro.domain.callers import Caller
from maestro.domain.events import Event, EventKind
from maestro.domain.sessions import Session
from maestro.domain.tasks import Task
from maestro.domain.visibility import may_read, may_read_task, redact_event, redact_task
from maestro.operations import timeline as ops
from maestro.services import cursors
from maestro.services.access import session_relations
from maestro.services.access.find_run import find_run
from maestro.services.access.scope import find_task
from maestro.services.mail.threads import may_see_message
from maestro.services.runs import control as runs
from maestro.store.base import Tx


def show_timeline(tx: Tx, caller: Caller, request: ops.ShowTimeline) -> ops.Timeline:
    """Return a page of the timeline of a task, a session or a run."""
    about, subjects = _subjects_of_request(tx, caller, request)
    return _timeline_page(
        tx, caller, about, subjects, after=cursors.parse_cursor(request.cursor), limit=request.limit
    )


def _timeline_page(
    tx: Tx, caller: Caller, about: str, subjects: list[str], *, after: int, limit: int
) -> ops.Timeline:
    """Return a page of events. Events that the caller may not read are redacted or left out.

    The cursor counts all events, so the next page follows also after a page without readable events.
    """
    found = tx.events.list_about(subjects, after=after, limit=limit + 1)
    page, is_cut = found[:limit], len(found) > limit
    tasks = _tasks_among(tx, subjects)
    openers = {task.id: task.from_project_id for task in tasks}
    own_projects = {task.id: task.project_id for task in tasks}
    # An issue's events are in the logs of both projects; the timeline shows them once.
    page_events = [event for event in page if event.project == own_projects.get(event.subject, event.project)]
    shown = [event if _is_readable(caller, event, openers) else redact_event(event) for event in page_events]
    names = _TimelineNames(tx)
    return ops.Timeline(
        about=about,
        events=[_timeline_event(event, names) for event in shown if event is not None],
        truncated=is_cut,
        cursor=str(page[-1].seq) if is_cut else None,
    )


def _tasks_among(tx: Tx, subjects: list[str]) -> list[Task]:
    found = (tx.tasks.get(subject) for subject in subjects if subject.startswith("tsk_"))
    return [task for task in found if task]


def _is_readable(caller: Caller, event: Event, openers: dict[str, str | None]) -> bool:
    """Return whether the caller may read an event as a whole. Messages are already filtered for the caller."""
    return event.subject.startswith("msg_") or may_read(caller, event.project, openers.get(event.subject))


def _subjects_of_request(tx: Tx, caller: Caller, request: ops.TimelineSubject) -> tuple[str, list[str]]:
    """Return the display name of the requested object, and the ids of the objects on its timeline."""
    named_subjects = [name for name in (request.task, request.session, request.run) if name]
    if len(named_subjects) != 1:
        raise errors.Invalid(
            "Name a task, a session or a run.", hint="Give exactly one of --task ID, --session ID or --run RUN."
        )
    if request.task:
        task = find_task(tx, caller, request.task, project=request.project)
        messages = tx.mail.of_task(task.id, before=cursors.NEWEST, limit=limits.page_items_default)
        message_ids = [message.id for message in messages if may_see_message(tx, caller, message)]
        tree_ids = _task_tree(tx, task.id)
        return task.ref, [*tree_ids, *message_ids, *_worker_sessions(tx, tree_ids, [])]
    if request.session:
        session = session_relations.find_session(tx, caller, request.session, project=request.project)
        return session.name, [session.id, *session.tasks]
    run = find_run(tx, caller, request.run or "", project=request.project)
    standing = runs.tasks_with_attempts(tx, run)
    sessions = [attempt.session_id for entry in standing for attempt in entry.attempts]
    return run.id, [run.id, *(entry.task.id for entry in standing), *sessions]


def _task_tree(tx: Tx, task_id: str) -> list[str]:
    """Return the ids of a task and the tasks below the task, up to a limit, parents before children."""
    found = [task_id]
    for parent in found:
        child_ids = [child.id for child in tx.tasks.list_children(parent, limit=limits.page_items_max)]
        found += child_ids[: limits.page_items_max - len(found)]
    return found


def export_timeline(tx: Tx, caller: Caller, request: ops.ExportTimeline) -> ops.ExportedTimeline:
    """Return the whole timeline with its tasks, their evidence, and the sessions that worked on the tasks."""
    request = _resolve_target(request)
    about, subjects = _subjects_of_request(tx, caller, request)
    timeline = _timeline_page(tx, caller, about, subjects, after=0, limit=limits.story_events_max)
    tasks = _tasks_among(tx, subjects)
    session_ids = _worker_sessions(
        tx, [task.id for task in tasks], [subject for subject in subjects if subject.startswith("ses_")]
    )
    sessions = [session for session in map(tx.sessions.get, session_ids) if session]
    kind = "run" if request.run else "session" if request.session else "task"
    run = find_run(tx, caller, request.run, project=request.project) if request.run else None
    main_task = tx.tasks.get(run.task_id) if run else (tasks[0] if tasks else None)
    status = run.status.value if run else (sessions[0].status.value if kind == "session" else tasks[0].status.value)
    return ops.ExportedTimeline(
        about=timeline.about,
        events=timeline.events,
        truncated=timeline.truncated,
        kind=kind,
        title=main_task.title if main_task else "",
        status=status,
        note=run.note if run else "",
        at=tx.at,
        tasks=[_story_task(tx, caller, task) for task in tasks],
        sessions=[_story_session(tx, caller, session) for session in sessions],
    )


def _resolve_target(request: ops.ExportTimeline) -> ops.ExportTimeline:
    """Return the request with its bare target as a run, a task or a session.

    Runs and tasks are recognised by their form; every other name is a session.
    """
    if request.run or request.task or request.session or not request.target:
        return request
    if request.target.startswith("run_"):
        return msgspec.structs.replace(request, run=request.target)
    if "#" in request.target or request.target.startswith("tsk_"):
        return msgspec.structs.replace(request, task=request.target)
    return msgspec.structs.replace(request, session=request.target)


def _worker_sessions(tx: Tx, task_ids: list[str], session_ids: list[str]) -> list[str]:
    """Return the known sessions and the sessions that started any of the tasks."""
    found = dict.fromkeys(session_ids)
    for task_id in task_ids:
        for event in tx.events.list_after(0, subject=task_id, limit=limits.page_items_max):
            if event.kind == EventKind.TASK_STARTED and event.actor.startswith("ses_"):
                found[event.actor] = None
    return list(found)


def _story_task(tx: Tx, caller: Caller, task: Task) -> ops.ExportedTask:
    items_max, is_readable = limits.page_items_default, may_read_task(caller, task)
    return ops.ExportedTask(
        ref=task.ref,
        title=task.title,
        status=task.status,
        depends_on=[dependency.ref for dependency in tx.tasks.list_dependencies(task.id, limit=items_max)],
        started_at=task.started_at,
        finished_at=task.finished_at,
        reason=redact_task(caller, task).reason,
        reports=tx.documents.reports_of_task(task.id, limit=items_max) if is_readable else [],
        gates=tx.gates.of_task(task.id, limit=items_max) if is_readable else [],
        documents=tx.documents.of_task(task.id, limit=items_max) if is_readable else [],
    )


def _story_session(tx: Tx, caller: Caller, session: Session) -> ops.ExportedSession:
    is_readable = may_read(caller, session.project_id)
    spawn = tx.spawns.get(session.id) if is_readable else None
    worktree = tx.worktrees.get(session.id) if is_readable else None
    tasks = [tx.tasks.get(task_id) for task_id in session.tasks]
    return ops.ExportedSession(
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


class _TimelineNames:
    """A cache of the display names of sessions and tasks."""

    def __init__(self, tx: Tx) -> None:
        self._tx = tx
        self._name_by_id: dict[str, str] = {}

    def name_of(self, name: str) -> str:
        if name not in self._name_by_id:
            self._name_by_id[name] = self._find_name(name)
        return self._name_by_id[name]

    def _find_name(self, name: str) -> str:
        if name.startswith("ses_"):
            found = self._tx.sessions.mail_route(name)
            return found.name if found else name
        if name.startswith("tsk_"):
            task = self._tx.tasks.get(name)
            return task.ref if task else name
        return name


def _timeline_event(event: Event, names: _TimelineNames) -> ops.TimelineEvent:
    return ops.TimelineEvent(
        seq=event.seq,
        at=event.at,
        kind=event.kind,
        actor=names.name_of(event.actor),
        subject=str(event.data.get("ref") or names.name_of(event.subject)),
        data=event.data,
    )
