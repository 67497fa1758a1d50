"""Register sessions: check the name, the persona, the workspace, the process and the coordinator of a new session."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from datetime import timedelta
from pathlib import PurePosixPath

import msgspec

from maestro.core import errors, ids
from maestro.domain import grants
from maestro.domain.callers import Caller, Role
from maestro.domain.events import EventKind, NewEvent
from maestro.domain.identity import RESERVED_NAMES
from maestro.domain.members import Member
from maestro.domain.projects import Project, Workspace
from maestro.domain.sessions import (
    Session,
    SessionMode,
    SessionStatus,
    StatusSignal,
    StatusSource,
    role_of,
)
from maestro.domain.tasks import Task
from maestro.operations import sessions as ops
from maestro.services.access import session_relations
from maestro.services.access.scope import find_project, find_task, require_own_project
from maestro.services.sessions.lifecycle import finish_session, hash_token, is_process_running, lease_seconds
from maestro.store.base import Tx
from maestro.system import processes, terminals


def register_session(
    tx: Tx,
    caller: Caller,
    request: ops.RegisterSession,
    token_of: Callable[[str], str],
    *,
    is_spawned: bool = False,
) -> ops.RegisteredSession:
    """Register a new session with a new token. A session that registers another session is the parent."""
    project = find_project(tx, caller, request.project)
    require_own_project(caller, project, action="register sessions")
    parent_id = _parent_id(tx, caller, request, project)
    member = _member_to_take_on(tx, caller, project, request.member)
    if caller.role is Role.WORKER and role_of(request.mode) is Role.COORDINATOR:
        raise errors.NotPermitted("A worker cannot register a coordinator.")
    session = _new_session(tx, caller, request, project, parent_id, member)
    if is_spawned:  # the process of the session will report its status
        session = msgspec.structs.replace(session, status=SessionStatus.SPAWNING, status_source=StatusSource.PROCESS)
    token = token_of(session.id)
    tx.sessions.insert(session, token_hash=hash_token(token), member_id=member.id if member else None)
    if session.pid is not None:
        terminal = terminals.describe_terminal(session.pid)
        tx.windows.put(session.id, terminal=terminal, directory=request.path)
    tx.sessions.put_signal(session.id, StatusSignal(session.status_source, session.status, tx.at, None, "registered"))
    data = {
        "name": session.name,
        "mode": session.mode.value,
        "parent": parent_id,
        "status": session.status.value,
    }
    tx.log(NewEvent(EventKind.SESSION_REGISTERED, session.id, project.id, data), actor=caller.name)
    shared = (member.id if member else None, session.workspace_id, project.id)
    unread = sum(tx.deliveries.count_open(mailbox, reader=session.id) for mailbox in shared if mailbox is not None)
    return ops.RegisteredSession(**msgspec.structs.asdict(session), token=token, unread=unread)


def _new_session(
    tx: Tx,
    caller: Caller,
    request: ops.RegisterSession,
    project: Project,
    parent_id: str | None,
    member: Member | None,
) -> Session:
    session_id = ids.new_id("ses", tx.at)
    name = request.name or f"{request.mode.value}-{session_id[-6:]}"
    require_usable_name(name)
    if request.numbered:
        name = _next_free_name(tx, project, name)
    require_free_name(tx, caller, project, name)
    workspace = _workspace_around(tx, project, request.path)
    _require_own_workspace(caller, workspace)
    started = _check_process(tx, caller, request.pid)
    level = grants.usual_level(request.mode, member.permission if member else None)
    return Session(
        id=session_id,
        project_id=project.id,
        workspace_id=workspace.id if workspace else None,
        address=workspace.address if workspace else None,
        name=name,
        mode=request.mode,
        status=SessionStatus.WORKING if request.mode is not SessionMode.COORDINATE else SessionStatus.IDLE,
        parent_id=parent_id,
        human=caller.human,
        pid=request.pid,
        pid_started=started,
        lease_until=tx.at + timedelta(seconds=lease_seconds(request.pid)),
        created_at=tx.at,
        updated_at=tx.at,
        ended_at=None,
        member=member.name if member else None,
        tool=request.tool or (member.tool if member else None),
        tasks=[_task_to_work_on(tx, caller, ref, project).id for ref in request.task],
        status_source=StatusSource.REPORT,
        status_at=tx.at,
        status_until=None,
        seen_at=tx.at,
        successor_id=None,
        grant=grants.child_grant(caller, request.grant, mode=request.mode, level=level),
    )


def _task_to_work_on(tx: Tx, caller: Caller, ref: str, project: Project) -> Task:
    """Return the task that a new session is for. A session may not start sessions for tasks of other projects."""
    task = find_task(tx, caller, ref, project=project.id)
    require_own_project(caller, tx.projects.get(task.project_id), action="start sessions for tasks")
    return task


def require_usable_name(name: str) -> None:
    """Refuse a name that means something else."""
    if name in RESERVED_NAMES or ids.is_id(name):
        raise errors.Invalid(f"{name!r} is reserved and cannot name a session.", hint="Choose another name.")


def _next_free_name(tx: Tx, project: Project, name: str) -> str:
    """Return the name if no live session has it, else the name with the first free number: `claude-2`."""
    numbered_names = itertools.chain([name], (f"{name}-{number}" for number in itertools.count(2)))
    return next(candidate for candidate in numbered_names if tx.sessions.by_name(project.id, candidate) is None)


def require_free_name(tx: Tx, caller: Caller, project: Project, name: str) -> None:
    """Refuse the name of a live session. End a session with an expired lease and without a process to free the name.

    Without a recorded process only the background job can judge: it knows the signs of life and clock jumps.
    """
    owner = tx.sessions.by_name(project.id, name)
    if owner is None:
        return
    spawn = tx.spawns.get(owner.id)
    has_runner = spawn is not None and spawn.ended_at is None  # the runner still has to report the session's end
    if has_runner or owner.pid is None or owner.lease_until > tx.at or is_process_running(owner):
        raise errors.NameTaken(
            f"A live session of {project.name} is already called {name!r}: {owner.id}.",
            hint=f"Choose another name, or end that session: maestro session end {owner.id}",
        )
    finish_session(
        tx,
        owner,
        SessionStatus.LOST,
        source=StatusSource.PROCESS,
        actor=caller,
        detail="another session took its name",
    )


def _member_to_take_on(tx: Tx, caller: Caller, project: Project, name: str | None) -> Member | None:
    """Return the member that a session takes on; refuse a member with more rights than the caller."""
    member = _find_member(tx, project, name) if name else None
    require_no_more_rights(caller, member)
    if caller.role is Role.WORKER and member is not None and member.id != caller.member_id:
        raise errors.NotPermitted(
            f"A worker may register sessions only as its own member or without a member, not as {member.name}.",
            hint="Leave out --member, or ask your coordinator to register the session.",
        )
    return member


def require_no_more_rights(caller: Caller, member: Member | None) -> None:
    """Refuse a member that may call more operations than the calling session."""
    allow, deny = (set(member.allow), set(member.deny)) if member else (set(), set())
    if caller.is_session and (allow - caller.allow or caller.deny - deny):
        raise errors.NotPermitted(
            "A session cannot register a session with more rights than its own.",
            hint="Ask the person to register the session.",
        )


def _find_member(tx: Tx, project: Project, name: str) -> Member:
    member = tx.members.by_name(project.id, name.removeprefix("@").lower())
    if member is None:
        raise errors.NotFound(f"{project.name} has no member {name!r}.", hint="maestro member list")
    return member


def _workspace_around(tx: Tx, project: Project, path: str) -> Workspace | None:
    """Return the project's checkout that holds a directory."""
    directory = PurePosixPath(path)
    for folder in (directory, *directory.parents) if directory.is_absolute() else ():
        workspace = tx.projects.workspace_at(str(folder))
        if workspace is not None:
            return workspace if workspace.project_id == project.id else None
    return None


