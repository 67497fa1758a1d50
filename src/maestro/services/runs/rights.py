"""Check the rights of a run at its start, and again for each of its sessions. The run keeps the starter's rights."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from maestro.core import errors, ids
from maestro.domain import grants
from maestro.domain.callers import Caller, person_caller
from maestro.domain.runs import Run
from maestro.domain.sessions import SessionMode
from maestro.operations import runs as ops
from maestro.services.mail import routing
from maestro.services.sessions.registration import require_no_more_rights
from maestro.services.supervision.spawn_options import own_patterns, usual_permission
from maestro.store.base import Tx


def check_start(tx: Tx, caller: Caller, run: Run, members: Iterable[str | None]) -> None:
    """Refuse a run whose sessions the caller may not start itself. `members` are the members of the run's tasks."""
    grants.require_program(caller, run.tool, run.arguments)
    grants.require_patterns(caller, run.allow, own_patterns(tx, caller))
    for name in set(members):
        member = tx.members.by_name(run.project_id, name.lower()) if name else None
        if name and member is None:
            continue  # the task names a removed member: each session of the task is refused at its own start
        require_no_more_rights(caller, member)
        grants.require_level(caller, usual_permission(SessionMode.EXECUTE, [member] if member else []))


def starter_of(tx: Tx, run: Run) -> Caller | None:
    """Return the caller in whose name the run's sessions are started, with no more rights than the run's starter.

    A session that has ended keeps its rights for its runs. Where a successor has taken over, only rights that both
    sessions have count. Return None while the starter is being restarted: the run continues after the restart.
    """
    if not ids.is_id(run.started_by, "ses"):
        return person_caller(run.started_by)
    route = tx.sessions.mail_route(run.started_by)
    starter = tx.sessions.caller_ever(run.started_by)
    if route is None or starter is None:
        raise errors.NotPermitted(f"The session that started {run.id} does not exist.", hint="Start the run again.")
    if route.resumes:
        return None
    present = tx.sessions.live_caller(routing.route_to_session(tx, starter.name).mailbox) or starter
    allowed = grants.narrow_caller(present, grants.rights_of(starter))
    if run.rights is not None:  # a grant that the person changed since the start counts as it is now
        kept = msgspec.structs.replace(run.rights, grant=starter.grant)
        allowed = grants.narrow_caller(allowed, kept)
    if ops.START.name in allowed.deny:
        raise errors.NotPermitted(f"The starter of {run.id} may no longer start runs: {ops.START.name} is denied.")
    return allowed
