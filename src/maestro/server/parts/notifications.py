"""Notifications: call the person to an agent, on the desktop and over a webhook."""

from __future__ import annotations

from maestro.domain.events import EventKind
from maestro.operations import notifications as ops
from maestro.server.base import ServerBase
from maestro.server.dispatch import Binding
from maestro.server.part import Part, PartJob
from maestro.services.notifications.channels import DesktopChannel, NotificationChannel, WebhookChannel
from maestro.services.notifications.job import NotificationJob, list_notifications

_QUEUEING_EVENTS = (
    EventKind.ASK_OPENED,
    EventKind.ASK_ANSWERED,
    EventKind.ASK_WITHDRAWN,
    EventKind.SESSION_LOST,
    EventKind.SESSION_ENDED,
    EventKind.SESSION_REPORTED,
    EventKind.SESSION_STATUS_CHANGED,
    EventKind.TASK_REPORTED,
)


def build_notifications(base: ServerBase) -> Part:
    settings = base.settings
    channels: list[NotificationChannel] = [DesktopChannel()] if settings.notify_desktop else []
    if settings.notify_webhook:
        channels.append(WebhookChannel(settings.notify_webhook))
    job = NotificationJob(base.store, channels, with_content=settings.notify_content)
    return Part(
        bindings={ops.TEST.name: Binding(job.send_test), ops.LIST.name: Binding(list_notifications)},
        jobs=(PartJob(job, runs_after=_QUEUEING_EVENTS, is_paced=True),),
    )
