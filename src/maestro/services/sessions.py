"""Sessions, as far as callers and claims need them: register, give signs of life, end."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from datetime import timedelta
from pathlib import PurePosixPath

import msgspec

from maestro import errors, ids, limits, processes
from maestro.domain import tasks as task_rules
from maestro.domain.callers import Caller, Role
from maestro.domain.events import Change, Kind
from maestro.domain.identity import RESERVED
from maestro.domain.projects import Project, Workspace
from maestro.domain.sessions import ACTIVE, FINAL, Mode, Session, Status, role_of
from maestro.domain.tasks import Status as TaskStatus
from maestro.operations import sessions as ops
from maestro.services.consequences import Outcome
from maestro.services.scope import may_write, project_of
from maestro.store.base import Tx


def hash_token(token: str) -> str:
    """All that is kept of a token. It is long and random, so a plain hash is enough."""
    return hashlib.sha256(token.encode()).hexdigest()


def caller_of(session: Session) -> Caller:
    """A session as the caller it is."""
    return Caller(
        role_of(session.mode),
        session.id,
        session_id=session.id,
        project_id=session.project_id,
        human=session.human,
    )


def register(
    tx: Tx, caller: Caller, request: ops.RegisterSession, token_of: Callable[[str], str]
) -> ops.RegisteredSession:
    """A new session with a token of its own. One that a session registers is its child."""
    project = project_of(tx, caller, request.project)
    may_write(caller, project, what="register sessions")
    parent_id = _parent(tx, caller, request, project)
    if caller.role is Role.WORKER and role_of(request.mode) is Role.COORDINATOR:
        raise errors.NotPermitted("A worker cannot register a coordinator.")
    session = _new_session(tx, caller, request, project, parent_id)
    token = token_of(session.id)
    tx.sessions.insert(session, token_hash=hash_token(token))
    data = {
        "name": session.name,
        "mode": session.mode.value,
        "parent": parent_id,
        "status": session.status.value,
    }
    tx.log(Change(Kind.SESSION_REGISTERED, session.id, project.id, data), actor=caller.name)
    return ops.RegisteredSession(**msgspec.structs.asdict(session), token=token)


def heartbeat(tx: Tx, caller: Caller, request: ops.Heartbeat) -> ops.Beat:
    """A sign of life: the session's lease and all its claims go on."""
    session = _own(tx, caller)
    status = request.status or session.status
    if status in FINAL:
        raise errors.Invalid(
            f"A heartbeat cannot say {status}.",
            hint=f"It can say: {', '.join(sorted(ACTIVE))}. To end a session: maestro session end",
        )
    until = tx.at + timedelta(seconds=limits.session_lease_seconds)
    tx.sessions.beat(session.id, status=status, lease_until=until, at=tx.at)
    if status is not session.status:
        data = {"from": session.status.value, "status": status.value, "source": "report"}
        tx.log(Change(Kind.SESSION_STATUS_CHANGED, session.id, session.project_id, data), actor=caller.name)
    renewed = tx.tasks.renew(session.id, at=tx.at)
    return ops.Beat(**msgspec.structs.asdict(_reread(tx, session)), renewed=renewed)


def end(tx: Tx, caller: Caller, request: ops.EndSession) -> Session:
    """A session's end: its token is void, and what it held is given back."""
    session = _ended(tx, caller, request) if request.id else _own(tx, caller)
    if request.status not in FINAL:
        raise errors.Invalid(
            f"A session does not end as {request.status}.", hint=f"Say one of: {', '.join(sorted(FINAL))}."
        )
    _may_end(tx, caller, session)
    _end(tx, caller, session, request.status)
    return _reread(tx, session)


def _end(tx: Tx, caller: Caller, session: Session, status: Status) -> None:
    if not tx.sessions.end(session.id, status=status, at=tx.at):
        raise errors.Conflict(f"Session {session.name} has ended already.", data={"status": session.status})
    data = {"name": session.name, "from": session.status.value, "status": status.value}
    tx.log(Change(Kind.SESSION_ENDED, session.id, session.project_id, data), actor=caller.name)
    _give_back(tx, caller, session)


def _ended(tx: Tx, caller: Caller, request: ops.EndSession) -> Session:
    project = project_of(tx, caller, request.project) if request.project else None
    return _named(tx, caller, request.id or "", project_id=project.id if project else None)


def whoami(tx: Tx, caller: Caller, request: ops.WhoAmI) -> ops.Identity:
    """Who the server takes the caller for."""
    session = tx.sessions.get(caller.session_id) if caller.session_id else None
    project = tx.projects.get(caller.project_id) if caller.project_id else None
    held = tx.tasks.of_holder(caller.name, limit=limits.page_items_default) if caller.role is not Role.NOBODY else []
    return ops.Identity(
        role=caller.role,
        name=session.name if session else caller.name,
        human=caller.human,
        session=session,
        project=project.name if project else None,
        address=session.address if session else None,
        held=[task.ref for task in held],
    )