def _require_own_workspace(caller: Caller, workspace: Workspace | None) -> None:
    """Refuse a worker's child in another checkout: the child could read the mail of that checkout's agents."""
    if caller.role is Role.WORKER and workspace is not None and workspace.id != caller.workspace_id:
        raise errors.NotPermitted(
            f"A worker may register sessions only in its own checkout, not in {workspace.address}.",
            hint="Run the command in your own checkout, or ask your coordinator to register the session.",
        )


def _check_process(tx: Tx, caller: Caller, pid: int | None) -> str | None:
    """Return the start time of a process; with the pid it identifies the process when the pid is used again."""
    if pid is None:
        return None
    process = processes.find_process(pid)
    if process is None or pid == 1:
        raise errors.NotFound(f"There is no process {pid} that could be an agent.")
    session_id = tx.sessions.sessions_by_process().get((pid, process.started))
    if session_id is not None and tx.sessions.is_live(session_id):
        raise errors.Conflict(f"Process {pid} is registered as a session already: {session_id}.")
    if caller.is_session:
        _require_descendant(tx, caller, pid)
    return process.started


def _require_descendant(tx: Tx, caller: Caller, pid: int) -> None:
    """Refuse a process that the calling session did not start: it must not speak for the person's shell."""
    own, spawn = tx.sessions.get(caller.session_id or ""), tx.spawns.get(caller.session_id or "")
    roots = {(own.pid, own.pid_started)} if own is not None else set()
    if spawn is not None:  # an orphan of the agent is a child of its runner
        roots.add((spawn.runner_pid, spawn.runner_started))
    try:
        chain = {(process.pid, process.started) for process in processes.ancestors_of(pid)}
    except processes.AncestryUnreadable:
        chain = set()
    if not roots & chain:
        raise errors.NotPermitted(f"A session may register only processes that it has started, not process {pid}.")


def _parent_id(tx: Tx, caller: Caller, request: ops.RegisterSession, project: Project) -> str | None:
    if request.parent is None:
        return caller.session_id
    parent = session_relations.find_session(tx, caller, request.parent, project=project.id)
    if caller.role is Role.WORKER and parent.id != caller.session_id:
        raise errors.NotPermitted(f"A worker may register sessions only under itself, not under {parent.name}.")
    if parent.ended_at is not None or parent.project_id != project.id:
        raise errors.Conflict(f"Session {parent.name} has ended or belongs to another project.")
    return parent.id
