"""A session's lifecycle after its registration: heartbeats, its end, its return; and the identity of a caller."""

from __future__ import annotations

import hashlib
from collections.abc import Callable

import msgspec

from maestro.core import errors, limits
from maestro.domain.callers import SERVER_NAME, Caller, Role
from maestro.domain.events import EventKind, NewEvent
from maestro.domain.priorities import Priority
from maestro.domain.sessions import (
    ACTIVE_STATUSES,
    ENDED_STATUSES,
    Session,
    SessionStatus,
    StatusSignal,
    StatusSource,
)
from maestro.operations import session_settings
from maestro.operations import sessions as ops
from maestro.services import effects
from maestro.services.access import session_relations
from maestro.services.mail.create import own_mailboxes
from maestro.services.mail.reading import coordinator_contact
from maestro.services.sessions import notices, status
from maestro.services.sessions import recovery_plans as recovery
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


def record_heartbeat(tx: Tx, caller: Caller, request: ops.SendHeartbeat) -> ops.HeartbeatAnswer:
    """Store a sign of life at once. It renews the session's lease and all claims of the session."""
    session = session_relations.own_session(tx, caller)
    if session.ended_at is not None:
        raise errors.NotAuthenticated("This session has ended.", hint="Register again: maestro session register")
    if request.status in ENDED_STATUSES:
        raise errors.Invalid(
            f"A heartbeat cannot set the status {request.status}.",
            hint=f"Use one of: {', '.join(sorted(ACTIVE_STATUSES))}. To end a session: maestro session end",
        )
    tx.sessions.renew_leases(session.id, at=tx.at)
    if request.status is not None:
        status.apply_signal(tx, session, request.status, source=StatusSource.HEARTBEAT, actor=caller.name)
    renewed = tx.tasks.renew_claims(session.id, at=tx.at)
    return ops.HeartbeatAnswer(**msgspec.structs.asdict(_reread(tx, session)), renewed=renewed)


