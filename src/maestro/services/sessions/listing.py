"""List sessions with the facts by which a person tells them apart: work, unread mail, terminal, last prompt."""

from __future__ import annotations

import msgspec

from maestro.core import errors, limits
from maestro.domain.callers import Caller, Role
from maestro.domain.sessions import Session, SessionStatus, SessionWindow
from maestro.domain.visibility import may_read
from maestro.operations import sessions as ops
from maestro.operations.task_shapes import TaskReference
from maestro.services.access import session_relations
from maestro.services.access.scope import find_project
from maestro.services.mail.create import own_mailboxes
from maestro.services.task_links import task_links
from maestro.store.base import Tx

_TASKS_MAX = 3


def list_page(tx: Tx, caller: Caller, request: ops.ListSessions) -> ops.SessionList:
    """Return a page of sessions in the order of their creation. A page may be short when a filter drops sessions."""
    found = _find_sessions(tx, caller, request, limit=request.limit + 1)
    page = found[: request.limit]
    cursor = page[-1].id if len(found) > request.limit else None
    wanted = [session for session in page if _is_wanted(session, caller, request)]
    return ops.SessionList(sessions=_list_sessions(tx, caller, wanted), cursor=cursor)


def _list_sessions(tx: Tx, caller: Caller, sessions: list[Session]) -> list[ops.ListedSession]:
    windows = tx.windows.of_sessions(session.id for session in sessions)
    return [
        _listed_session(tx, caller, session, windows.get(session.id) or SessionWindow(session.id))
        for session in sessions
    ]


def _listed_session(tx: Tx, caller: Caller, session: Session, window: SessionWindow) -> ops.ListedSession:
    """Return a session with the facts of its project, which callers of other projects do not see."""
    project = tx.projects.get(session.project_id)
    name = project.name if project else ""
    if not may_read(caller, session.project_id):
        return ops.ListedSession(**msgspec.structs.asdict(session), project=name)
    worktree = tx.worktrees.get(session.id)
    is_live = session.ended_at is None
    return ops.ListedSession(
        **msgspec.structs.asdict(session),
        project=name,
        branch=worktree.branch if worktree else None,
        work=_work_of(tx, session) if is_live else [],
        unread=_count_unread(tx, session) if is_live else 0,
        terminal=window.terminal,
        # A prompt is between the person and an agent: other agents do not see the prompt.
        last_prompt=window.last_prompt if caller.role is Role.PERSON else "",
    )


def _work_of(tx: Tx, session: Session) -> list[TaskReference]:
    """Return the held tasks of a session, else the tasks for which the session was started."""
    held = [
        task for task in tx.tasks.of_holder(session.id, limit=_TASKS_MAX) if task.project_id == session.project_id
    ]
    return task_links(held or [task for task_id in session.tasks[:_TASKS_MAX] if (task := tx.tasks.get(task_id))])


def _count_unread(tx: Tx, session: Session) -> int:
    """Return the number of unread messages in the session's own and shared mailboxes."""
    caller = tx.sessions.live_caller(session.id)
    mailboxes = own_mailboxes(caller) if caller is not None else []
    return sum(tx.deliveries.count_open(mailbox, reader=session.id) for mailbox in mailboxes)


def _find_sessions(tx: Tx, caller: Caller, request: ops.ListSessions, *, limit: int) -> list[Session]:
    ever = not request.active
    if request.all_projects:
        return _live_in_all_projects(tx, caller, request, limit=limit)
    if request.siblings or request.my_workers:
        own = session_relations.own_session(tx, caller)
        parent_id = own.parent_id if request.siblings else own.id
        return tx.sessions.list_children(parent_id, after=request.cursor, limit=limit, ever=ever) if parent_id else []
    project = find_project(tx, caller, request.project)
    status = _wanted_status(request)
    return tx.sessions.list_page(project.id, after=request.cursor, limit=limit, active=request.active, status=status)


def _live_in_all_projects(tx: Tx, caller: Caller, request: ops.ListSessions, *, limit: int) -> list[Session]:
    if caller.role is not Role.PERSON:
        raise errors.NotPermitted(
            "Only the person lists the sessions of all projects.",
            hint="Leave out --all-projects to list the sessions of your own project.",
        )
    return tx.sessions.list_live(after=request.cursor, limit=min(limit, limits.page_items_max + 1))


def _wanted_status(request: ops.ListSessions) -> SessionStatus | None:
    if request.status is None or request.status is ops.StatusFilter.ANY:
        return None
    return SessionStatus(request.status.value)


def _is_wanted(session: Session, caller: Caller, request: ops.ListSessions) -> bool:
    wanted = _wanted_status(request)
    is_own = request.siblings and session.id == caller.session_id
    return not is_own and (wanted is None or session.status is wanted)
