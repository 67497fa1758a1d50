"""A session's lifecycle: register, give heartbeats, end, come back; and the identity of a caller."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from datetime import timedelta
from pathlib import PurePosixPath

import msgspec

from maestro.core import errors, ids, limits
from maestro.domain import grants
from maestro.domain import tasks as task_rules
from maestro.domain.callers import Caller, Role
from maestro.domain.events import Change, Kind
from maestro.domain.identity import RESERVED
from maestro.domain.members import Member
from maestro.domain.projects import Project, Workspace
from maestro.domain.sessions import ACTIVE, FINAL, Mode, Session, Signal, Source, Status, role_of
from maestro.domain.tasks import Priority, Task
from maestro.domain.tasks import Status as TaskStatus
from maestro.operations import sessions as ops
from maestro.services import asks
from maestro.services.mail import threads
from maestro.services.mail.post import own_boxes
from maestro.services.mail.reading import coordinator_contact
from maestro.services.recovery import plans as recovery
from maestro.services.scope import may_write, project_of, task_of
from maestro.services.sessions import kin, notices, status
from maestro.services.tasks.consequences import Outcome
from maestro.store.base import Store, Tx
from maestro.system import processes


def hash_token(token: str) -> str:
    """Return the hash of a token; the store keeps only hashes. A token is long and random: a plain hash is enough."""
    return hashlib.sha256(token.encode()).hexdigest()


def replace_tokens(tx: Tx, token_of: Callable[[str], str]) -> None:
    """Replace every session's token by the token that the present secret makes."""
    after = ""
    while session_ids := tx.sessions.ids_after(after, limit=limits.page_items_max):
        tx.sessions.set_tokens({session_id: hash_token(token_of(session_id)) for session_id in session_ids})
        after = session_ids[-1]


def register(
    tx: Tx,
    caller: Caller,
    request: ops.RegisterSession,
    token_of: Callable[[str], str],
    *,
    is_spawned: bool = False,
) -> ops.RegisteredSession:
    """Register a new session with a new token. A session that registers another session is the parent."""
    project = project_of(tx, caller, request.project)
    may_write(caller, project, what="register sessions")
    parent_id = _parent_id(tx, caller, request, project)
    member = _member_to_take_on(tx, caller, project, request.member)
    if caller.role is Role.WORKER and role_of(request.mode) is Role.COORDINATOR:
        raise errors.NotPermitted("A worker cannot register a coordinator.")
    session = _new_session(tx, caller, request, project, parent_id, member)
    if is_spawned:  # the process of the session will report its status
        session = msgspec.structs.replace(session, status=Status.SPAWNING, status_source=Source.PROCESS)
    token = token_of(session.id)
    tx.sessions.insert(session, token_hash=hash_token(token), member_id=member.id if member else None)
    tx.sessions.put_signal(session.id, Signal(session.status_source, session.status, tx.at, None, "registered"))
    data = {
        "name": session.name,
        "mode": session.mode.value,
        "parent": parent_id,
        "status": session.status.value,
    }
    tx.log(Change(Kind.SESSION_REGISTERED, session.id, project.id, data), actor=caller.name)
    shared = (member.id if member else None, session.workspace_id, project.id)
    unread = sum(tx.deliveries.count_open(box, reader=session.id) for box in shared if box is not None)
    return ops.RegisteredSession(**msgspec.structs.asdict(session), token=token, unread=unread)


def heartbeat(tx: Tx, caller: Caller, request: ops.Heartbeat) -> ops.Beat:
    """Store a sign of life at once. It renews the session's lease and all claims of the session."""
    session = kin.own(tx, caller)
    if session.ended_at is not None:
        raise errors.NotAuthenticated("This session has ended.", hint="Register again: maestro session register")
    if request.status in FINAL:
        raise errors.Invalid(
            f"A heartbeat cannot set the status {request.status}.",
            hint=f"Use one of: {', '.join(sorted(ACTIVE))}. To end a session: maestro session end",
        )
    tx.sessions.renew(session.id, at=tx.at)
    if request.status is not None:
        status.say(tx, session, request.status, source=Source.HEARTBEAT, actor=caller.name)
    renewed = tx.tasks.renew(session.id, at=tx.at)
    return ops.Beat(**msgspec.structs.asdict(_reread(tx, session)), renewed=renewed)


