"""Housekeeping: remove old events, mail, transcripts and log lines; tell the person about stopped mail."""

from __future__ import annotations

from functools import partial

from maestro.server.base import ServerBase
from maestro.server.part import Part, PartJob
from maestro.server.parts.mail import MailPart
from maestro.services.housekeeping.log_sizes import LogSizeJob
from maestro.services.housekeeping.mail_retention import MailRetentionJob
from maestro.services.housekeeping.old_transcripts import TranscriptRetentionJob
from maestro.services.housekeeping.rate_alarms import AlarmJob
from maestro.services.housekeeping.retention import EventRetentionJob
from maestro.wire import runner_folder


def build_housekeeping(base: ServerBase, mail: MailPart) -> Part:
    store, clock, settings = base.store, base.clock, base.settings
    session_folders = base.home / runner_folder.SESSIONS
    mail.limiter.on_alarm = partial(base.background_jobs.nudge_job_from_thread, AlarmJob.name)
    return Part(
        jobs=(
            PartJob(EventRetentionJob(store, events_days=settings.events_days)),
            PartJob(MailRetentionJob(store, mail.search, days=settings.mail_days)),
            PartJob(LogSizeJob(base.home, session_folders, clock=clock)),
            PartJob(TranscriptRetentionJob(store, session_folders, days=settings.transcript_days, clock=clock)),
            PartJob(AlarmJob(store, mail.limiter)),
        )
    )
