"""Mail: send, read, search, confirm and wait for messages."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from maestro.domain.callers import Caller
from maestro.domain.events import EventKind
from maestro.operations import mail as mail_ops
from maestro.server.base import ServerBase
from maestro.server.dispatch import Binding, is_always_quick
from maestro.server.part import Part, PartJob
from maestro.server.parts.identity import IdentityPart
from maestro.server.parts.projects import ProjectPart
from maestro.server.parts.quotas import QuotaPart
from maestro.services.issues import moves as issue_moves
from maestro.services.mail import receipts
from maestro.services.mail.rate_limit import MailLimiter
from maestro.services.mail.reading import MailReading
from maestro.services.mail.receipts import ReceiptWaits
from maestro.services.mail.search import MailSearch
from maestro.services.mail.waits import MailWaits
from maestro.services.sending.sending import MailSending
from maestro.store.base import Tx


class MailPart(Part, frozen=True, kw_only=True):
    """The services for mail."""

    limiter: MailLimiter
    sending: MailSending
    reading: MailReading
    receipt_waits: ReceiptWaits
    search: MailSearch


def build_mail(base: ServerBase, identity: IdentityPart, quotas: QuotaPart, projects: ProjectPart) -> MailPart:
    limiter = MailLimiter(
        quotas.families,
        per_minute=base.settings.mail_per_minute,
        per_minute_of_family=base.settings.family_mail_per_minute,
        per_minute_of_project=base.settings.project_mail_per_minute,
    )
    sending = MailSending(limiter, require_ask_quota=quotas.quotas.count_ask)
    reading = MailReading(base.store, base.blobs)
    receipt_waits = ReceiptWaits(base.store, base.hub)
    waits = MailWaits(base.store, base.hub, identity.presence)
    search = MailSearch(base.store, base.blobs, clock=base.clock)
    return MailPart(
        limiter=limiter,
        sending=sending,
        reading=reading,
        receipt_waits=receipt_waits,
        search=search,
        bindings={
            **_sending_bindings(sending, receipt_waits, projects),
            **_reading_bindings(reading),
            **_receipt_bindings(),
            mail_ops.WAIT.name: Binding(waits.wait_for_mail),
            mail_ops.SEARCH.name: Binding(search.search_mail),
        },
        jobs=(PartJob(search, runs_after=(EventKind.MAIL_SENT,), is_paced=True),),
    )


def bind_sending(
    sending: MailSending,
    carry_out: Callable[..., Any],
    check_upload: Callable[[Tx, Caller, Any], None],
    **options: Any,
) -> Binding:
    """Return the binding of an operation that sends mail: long texts and attachments are stored before the write."""
    return Binding(
        carry_out,
        check_upload=check_upload,
        prepare_contents=sending.store_contents,
        count_bytes=sending.quota_bytes,
        needs_preparation=sending.needs_files,
        **options,
    )


def _sending_bindings(sending: MailSending, receipt_waits: ReceiptWaits, projects: ProjectPart) -> dict[str, Binding]:
    return {
        mail_ops.SEND.name: bind_sending(
            sending,
            sending.send_mail,
            sending.check_send,
            before_write=projects.request_names.make_names_known,
            after_commit=receipt_waits.wait_for_receipts,
            is_quick=sending.is_quick,
        ),
        mail_ops.POST_TO_PROJECT.name: bind_sending(
            sending, sending.post_to_project, sending.check_post_to_project, is_quick=sending.is_quick
        ),
        mail_ops.BROADCAST.name: bind_sending(sending, sending.send_broadcast, sending.check_broadcast),
        mail_ops.REPLY.name: bind_sending(
            sending,
            sending.send_reply,
            sending.check_reply,
            after_commit=receipt_waits.wait_for_receipts,
            is_quick=sending.is_quick,
        ),
    }


def _reading_bindings(reading: MailReading) -> dict[str, Binding]:
    return {
        mail_ops.INBOX.name: Binding(reading.read_inbox),
        mail_ops.SHOW.name: Binding(reading.show_message),
        mail_ops.THREAD.name: Binding(reading.show_thread),
        mail_ops.SENT.name: Binding(reading.list_sent_mail),
        mail_ops.ATTACHMENT.name: Binding(reading.read_attachment),
        mail_ops.PROJECT_INBOX.name: Binding(reading.read_project_inbox),
        mail_ops.OF_TASK.name: Binding(reading.list_task_mail),
    }


def _receipt_bindings() -> dict[str, Binding]:
    return {
        mail_ops.CLAIM.name: Binding(issue_moves.claim_thread_or_issue, is_quick=is_always_quick),
        mail_ops.RELEASE.name: Binding(issue_moves.release_thread_or_issue, is_quick=is_always_quick),
        mail_ops.ACK.name: Binding(receipts.acknowledge_messages, is_quick=is_always_quick),
        mail_ops.STATUS.name: Binding(receipts.show_status),
        mail_ops.CONFIRM.name: Binding(receipts.confirm, is_quick=is_always_quick),
    }