class Heartbeats:
    """Answers heartbeats. Each sign of life is in memory at once, and in the store only when needed."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def beat(self, caller: Caller, request: ops.Heartbeat) -> ops.Beat:
        """Answer a heartbeat. The call itself is a sign of life in memory; store the sign only when due."""
        answer = await self._store.read(lambda tx: _answer_without_write(tx, caller, request), quick=True)
        if answer is not None:
            return answer
        return await self._store.write(lambda tx: heartbeat(tx, caller, request), quick=True)


def _answer_without_write(tx: Tx, caller: Caller, request: ops.Heartbeat) -> ops.Beat | None:
    """Return the answer to a heartbeat that needs no write; else None."""
    session = kin.own(tx, caller)
    is_fresh = (tx.at - session.seen_at).total_seconds() < limits.presence_seconds
    if request.status not in (None, session.status) or not is_fresh or tx.tasks.has_lease(session.id):
        return None
    return ops.Beat(**msgspec.structs.asdict(session), renewed=0)


def end(tx: Tx, caller: Caller, request: ops.EndSession) -> Session:
    """End a session on request: void the token and give back the tasks."""
    session = kin.named(tx, caller, request.id, project=request.project) if request.id else kin.own(tx, caller)
    if request.status not in FINAL:
        raise errors.Invalid(
            f"A session cannot end as {request.status}.", hint=f"Use one of: {', '.join(sorted(FINAL))}."
        )
    kin.may_act_on(tx, caller, session, what="end")
    finish(tx, session, request.status, source=Source.REPORT, actor=caller)
    return _reread(tx, session)


def finish(tx: Tx, session: Session, final: Status, *, source: Source, actor: Caller, detail: str = "") -> None:
    """End a session with all consequences in one transaction: recovery plan, tasks, threads, asks, notices."""
    if not tx.sessions.end(session.id, status=final, source=source, at=tx.at):
        raise errors.Conflict(f"Session {session.name} has ended already.", data={"status": session.status})
    tx.sessions.put_signal(session.id, Signal(source, final, tx.at, None, detail))
    kind = Kind.SESSION_LOST if final is Status.LOST else Kind.SESSION_ENDED
    data = {"name": session.name, "from": session.status.value, "status": final.value}
    tx.log(Change(kind, session.id, session.project_id, data), actor=actor.name)
    resumes = recovery.plan(tx, session, final, source=source)
    _release_tasks(tx, actor, session)
    threads.release_all(tx, session.id, actor=actor.name)
    asks.withdraw_all(tx, session.id, actor=actor.name)
    if final is not session.status:  # else the notice went out when the session reported the status itself
        text = f"{detail}\n\nMaestro starts {session.name} again." if resumes else detail
        notices.status_changed(tx, session, final, text)
    notices.coordinator_gone(tx, session, final, resumes=resumes)
    _settle_orphans_ask(tx, session, actor=actor.name)


def _settle_orphans_ask(tx: Tx, session: Session, *, actor: str) -> None:
    """Withdraw the ask about the workers of an ended coordinator once the last of its workers has ended."""
    above = tx.recoveries.get(session.parent_id) if session.parent_id else None
    if above is not None and above.ask_id is not None and not tx.sessions.children(above.session_id, limit=1):
        asks.withdraw_all(tx, above.session_id, actor=actor)
        tx.recoveries.clear(above.session_id)


def whoami(tx: Tx, caller: Caller, request: ops.WhoAmI) -> ops.Identity:
    """Return the identity that the server has found for the caller."""
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
        coordinator=coordinator_contact(tx, caller),
        unread=sum(tx.deliveries.count_open(box, reader=caller.name) for box in own_boxes(caller)),
    )


def _new_session(
    tx: Tx,
    caller: Caller,
    request: ops.RegisterSession,
    project: Project,
    parent_id: str | None,
    member: Member | None,
) -> Session:
    session_id = ids.new("ses", tx.at)
    name = request.name or f"{request.mode.value}-{session_id[-6:]}"
    if name in RESERVED or ids.is_id(name):
        raise errors.Invalid(f"{name!r} is reserved and cannot name a session.", hint="Choose another name.")
    _require_free_name(tx, caller, project, name)
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
        status=Status.WORKING if request.mode is not Mode.COORDINATE else Status.IDLE,
        parent_id=parent_id,
        human=caller.human,
        pid=request.pid,
        pid_started=started,
        lease_until=tx.at + timedelta(seconds=lease_seconds(request.pid)),
        created_at=tx.at,
        updated_at=tx.at,
        ended_at=None,
        member=member.name if member else None,
        tool=request.tool or (member.tool.value if member and member.tool else None),
        tasks=[_task_to_work_on(tx, caller, ref, project).id for ref in request.task],
        status_source=Source.REPORT,
        status_at=tx.at,
        status_until=None,
        seen_at=tx.at,
        successor_id=None,
        grant=grants.child_grant(caller, request.grant, mode=request.mode, level=level),
    )


def _task_to_work_on(tx: Tx, caller: Caller, ref: str, project: Project) -> Task:
    """Return the task that a new session is for. A session may not start sessions for tasks of other projects."""
    task = task_of(tx, caller, ref, project=project.id)
    may_write(caller, tx.projects.get(task.project_id), what="start sessions for tasks")
    return task


def lease_seconds(pid: int | None) -> int:
    """Return how long a session may be silent: longer without a recorded process."""
    return limits.session_lease_seconds if pid is not None else limits.session_lease_alone_seconds


def revive(tx: Tx, token_hash: str) -> Caller | None:
    """Bring back a lost session that calls again. Other sessions may have got its tasks and mail meanwhile."""
    session = tx.sessions.lost_by_token(token_hash)
    if session is None:
        return None
    is_name_taken = tx.sessions.by_name(session.project_id, session.name) is not None
    name = f"{session.name}-{session.id[-4:]}" if is_name_taken else session.name
    if not tx.sessions.revive(session.id, name=name):
        return None
    tx.sessions.renew(session.id, at=tx.at)
    tx.recoveries.clear(session.id)
    asks.withdraw_all(tx, session.id, actor=session.id)
    revived = tx.sessions.get(session.id)
    assert revived is not None
    status.say(tx, revived, Status.WORKING, source=Source.HEARTBEAT, detail="it called again", actor=session.id)
    notices.to_session(
        tx,
        revived,
        subject="You were taken for lost",
        text=f"Maestro got no sign of life from you after {session.seen_at:%H:%M:%S} UTC. Maestro gave back your "
        "tasks and threads, and passed your mail on. Claim the tasks that you still work on: maestro task claim ID",
        priority=Priority.HIGH,
    )
    notices.to_coordinator(tx, revived, subject=f"{name} is back", text=f"{name} was not lost: it called again.")
    return tx.sessions.caller(session.id)


def _require_free_name(tx: Tx, caller: Caller, project: Project, name: str) -> None:
    """Refuse the name of a live session. End a session with an expired lease and without a process to free the name.

    Without a recorded process only the background job can judge: it knows the signs of life and clock jumps.
    """
    owner = tx.sessions.by_name(project.id, name)
    if owner is None:
        return
    spawn = tx.spawns.get(owner.id)
    has_runner = spawn is not None and spawn.ended_at is None  # the runner still has to report the session's end
    if has_runner or owner.pid is None or owner.lease_until > tx.at or is_running(owner):
        raise errors.NameTaken(
            f"A live session of {project.name} is already called {name!r}: {owner.id}.",
            hint=f"Choose another name, or end that session: maestro session end {owner.id}",
        )
    finish(tx, owner, Status.LOST, source=Source.PROCESS, actor=caller, detail="another session took its name")


def is_running(session: Session) -> bool:
    """Return whether the process that was recorded for a session still runs."""
    process = processes.look_up(session.pid) if session.pid is not None else None
    return process is not None and not process.ended and process.started == session.pid_started


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


def set_grant(tx: Tx, caller: Caller, request: ops.GrantSession) -> ops.GrantedSession:
    """Set a session's grant; the dispatcher lets only the person call this. Runs of an ended session use it too."""
    session = kin.named(tx, caller, request.id, project=request.project)
    tx.sessions.set_grant(session.id, request.grant)
    data = {"name": session.name, "from": session.grant.value, "grant": request.grant.value}
    tx.log(Change(Kind.SESSION_GRANTED, session.id, session.project_id, data), actor=caller.name)
    return ops.GrantedSession(**msgspec.structs.asdict(_reread(tx, session)))


