"""A session's life: it registers, gives signs of life, ends; and who the server takes a caller for."""

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
    """All that is kept of a token. It is long and random, so a plain hash is enough."""
    return hashlib.sha256(token.encode()).hexdigest()


def replace_tokens(tx: Tx, token_of: Callable[[str], str]) -> None:
    """Void every session's token in favour of the token that the present secret makes."""
    after = ""
    while found := tx.sessions.ids_after(after, limit=limits.page_items_max):
        tx.sessions.set_tokens({session_id: hash_token(token_of(session_id)) for session_id in found})
        after = found[-1]


def register(
    tx: Tx,
    caller: Caller,
    request: ops.RegisterSession,
    token_of: Callable[[str], str],
    *,
    is_spawned: bool = False,
) -> ops.RegisteredSession:
    """A new session with a token of its own. One that a session registers is its child."""
    project = project_of(tx, caller, request.project)
    may_write(caller, project, what="register sessions")
    parent_id = _parent(tx, caller, request, project)
    member = _member(tx, caller, project, request.member)
    if caller.role is Role.WORKER and role_of(request.mode) is Role.COORDINATOR:
        raise errors.NotPermitted("A worker cannot register a coordinator.")
    session = _new_session(tx, caller, request, project, parent_id, member)
    if is_spawned:  # its process will speak for it
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
    """A sign of life that is stored at once: the session's lease and all its claims go on."""
    session = kin.own(tx, caller)
    if session.ended_at is not None:
        raise errors.NotAuthenticated("This session has ended.", hint="Register again: maestro session register")
    if request.status in FINAL:
        raise errors.Invalid(
            f"A heartbeat cannot say {request.status}.",
            hint=f"It can say: {', '.join(sorted(ACTIVE))}. To end a session: maestro session end",
        )
    tx.sessions.renew(session.id, at=tx.at)
    if request.status is not None:
        status.say(tx, session, request.status, source=Source.HEARTBEAT, actor=caller.name)
    renewed = tx.tasks.renew(session.id, at=tx.at)
    return ops.Beat(**msgspec.structs.asdict(_reread(tx, session)), renewed=renewed)


class Heartbeats:
    """Signs of life: remembered at once, stored when it matters."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def beat(self, caller: Caller, request: ops.Heartbeat) -> ops.Beat:
        """Whoever calls has been heard already; what is left is to store it in time."""
        remembered = await self._store.read(lambda tx: _remembered(tx, caller, request), quick=True)
        if remembered is not None:
            return remembered
        return await self._store.write(lambda tx: heartbeat(tx, caller, request), quick=True)


def _remembered(tx: Tx, caller: Caller, request: ops.Heartbeat) -> ops.Beat | None:
    """The answer to a beat that changes nothing yet and needs no writing."""
    session = kin.own(tx, caller)
    fresh = (tx.at - session.seen_at).total_seconds() < limits.presence_seconds
    if request.status not in (None, session.status) or not fresh or tx.tasks.has_lease(session.id):
        return None
    return ops.Beat(**msgspec.structs.asdict(session), renewed=0)


def end(tx: Tx, caller: Caller, request: ops.EndSession) -> Session:
    """A session's end: its token is void, and what it held is given back."""
    session = kin.named(tx, caller, request.id, project=request.project) if request.id else kin.own(tx, caller)
    if request.status not in FINAL:
        raise errors.Invalid(
            f"A session does not end as {request.status}.", hint=f"Say one of: {', '.join(sorted(FINAL))}."
        )
    kin.may_act_on(tx, caller, session, what="end")
    finish(tx, session, request.status, source=Source.REPORT, actor=caller)
    return _reread(tx, session)