class Heartbeats:
    """Answers heartbeats. Each sign of life is in memory at once, and in the store only when needed."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def answer_heartbeat(self, caller: Caller, request: ops.SendHeartbeat) -> ops.HeartbeatAnswer:
        """Answer a heartbeat. The call itself is a sign of life in memory; store the sign only when due."""
        answer = await self._store.read(lambda tx: _answer_without_write(tx, caller, request), quick=True)
        if answer is not None:
            return answer
        return await self._store.write(lambda tx: record_heartbeat(tx, caller, request), quick=True)


def _answer_without_write(tx: Tx, caller: Caller, request: ops.SendHeartbeat) -> ops.HeartbeatAnswer | None:
    """Return the answer to a heartbeat that needs no write; else None."""
    session = session_relations.own_session(tx, caller)
    is_fresh = (tx.at - session.seen_at).total_seconds() < limits.presence_store_seconds
    if request.status not in (None, session.status) or not is_fresh or tx.tasks.has_lease(session.id):
        return None
    return ops.HeartbeatAnswer(**msgspec.structs.asdict(session), renewed=0)


def end_session(tx: Tx, caller: Caller, request: ops.EndSession) -> Session:
    """End a session on request: void the token and give back the tasks."""
    session = (
        session_relations.find_session(tx, caller, request.id, project=request.project)
        if request.id
        else session_relations.own_session(tx, caller)
    )
    if request.status not in ENDED_STATUSES:
        raise errors.Invalid(
            f"A session cannot end as {request.status}.", hint=f"Use one of: {', '.join(sorted(ENDED_STATUSES))}."
        )
    session_relations.require_authority(tx, caller, session, action="end")
    finish_session(tx, session, request.status, source=StatusSource.REPORT, actor=caller)
    return _reread(tx, session)


def finish_session(
    tx: Tx, session: Session, final: SessionStatus, *, source: StatusSource, actor: Caller, detail: str = ""
) -> None:
    """End a session with all consequences in one transaction: recovery plan, tasks, threads, asks, notices."""
    if not tx.sessions.mark_ended(session.id, status=final, source=source, at=tx.at):
        raise errors.Conflict(f"Session {session.name} has ended already.", data={"status": session.status})
    tx.sessions.put_signal(session.id, StatusSignal(source, final, tx.at, None, detail))
    kind = EventKind.SESSION_LOST if final is SessionStatus.LOST else EventKind.SESSION_ENDED
    data = {"name": session.name, "from": session.status.value, "status": final.value}
    tx.log(NewEvent(kind, session.id, session.project_id, data), actor=actor.name)
    resumes = recovery.plan_recovery(tx, session, final, source=source)
    effects.session_ended(tx, session, actor)
    if final is not session.status:  # else the notice went out when the session reported the status itself
        text = f"{detail}\n\nMaestro starts {session.name} again." if resumes else detail
        is_by_person = actor.role is Role.PERSON and actor.name != SERVER_NAME
        notices.notify_status_change(tx, session, final, text, is_by_person=is_by_person)
    notices.notify_workers_of_end(tx, session, final, will_resume=resumes)


def identify_caller(tx: Tx, caller: Caller, request: ops.WhoAmI) -> ops.CallerIdentity:
    """Return the identity that the server has found for the caller."""
    session = tx.sessions.get(caller.session_id) if caller.session_id else None
    project = tx.projects.get(caller.project_id) if caller.project_id else None
    held = tx.tasks.of_holder(caller.name, limit=limits.page_items_default) if caller.role is not Role.NOBODY else []
    return ops.CallerIdentity(
        role=caller.role,
        name=session.name if session else caller.name,
        human=caller.human,
        session=session,
        project=project.name if project else None,
        address=session.address if session else None,
        held=[task.ref for task in held],
        coordinator=coordinator_contact(tx, caller),
        unread=sum(tx.deliveries.count_open(mailbox, reader=caller.name) for mailbox in own_mailboxes(caller)),
    )


def lease_seconds(pid: int | None) -> int:
    """Return how long a session may be silent: longer without a recorded process."""
    return limits.session_lease_seconds if pid is not None else limits.session_lease_without_process_seconds


def revive_session(tx: Tx, token_hash: str) -> Caller | None:
    """Bring back a lost session that calls again. Other sessions may have got its tasks and mail meanwhile."""
    session = tx.sessions.lost_by_token(token_hash)
    if session is None:
        return None
    is_name_taken = tx.sessions.by_name(session.project_id, session.name) is not None
    name = f"{session.name}-{session.id[-4:]}" if is_name_taken else session.name
    if not tx.sessions.revive(session.id, name=name):
        return None
    tx.sessions.renew_leases(session.id, at=tx.at)
    tx.recoveries.clear_next_step(session.id)
    effects.answers_not_needed(tx, session.id, session.id)
    revived = tx.sessions.get(session.id)
    assert revived is not None
    status.apply_signal(
        tx, revived, SessionStatus.WORKING, source=StatusSource.HEARTBEAT, detail="it called again", actor=session.id
    )
    notices.notify_session(
        tx,
        revived,
        subject="You were taken for lost",
        text=f"Maestro got no sign of life from you after {session.seen_at:%H:%M:%S} UTC. Maestro gave back your "
        "tasks and threads, and passed your mail on. Claim the tasks that you still work on: maestro task claim ID",
        priority=Priority.HIGH,
    )
    notices.notify_coordinator(tx, revived, subject=f"{name} is back", text=f"{name} was not lost: it called again.")
    return tx.sessions.live_caller(session.id)


def is_process_running(session: Session) -> bool:
    """Return whether the process that was recorded for a session still runs."""
    process = processes.find_process(session.pid) if session.pid is not None else None
    return process is not None and not process.has_ended and process.started == session.pid_started


def set_grant(tx: Tx, caller: Caller, request: session_settings.GrantSession) -> session_settings.GrantedSession:
    """Set a session's grant; the dispatcher lets only the person call this. Runs of an ended session use it too."""
    session = session_relations.find_session(tx, caller, request.id, project=request.project)
    tx.sessions.set_grant(session.id, request.grant)
    data = {"name": session.name, "from": session.grant.value, "grant": request.grant.value}
    tx.log(NewEvent(EventKind.SESSION_GRANTED, session.id, session.project_id, data), actor=caller.name)
    return session_settings.GrantedSession(**msgspec.structs.asdict(_reread(tx, session)))


def _reread(tx: Tx, session: Session) -> Session:
    return tx.sessions.get(session.id) or session
