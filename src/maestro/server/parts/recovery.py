"""Build the part of recovery: jobs that find lost sessions and ended programs, resume sessions and reroute mail."""

from __future__ import annotations

from functools import partial

from maestro.domain.events import EventKind
from maestro.operations import server as server_ops
from maestro.server.base import ServerBase
from maestro.server.dispatch import Binding
from maestro.server.part import Part, PartJob
from maestro.server.parts.identity import IdentityPart
from maestro.server.parts.runners import RunnerPart
from maestro.server.parts.supervision import SupervisionPart
from maestro.services.recovery.ended_mailboxes import EndedMailboxJob
from maestro.services.recovery.findings import RestartFindings
from maestro.services.recovery.lost_sessions import LostSessionJob
from maestro.services.recovery.reconcile import ReconcileJob
from maestro.services.recovery.recovery_job import RecoveryJob


class RecoveryPart(Part, frozen=True, kw_only=True):
    """The services for recovery."""

    findings: RestartFindings


def build_recovery(
    base: ServerBase, identity: IdentityPart, runners: RunnerPart, supervision: SupervisionPart
) -> RecoveryPart:
    store, clock = base.store, base.clock
    recovery = RecoveryJob(store, supervision.starts, runners.runners, supervision.stopper)
    findings = RestartFindings(store, identity.presence, recovery.settle_due, clock=clock)
    reconcile = ReconcileJob(store, runners.runners, supervision.launcher, supervision.starts, findings, clock=clock)
    nudge_job = base.background_jobs.nudge_job

    def nudge_recovery_and_reconcile() -> None:
        nudge_job(RecoveryJob.name)
        nudge_job(ReconcileJob.name)

    supervision.starts.on_room = nudge_recovery_and_reconcile
    runners.runners.on_end = partial(nudge_job, ReconcileJob.name)
    recovery.on_given_up = partial(nudge_job, EndedMailboxJob.name)
    session_end_events = (EventKind.SESSION_ENDED, EventKind.SESSION_LOST)
    return RecoveryPart(
        findings=findings,
        bindings={server_ops.RECOVERY.name: Binding(findings.show_findings)},
        jobs=(
            PartJob(LostSessionJob(store, identity.presence, clock=clock)),
            PartJob(reconcile, runs_after=(EventKind.SESSION_RESUMED,), is_paced=True),
            PartJob(recovery, runs_after=(*session_end_events, EventKind.ASK_ANSWERED), is_paced=True),
            PartJob(EndedMailboxJob(store), runs_after=session_end_events),
        ),
    )