def _new_session(
    tx: Tx, caller: Caller, request: ops.RegisterSession, project: Project, parent_id: str | None
) -> Session:
    session_id = ids.new("ses", tx.at)
    name = request.name or f"{request.mode.value}-{session_id[-6:]}"
    if name in RESERVED or ids.is_id(name):
        raise errors.Invalid(f"{name!r} is a reserved word.", hint="Choose another name.")
    _free_name(tx, caller, project, name)
    workspace = _workspace(tx, project, request.path)
    started = _process(tx, caller, request.pid)
    return Session(
        id=session_id,
        project_id=project.id,
        workspace_id=workspace.id if workspace else None,
        address=workspace.address if workspace else None,
        name=name,
        mode=request.mode,
        status=Status.WORKING if request.mode is not Mode.COORDINATE else Status.IDLE,
        parent_id=parent_id,
        human=caller.human,
        pid=request.pid,
        pid_started=started,
        lease_until=tx.at + timedelta(seconds=limits.session_lease_seconds),
        created_at=tx.at,
        updated_at=tx.at,
        ended_at=None,
    )


def _free_name(tx: Tx, caller: Caller, project: Project, name: str) -> None:
    """A name belongs to one live session; one whose lease is over and whose process is gone gives it up."""
    there = tx.sessions.by_name(project.id, name)
    if there is None:
        return
    if there.lease_until > tx.at or _is_running(there):
        raise errors.NameTaken(
            f"A live session of {project.name} is already called {name!r}: {there.id}.",
            hint=f"Choose another name, or end that one: maestro session end {there.id}",
        )
    _end(tx, caller, there, Status.LOST)


def _is_running(session: Session) -> bool:
    found = processes.look_up(session.pid) if session.pid is not None else None
    return found is not None and found.started == session.pid_started


def _workspace(tx: Tx, project: Project, path: str) -> Workspace | None:
    """The checkout of this project around a directory."""
    here = PurePosixPath(path)
    for folder in (here, *here.parents) if here.is_absolute() else ():
        found = tx.projects.workspace_at(str(folder))
        if found is not None:
            return found if found.project_id == project.id else None
    return None


def _process(tx: Tx, caller: Caller, pid: int | None) -> str | None:
    """When the process started: with its pid, that tells it from a later one with the same number."""
    if pid is None:
        return None
    found = processes.look_up(pid)
    if found is None or pid == 1:
        raise errors.NotFound(f"There is no process {pid} that could be an agent.")
    known = tx.sessions.with_process().get((pid, found.started))
    if known is not None and tx.sessions.is_live(known):
        raise errors.Conflict(f"Process {pid} is a registered session already.")
    if caller.is_session:
        _require_descendant(tx, caller, pid)
    return found.started


def _require_descendant(tx: Tx, caller: Caller, pid: int) -> None:
    """A session speaks for processes below its own, not for anybody's: the person's shell is none of its business."""
    own = tx.sessions.get(caller.session_id or "")
    try:
        chain = {(process.pid, process.started) for process in processes.ancestry(pid)}
    except processes.ChainBroken:
        chain = set()
    if own is None or (own.pid, own.pid_started) not in chain:
        raise errors.NotPermitted("A session registers only processes that it has started itself.")


def _parent(tx: Tx, caller: Caller, request: ops.RegisterSession, project: Project) -> str | None:
    if request.parent is None:
        return caller.session_id
    parent = _named(tx, caller, request.parent, project_id=project.id)
    if caller.role is Role.WORKER and parent.id != caller.session_id:
        raise errors.NotPermitted("A worker registers sessions under itself only.")
    if parent.ended_at is not None or parent.project_id != project.id:
        raise errors.Conflict(f"Session {parent.name} has ended or belongs to another project.")
    return parent.id


def _own(tx: Tx, caller: Caller) -> Session:
    session = tx.sessions.get(caller.session_id) if caller.session_id else None
    if session is None:
        raise errors.NotFound("You are not a session.", hint="Name one, or set MAESTRO_TOKEN.")
    return session


def _named(tx: Tx, caller: Caller, ref: str, *, project_id: str | None = None) -> Session:
    project_id = project_id or caller.project_id
    session = tx.sessions.get(ref)
    if session is None and project_id is not None:
        session = tx.sessions.by_name(project_id, ref)
    if session is None:
        raise errors.NotFound(f"There is no session {ref!r}.", hint="Use its id.")
    return session


def _may_end(tx: Tx, caller: Caller, session: Session) -> None:
    """Oneself, or below oneself; the person may end any."""
    if caller.role is Role.PERSON:
        return
    above: Session | None = session
    for _ in range(limits.ancestry_depth_max):
        if above is None:
            break
        if above.id == caller.session_id:
            return
        above = tx.sessions.get(above.parent_id) if above.parent_id else None
    raise errors.NotPermitted("A session may end itself and those it started, no others.")


def _give_back(tx: Tx, caller: Caller, session: Session) -> None:
    outcome = Outcome(tx, caller)
    for held in tx.tasks.of_holder(session.id, limit=limits.upkeep_batch_rows_max):
        task = tx.tasks.get(held.id)  # read anew: what was given back before may have completed it
        if task is None or task.holder != session.id:
            continue
        if task.status is TaskStatus.IN_PROGRESS:
            outcome.apply(task_rules.release(task, at=tx.at))
        elif task.status is TaskStatus.BLOCKED:
            outcome.apply(task_rules.expire(task, at=tx.at))


def _reread(tx: Tx, session: Session) -> Session:
    return tx.sessions.get(session.id) or session