def _check_process(tx: Tx, caller: Caller, pid: int | None) -> str | None:
    """Return the start time of a process; with the pid it identifies the process when the pid is used again."""
    if pid is None:
        return None
    process = processes.look_up(pid)
    if process is None or pid == 1:
        raise errors.NotFound(f"There is no process {pid} that could be an agent.")
    session_id = tx.sessions.with_process().get((pid, process.started))
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
        chain = {(process.pid, process.started) for process in processes.ancestry(pid)}
    except processes.ChainBroken:
        chain = set()
    if not roots & chain:
        raise errors.NotPermitted(f"A session may register only processes that it has started, not process {pid}.")


def _parent_id(tx: Tx, caller: Caller, request: ops.RegisterSession, project: Project) -> str | None:
    if request.parent is None:
        return caller.session_id
    parent = kin.named(tx, caller, request.parent, project=project.id)
    if caller.role is Role.WORKER and parent.id != caller.session_id:
        raise errors.NotPermitted(f"A worker may register sessions only under itself, not under {parent.name}.")
    if parent.ended_at is not None or parent.project_id != project.id:
        raise errors.Conflict(f"Session {parent.name} has ended or belongs to another project.")
    return parent.id


def _release_tasks(tx: Tx, caller: Caller, session: Session) -> None:
    outcome = Outcome(tx, caller)
    for held in tx.tasks.of_holder(session.id, limit=limits.upkeep_batch_rows_max):
        task = tx.tasks.get(held.id)  # read again: an earlier release may have completed the task
        if task is None or task.holder != session.id:
            continue
        if task.status is TaskStatus.IN_PROGRESS:
            outcome.apply(task_rules.release(task, at=tx.at))
        elif task.status is TaskStatus.BLOCKED:
            outcome.apply(task_rules.expire(task, at=tx.at))


def _reread(tx: Tx, session: Session) -> Session:
    return tx.sessions.get(session.id) or session
