"""The background jobs of a server, and the events that give each job work."""

from __future__ import annotations

from typing import TYPE_CHECKING

from maestro.core import limits
from maestro.domain.events import Kind
from maestro.server.check_process import run_check
from maestro.services.mail.search import Search
from maestro.services.programs.runners import FOLDER as RUNNERS
from maestro.services.trackers.keeping import Trackers
from maestro.services.upkeep.alarms import Alarms
from maestro.services.upkeep.answering import Answering
from maestro.services.upkeep.dead_letters import DeadLetters
from maestro.services.upkeep.dismissing import Dismissing
from maestro.services.upkeep.dispatching import Dispatching
from maestro.services.upkeep.gates import Gates
from maestro.services.upkeep.leases import Leases
from maestro.services.upkeep.log_sizes import LogSizes
from maestro.services.upkeep.loop import Job, Upkeep
from maestro.services.upkeep.lost_sessions import LostSessions
from maestro.services.upkeep.mail_retention import MailRetention
from maestro.services.upkeep.notifications import Notifications
from maestro.services.upkeep.old_statuses import OldStatuses
from maestro.services.upkeep.old_transcripts import OldTranscripts
from maestro.services.upkeep.processes import Processes
from maestro.services.upkeep.reconcile import Reconcile
from maestro.services.upkeep.recovering import Recovering
from maestro.services.upkeep.released_space import ReleasedSpace
from maestro.services.upkeep.retention import Retention
from maestro.services.upkeep.signs_of_life import SignsOfLife
from maestro.services.upkeep.storage_checks import StorageChecks
from maestro.services.upkeep.stray_blobs import StrayBlobs
from maestro.services.upkeep.tidying import Tidying
from maestro.services.upkeep.waking import Waking

if TYPE_CHECKING:
    from maestro.server.app import Server

# The jobs that run because of an event of a kind.
NUDGED: dict[str, tuple[str, ...]] = {
    Kind.TASK_STARTED: (Leases.name,),
    Kind.TASK_REJECTED: (Leases.name, Gates.name),
    Kind.TASK_UNBLOCKED: (Leases.name, Trackers.name),
    Kind.SESSION_REGISTERED: (Processes.name,),
    Kind.SESSION_ENDED: (
        Processes.name,
        DeadLetters.name,
        Dispatching.name,
        Recovering.name,
        Tidying.name,
        Dismissing.name,
    ),
    Kind.SESSION_LOST: (Processes.name, DeadLetters.name, Dispatching.name, Recovering.name),
    Kind.SESSION_TURN_ENDED: (Waking.name,),
    Kind.SESSION_RESUMED: (Reconcile.name, Dispatching.name),
    Kind.TASK_READY: (Dispatching.name,),
    Kind.TASK_COMPLETED: (Dispatching.name, Gates.name, Tidying.name),
    Kind.TASK_FAILED: (Dispatching.name, Gates.name),
    Kind.TASK_BLOCKED: (Dispatching.name, Trackers.name),
    Kind.TASK_CANCELLED: (Dispatching.name, Gates.name),
    Kind.TASK_DELETED: (Dispatching.name, Gates.name),
    Kind.TASK_IN_REVIEW: (Gates.name,),
    Kind.RUN_STARTED: (Dispatching.name,),
    Kind.RUN_RESUMED: (Dispatching.name,),
    Kind.RUN_ATTEMPT: (Dismissing.name,),
    Kind.RUN_ENDED: (Dismissing.name, Tidying.name),
    Kind.MAIL_SENT: (Search.name, Waking.name),
    Kind.SESSION_STATUS_CHANGED: (OldStatuses.name, Waking.name),
    Kind.ISSUE_OPENED: (Trackers.name,),
    Kind.ISSUE_CLAIMED: (Trackers.name,),
    Kind.ISSUE_COMMENTED: (Trackers.name,),
    Kind.ISSUE_CLOSED: (Trackers.name,),
    Kind.ISSUE_REOPENED: (Trackers.name,),
    Kind.TASK_RELEASED: (Trackers.name,),
    Kind.TASK_CLAIM_EXPIRED: (Trackers.name,),
    Kind.TASK_EDITED: (Trackers.name,),
    Kind.PROJECT_CHANGED: (Trackers.name,),
    Kind.ASK_OPENED: (Notifications.name,),
    Kind.ASK_ANSWERED: (Notifications.name, Recovering.name, Answering.name, StorageChecks.name),
    Kind.ASK_WITHDRAWN: (Notifications.name, Answering.name),
}
# Jobs whose result no caller waits for at once: a burst of events causes one run.
_PACES = dict.fromkeys(
    (
        Leases.name,
        Processes.name,
        Recovering.name,
        Tidying.name,
        OldStatuses.name,
        Dismissing.name,
        Waking.name,
        Reconcile.name,
        Search.name,
        Trackers.name,
    ),
    limits.upkeep_pace_seconds,
)


def upkeep_of(server: Server) -> Upkeep:
    return Upkeep(_build_jobs(server), clock=server.clock, paces=_PACES)


def _build_jobs(server: Server) -> list[Job]:
    store, clock, config = server.store, server.clock, server.settings
    return [
        server.leases,
        Retention(store, events_days=config.events_days),
        MailRetention(store, server.search, days=config.mail_days),
        ReleasedSpace(store),
        LogSizes(server.home, server.home / RUNNERS, clock=clock),
        StorageChecks(store, server.health, clock=clock, check=lambda: run_check(server.home)),
        StrayBlobs(store, server.blobs, clock=clock),
        SignsOfLife(store, server.presence, clock=clock),
        LostSessions(store, server.presence, clock=clock),
        OldStatuses(store),
        server.processes,
        server.dispatching,
        Dismissing(store, server.stopper, clock=clock, grace_seconds=config.run_grace_seconds),
        server.gates,
        Reconcile(store, server.runners, server.launching, server.starts, server.findings, clock=clock),
        server.recovering,
        Tidying(store, server.worktrees, keeps_merged=config.keep_worktrees),
        OldTranscripts(store, server.home / RUNNERS, days=config.transcript_days, clock=clock),
        DeadLetters(store),
        Answering(store, server.runners, clock=clock),
        server.unheard_hooks,
        server.waking,
        server.search,
        Alarms(store, server.guard),
        server.trackers,
        Notifications(store, desktop=config.notify_desktop, webhook=config.notify_webhook),
    ]