def finish(tx: Tx, session: Session, final: Status, *, source: Source, actor: Caller, detail: str = "") -> None:
    """All that a session's end brings with it, in one transaction."""
    if not tx.sessions.end(session.id, status=final, source=source, at=tx.at):
        raise errors.Conflict(f"Session {session.name} has ended already.", data={"status": session.status})
    tx.sessions.put_signal(session.id, Signal(source, final, tx.at, None, detail))
    kind = Kind.SESSION_LOST if final is Status.LOST else Kind.SESSION_ENDED
    data = {"name": session.name, "from": session.status.value, "status": final.value}
    tx.log(Change(kind, session.id, session.project_id, data), actor=actor.name)
    resumes = recovery.plan(tx, session, final, source=source)
    _give_back(tx, actor, session)
    threads.release_all(tx, session.id, actor=actor.name)
    asks.withdraw_all(tx, session.id, actor=actor.name)
    if final is not session.status:  # else it was told when the session said so itself
        again = f"{detail}\n\nIt is started again." if resumes else detail
        notices.status_changed(tx, session, final, again)
    notices.coordinator_gone(tx, session, final, resumes=resumes)
    _last_worker(tx, session, actor=actor.name)


def _last_worker(tx: Tx, session: Session, *, actor: str) -> None:
    """Once the last worker of a coordinator that is gone has ended, nobody need say what becomes of them."""
    above = tx.recoveries.get(session.parent_id) if session.parent_id else None
    if above is not None and above.ask_id is not None and not tx.sessions.children(above.session_id, limit=1):
        asks.withdraw_all(tx, above.session_id, actor=actor)
        tx.recoveries.clear(above.session_id)


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
        raise errors.Invalid(f"{name!r} is a reserved word.", hint="Choose another name.")
    _free_name(tx, caller, project, name)
    workspace = _workspace(tx, project, request.path)
    _require_own_workspace(caller, workspace)
    started = _process(tx, caller, request.pid)
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
    """Return a task that a session is started for. A session starts no other for a task of another project."""
    task = task_of(tx, caller, ref, project=project.id)
    may_write(caller, tx.projects.get(task.project_id), what="start sessions for tasks")
    return task


def lease_seconds(pid: int | None) -> int:
    """How long a session may be silent: longer where no process speaks for it."""
    return limits.session_lease_seconds if pid is not None else limits.session_lease_alone_seconds


def revive(tx: Tx, token_hash: str) -> Caller | None:
    """A session that was called lost, and speaks: it was not. What it held has gone to others meanwhile."""
    session = tx.sessions.lost_by_token(token_hash)
    if session is None:
        return None
    taken = tx.sessions.by_name(session.project_id, session.name) is not None
    name = f"{session.name}-{session.id[-4:]}" if taken else session.name
    if not tx.sessions.revive(session.id, name=name):
        return None
    tx.sessions.renew(session.id, at=tx.at)
    tx.recoveries.clear(session.id)
    asks.withdraw_all(tx, session.id, actor=session.id)
    back = tx.sessions.get(session.id)
    assert back is not None
    status.say(tx, back, Status.WORKING, source=Source.HEARTBEAT, detail="it spoke again", actor=session.id)
    notices.to_session(
        tx,
        back,
        subject="You were taken for lost",
        text=f"Nothing was heard of you since {session.seen_at:%H:%M:%S} UTC. Your tasks and conversations were "
        "given back, your mail was sent on. Claim what you still work on: maestro task claim ID",
        priority=Priority.HIGH,
    )
    notices.to_coordinator(tx, back, subject=f"{name} is back", text="It was not lost: it has spoken again.")
    return tx.sessions.caller(session.id)


def _free_name(tx: Tx, caller: Caller, project: Project, name: str) -> None:
    """A name belongs to one live session; one whose lease is over and whose process is gone gives it up.

    Where no process was recorded, only upkeep can say: it knows who was heard of, and whether the clock jumped.
    """
    there = tx.sessions.by_name(project.id, name)
    if there is None:
        return
    spawn = tx.spawns.get(there.id)
    has_runner = spawn is not None and spawn.ended_at is None  # which still has to tell how the session ended
    if has_runner or there.pid is None or there.lease_until > tx.at or is_running(there):
        raise errors.NameTaken(
            f"A live session of {project.name} is already called {name!r}: {there.id}.",
            hint=f"Choose another name, or end that one: maestro session end {there.id}",
        )
    finish(tx, there, Status.LOST, source=Source.PROCESS, actor=caller, detail="another took its name")


