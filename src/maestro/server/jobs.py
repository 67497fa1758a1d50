"""The background jobs of a server, and the events that give each job work."""

from __future__ import annotations

from typing import TYPE_CHECKING

from maestro.core import limits
from maestro.domain.events import EventKind
from maestro.server.check_process import check_in_subprocess
from maestro.services.asks.notifications import NotificationJob
from maestro.services.conversations.answer_job import AnswerDeliveryJob
from maestro.services.conversations.push_job import PushJob
from maestro.services.housekeeping.log_sizes import LogSizeJob
from maestro.services.housekeeping.mail_retention import MailRetentionJob
from maestro.services.housekeeping.old_transcripts import TranscriptRetentionJob
from maestro.services.housekeeping.rate_alarms import AlarmJob
from maestro.services.housekeeping.released_space import SpaceReleaseJob
from maestro.services.housekeeping.retention import EventRetentionJob
from maestro.services.housekeeping.storage_checks import StorageCheckJob
from maestro.services.housekeeping.stray_blobs import StrayBlobJob
from maestro.services.jobs import BackgroundJob, BackgroundJobs
from maestro.services.mail.search import MailSearch
from maestro.services.recovery.lost_sessions import LostSessionJob
from maestro.services.recovery.reconcile import ReconcileJob
from maestro.services.recovery.recovery_job import RecoveryJob
from maestro.services.recovery.undelivered_mail import UnreadMailJob
from maestro.services.runners.runners import SESSIONS_FOLDER
from maestro.services.runs.dispatch import RunDispatchJob
from maestro.services.runs.gates import GateJob
from maestro.services.sessions.presence_job import PresenceJob
from maestro.services.sessions.process_job import ProcessWatchJob
from maestro.services.sessions.stale_statuses import OldStatusJob
from maestro.services.supervision.dismissal import DismissalJob
from maestro.services.tasks.expired_claims import ClaimExpiryJob
from maestro.services.trackers.sync_job import TrackerSyncJob
from maestro.services.worktrees.tidy_job import WorktreeTidyJob

if TYPE_CHECKING:
    from maestro.server.app import Server

# The jobs that run because of an event of a kind.
JOBS_BY_EVENT: dict[str, tuple[str, ...]] = {
    EventKind.TASK_STARTED: (ClaimExpiryJob.name,),
    EventKind.TASK_REJECTED: (ClaimExpiryJob.name, GateJob.name),
    EventKind.TASK_UNBLOCKED: (ClaimExpiryJob.name, TrackerSyncJob.name),
    EventKind.SESSION_REGISTERED: (ProcessWatchJob.name,),
    EventKind.SESSION_ENDED: (
        ProcessWatchJob.name,
        UnreadMailJob.name,
        RunDispatchJob.name,
        RecoveryJob.name,
        WorktreeTidyJob.name,
        DismissalJob.name,
    ),
    EventKind.SESSION_LOST: (ProcessWatchJob.name, UnreadMailJob.name, RunDispatchJob.name, RecoveryJob.name),
    EventKind.SESSION_TURN_ENDED: (PushJob.name,),
    EventKind.SESSION_RESUMED: (ReconcileJob.name, RunDispatchJob.name),
    EventKind.TASK_READY: (RunDispatchJob.name,),
    EventKind.TASK_COMPLETED: (RunDispatchJob.name, GateJob.name, WorktreeTidyJob.name),
    EventKind.TASK_FAILED: (RunDispatchJob.name, GateJob.name),
    EventKind.TASK_BLOCKED: (RunDispatchJob.name, TrackerSyncJob.name),
    EventKind.TASK_CANCELLED: (RunDispatchJob.name, GateJob.name),
    EventKind.TASK_DELETED: (RunDispatchJob.name, GateJob.name),
    EventKind.TASK_IN_REVIEW: (GateJob.name,),
    EventKind.RUN_STARTED: (RunDispatchJob.name,),
    EventKind.RUN_RESUMED: (RunDispatchJob.name,),
    EventKind.RUN_ATTEMPT: (DismissalJob.name,),
    EventKind.RUN_ENDED: (DismissalJob.name, WorktreeTidyJob.name),
    EventKind.MAIL_SENT: (MailSearch.name, PushJob.name),
    EventKind.SESSION_STATUS_CHANGED: (OldStatusJob.name, PushJob.name),
    EventKind.ISSUE_OPENED: (TrackerSyncJob.name,),
    EventKind.ISSUE_CLAIMED: (TrackerSyncJob.name,),
    EventKind.ISSUE_COMMENTED: (TrackerSyncJob.name,),
    EventKind.ISSUE_CLOSED: (TrackerSyncJob.name,),
    EventKind.ISSUE_REOPENED: (TrackerSyncJob.name,),
    EventKind.TASK_RELEASED: (TrackerSyncJob.name,),
    EventKind.TASK_CLAIM_EXPIRED: (TrackerSyncJob.name,),
    EventKind.TASK_EDITED: (TrackerSyncJob.name,),
    EventKind.PROJECT_CHANGED: (TrackerSyncJob.name,),
    EventKind.ASK_OPENED: (NotificationJob.name,),
    EventKind.ASK_ANSWERED: (NotificationJob.name, RecoveryJob.name, AnswerDeliveryJob.name, StorageCheckJob.name),
    EventKind.ASK_WITHDRAWN: (NotificationJob.name, AnswerDeliveryJob.name),
}
# Jobs whose result no caller waits for at once: a burst of events causes one run.
_PACES = dict.fromkeys(
    (
        ClaimExpiryJob.name,
        ProcessWatchJob.name,
        RecoveryJob.name,
        WorktreeTidyJob.name,
        OldStatusJob.name,
        DismissalJob.name,
        PushJob.name,
        ReconcileJob.name,
        MailSearch.name,
        TrackerSyncJob.name,
    ),
    limits.job_pace_seconds,
)


def build_background_jobs(server: Server) -> BackgroundJobs:
    return BackgroundJobs(_build_jobs(server), clock=server.clock, paces=_PACES)


def _build_jobs(server: Server) -> list[BackgroundJob]:
    store, clock, config = server.store, server.clock, server.settings
    return [
        server.lease_job,
        EventRetentionJob(store, events_days=config.events_days),
        MailRetentionJob(store, server.mail_search, days=config.mail_days),
        SpaceReleaseJob(store),
        LogSizeJob(server.home, server.home / SESSIONS_FOLDER, clock=clock),
        StorageCheckJob(store, server.health, clock=clock, check=lambda: check_in_subprocess(server.home)),
        StrayBlobJob(store, server.blobs, clock=clock),
        PresenceJob(store, server.presence, clock=clock),
        LostSessionJob(store, server.presence, clock=clock),
        OldStatusJob(store),
        server.process_watch,
        server.run_dispatch,
        DismissalJob(store, server.session_stopper, clock=clock, grace_seconds=config.run_grace_seconds),
        server.gate_job,
        ReconcileJob(
            store, server.runners, server.launching, server.session_starts, server.restart_findings, clock=clock
        ),
        server.recovery_job,
        WorktreeTidyJob(store, server.worktrees, keeps_merged=config.keep_worktrees),
        TranscriptRetentionJob(store, server.home / SESSIONS_FOLDER, days=config.transcript_days, clock=clock),
        UnreadMailJob(store),
        AnswerDeliveryJob(store, server.runners, clock=clock),
        server.late_hooks,
        server.push_job,
        server.mail_search,
        AlarmJob(store, server.mail_limiter),
        server.tracker_sync,
        NotificationJob(store, desktop=config.notify_desktop, webhook=config.notify_webhook),
    ]
