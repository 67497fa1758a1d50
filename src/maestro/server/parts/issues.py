"""Issues: tasks that another project opened."""

from __future__ import annotations

from maestro.operations import issues as issue_ops
from maestro.server.dispatch import Binding, is_always_quick
from maestro.server.part import Part
from maestro.server.parts.mail import MailPart, bind_sending
from maestro.server.parts.projects import ProjectPart
from maestro.services.issues import moves, views
from maestro.services.issues.operations import IssueOperations, needs_no_cycle_check
from maestro.services.issues.views import IssueViews


def build_issues(mail: MailPart, projects: ProjectPart) -> Part:
    operations, sending = IssueOperations(mail.limiter), mail.sending
    return Part(
        bindings={
            issue_ops.OPEN.name: bind_sending(
                sending,
                operations.open_issue,
                operations.check_open,
                before_write=projects.request_names.make_names_known,
                is_quick=lambda request: sending.is_quick(request) and needs_no_cycle_check(request),
            ),
            issue_ops.LIST.name: Binding(views.list_issues),
            issue_ops.SHOW.name: Binding(IssueViews(mail.reading).show_issue),
            issue_ops.REPLY.name: bind_sending(
                sending,
                operations.reply_to_issue,
                operations.check_reply,
                after_commit=mail.receipt_waits.wait_for_receipts,
            ),
            issue_ops.CLAIM.name: Binding(moves.claim_issue, is_quick=is_always_quick),
            issue_ops.CLOSE.name: Binding(moves.close_issue),
            issue_ops.REOPEN.name: Binding(moves.reopen_issue),
        }
    )