def is_running(session: Session) -> bool:
    """Whether the process that was recorded for a session is still the same, and there."""
    found = processes.look_up(session.pid) if session.pid is not None else None
    return found is not None and not found.ended and found.started == session.pid_started


def _member(tx: Tx, caller: Caller, project: Project, name: str | None) -> Member | None:
    """The persona a session takes on: none that may more than whoever registers it."""
    member = _member_named(tx, project, name) if name else None
    require_no_more_rights(caller, member)
    if caller.role is Role.WORKER and member is not None and member.id != caller.member_id:
        raise errors.NotPermitted(
            f"A worker registers sessions as its own member or as none, not as {member.name}.",
            hint="Leave out --member, or ask your coordinator to register the session.",
        )
    return member


def require_no_more_rights(caller: Caller, member: Member | None) -> None:
    """Refuse a member whose sessions may call more operations than the session that starts them."""
    allow, deny = (set(member.allow), set(member.deny)) if member else (set(), set())
    if caller.is_session and (allow - caller.allow or caller.deny - deny):
        raise errors.NotPermitted(
            "A session cannot register one that may more than itself.", hint="Ask the person to register it."
        )


def _member_named(tx: Tx, project: Project, name: str) -> Member:
    member = tx.members.by_name(project.id, name.removeprefix("@").lower())
    if member is None:
        raise errors.NotFound(f"{project.name} has no member {name!r}.", hint="maestro member list")
    return member


def _workspace(tx: Tx, project: Project, path: str) -> Workspace | None:
    """The checkout of this project around a directory."""
    here = PurePosixPath(path)
    for folder in (here, *here.parents) if here.is_absolute() else ():
        found = tx.projects.workspace_at(str(folder))
        if found is not None:
            return found if found.project_id == project.id else None
    return None


def _require_own_workspace(caller: Caller, workspace: Workspace | None) -> None:
    """Refuse a worker's child in another checkout: the child could read the mail of that checkout's agents."""
    if caller.role is Role.WORKER and workspace is not None and workspace.id != caller.workspace_id:
        raise errors.NotPermitted(
            f"A worker registers sessions in its own checkout, not in {workspace.address}.",
            hint="Run the command in your own checkout, or ask your coordinator to register the session.",
        )


def set_grant(tx: Tx, caller: Caller, request: ops.GrantSession) -> ops.GrantedSession:
    """Set a session's grant; the dispatcher lets only the person call this. Runs of an ended session go by it too."""
    session = kin.named(tx, caller, request.id, project=request.project)
    tx.sessions.set_grant(session.id, request.grant)
    data = {"name": session.name, "from": session.grant.value, "grant": request.grant.value}
    tx.log(Change(Kind.SESSION_GRANTED, session.id, session.project_id, data), actor=caller.name)
    return ops.GrantedSession(**msgspec.structs.asdict(_reread(tx, session)))


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
    own, spawn = tx.sessions.get(caller.session_id or ""), tx.spawns.get(caller.session_id or "")
    roots = {(own.pid, own.pid_started)} if own is not None else set()
    if spawn is not None:  # an orphan of the agent is a child of its runner
        roots.add((spawn.runner_pid, spawn.runner_started))
    try:
        chain = {(process.pid, process.started) for process in processes.ancestry(pid)}
    except processes.ChainBroken:
        chain = set()
    if not roots & chain:
        raise errors.NotPermitted("A session registers only processes that it has started itself.")


def _parent(tx: Tx, caller: Caller, request: ops.RegisterSession, project: Project) -> str | None:
    if request.parent is None:
        return caller.session_id
    parent = kin.named(tx, caller, request.parent, project=project.id)
    if caller.role is Role.WORKER and parent.id != caller.session_id:
        raise errors.NotPermitted("A worker registers sessions under itself only.")
    if parent.ended_at is not None or parent.project_id != project.id:
        raise errors.Conflict(f"Session {parent.name} has ended or belongs to another project.")
    return parent.id


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
