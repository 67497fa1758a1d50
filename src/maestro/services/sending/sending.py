"""Send mail: to recipients, to a project, as a broadcast, and as a reply."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import msgspec

from maestro.core import errors, limits
from maestro.domain.callers import Caller, Role
from maestro.domain.issues import Issue
from maestro.domain.messages import (
    HUMAN_MAILBOX,
    Message,
    MessageType,
    ReceiptStep,
    SenderKind,
    reply_subject,
)
from maestro.domain.priorities import Priority
from maestro.domain.projects import Project
from maestro.domain.tasks import Task
from maestro.operations import mail_shapes as ops
from maestro.services.access.scope import find_project, find_task
from maestro.services.asks.asks import answer_by_mail, open_ask_from_mail
from maestro.services.issues.comments import NewComment, check_comment, post_comment
from maestro.services.issues.opening import IssueDraft, open_issue
from maestro.services.mail import broadcast_scope, receipts, routing
from maestro.services.mail.contents import EnclosedContents
from maestro.services.mail.create import (
    Draft,
    MailTarget,
    fits_inline,
    inline_body,
    own_mailboxes,
    post_message,
    sender_of,
)
from maestro.services.mail.mailbox_names import mailbox_name
from maestro.services.mail.rate_limit import MailLimiter
from maestro.services.mail.threads import claim_thread_for, find_visible_message
from maestro.services.projects import access
from maestro.services.sending import references
from maestro.store.base import Tx
from maestro.store.content_holds import StoreContent

_QUERY = MessageType.QUERY


class MessageRequest(Protocol):
    """A request with a text and attached files."""

    @property
    def message(self) -> str: ...

    @property
    def attach(self) -> list[ops.MailFile]: ...


def _allow_every_ask(tx: Tx, caller: Caller) -> None:
    """Allow every ask: the default without a quota."""


class MailSending:
    """Operations that send mail."""

    def __init__(
        self, guard: MailLimiter, *, require_ask_quota: Callable[[Tx, Caller], None] = _allow_every_ask
    ) -> None:
        """Store the collaborators. `require_ask_quota` raises an error if the caller has too many open asks."""
        self._guard = guard
        self._require_ask_quota = require_ask_quota

    def needs_files(self, request: MessageRequest) -> bool:
        """Return whether contents must be stored as blobs before the transaction."""
        return bool(request.attach) or not fits_inline(request.message)

    def is_quick(self, request: MessageRequest) -> bool:
        return not self.needs_files(request)

    def store_contents(self, request: MessageRequest, keep: StoreContent) -> EnclosedContents:
        """Store the attachments and a long body as blobs, and return the stored contents."""
        size = sum(len(file.content) for file in request.attach)
        if size > limits.attachments_bytes_max:
            raise errors.TooLarge(
                f"The attachments are too large: at most {limits.attachments_bytes_max // 1024**2} MiB together.",
                hint="Attach fewer or smaller files.",
            )
        files = [(file.file_name, keep(file.content)) for file in request.attach]
        text = request.message
        return EnclosedContents(inline_body(text) if fits_inline(text) else keep(text.encode()), files)

    def quota_bytes(self, request: MessageRequest) -> int:
        """Return the number of bytes that a message with files takes of its project's quota."""
        return sum(len(file.content) for file in request.attach) + len(request.message)

    # Each `check_…` method refuses the requests that its namesake would refuse, as far as a read can show.
    # The checks run first, so that no file is stored for a refused request.

    def check_send(self, tx: Tx, caller: Caller, request: ops.SendMail) -> None:
        addresses = references.require_addresses(request)
        if (found := references.addressed_issue(tx, caller, request, addresses)) is not None:
            check_comment(
                tx,
                caller,
                self._guard,
                *found,
                speaking_project_id=references.named_project_id(tx, caller, request.project),
            )
        else:
            targets = [routing.resolve_address(tx, caller, text, project=request.project) for text in addresses]
            self._check_targets(tx, caller, request, targets)

    def check_post_to_project(self, tx: Tx, caller: Caller, request: ops.PostToProject) -> None:
        owner = find_project(tx, caller, request.project)
        self._check_targets(tx, caller, request, [MailTarget(owner.id, owner.id, name=owner.name)])

    def check_broadcast(self, tx: Tx, caller: Caller, request: ops.BroadcastMail) -> None:
        self._broadcast_targets(tx, caller, request)
        self._guard.check_message(tx, caller, f"broadcast:{request.scope}", name=request.scope)

    def check_reply(self, tx: Tx, caller: Caller, request: ops.ReplyMail) -> None:
        parent = find_visible_message(tx, caller, request.id)
        issue = tx.issues.of_thread(parent.thread_id) if parent.task_id else None
        task = tx.tasks.get(issue.task_id) if issue else None
        if issue is not None and task is not None:
            check_comment(
                tx,
                caller,
                self._guard,
                issue,
                task,
                speaking_project_id=references.named_project_id(tx, caller, request.project),
            )
        else:
            for target in self._reply_targets(tx, caller, parent):
                self._guard.check_message(tx, caller, target.mailbox, name=target.name)

    def _check_targets(self, tx: Tx, caller: Caller, request: ops.WrittenMessage, targets: list[MailTarget]) -> None:
        is_single = len(targets) == 1 and caller.is_session
        if is_single and (projects := references.projects_between(tx, caller, request, targets[0])) is not None:
            access.require_inbound(tx, caller, projects[1], projects[0].id)
        for target in targets:
            access.require_mailbox_access(tx, caller, target.project_id)
            self._guard.check_message(tx, caller, target.mailbox, name=target.name)

    def send_mail(
        self, tx: Tx, caller: Caller, request: ops.SendMail, enclosed: EnclosedContents | None = None
    ) -> ops.SentMail:
        addresses = references.require_addresses(request)
        if (found := references.addressed_issue(tx, caller, request, addresses)) is not None:
            return self._comment_on_issue(tx, caller, request, *found, enclosed)
        targets = [routing.resolve_address(tx, caller, text, project=request.project) for text in addresses]
        if (
            len(targets) == 1
            and (projects := references.projects_between(tx, caller, request, targets[0])) is not None
        ):
            return self._open_issue(tx, caller, request, *projects, enclosed)
        return self._send_to_targets(tx, caller, request, addresses, targets, enclosed)

    def post_to_project(
        self, tx: Tx, caller: Caller, request: ops.PostToProject, enclosed: EnclosedContents | None = None
    ) -> ops.SentMail:
        owner = find_project(tx, caller, request.project)
        target = MailTarget(owner.id, owner.id, name=owner.name)
        if caller.is_session and (projects := references.projects_between(tx, caller, request, target)) is not None:
            return self._open_issue(tx, caller, request, *projects, enclosed)
        return self._send_to_targets(tx, caller, request, [f"project:{owner.name}"], [target], enclosed)

    def send_broadcast(
        self, tx: Tx, caller: Caller, request: ops.BroadcastMail, enclosed: EnclosedContents | None = None
    ) -> ops.SentMail:
        """Send a message to all sessions of a scope, in a single transaction."""
        targets = self._broadcast_targets(tx, caller, request)
        self._guard.count_message(tx, caller, f"broadcast:{request.scope}", name=request.scope)
        contents = enclosed or EnclosedContents(inline_body(request.message))
        task = find_task(tx, caller, request.task, project=request.project) if request.task else None
        draft = self._make_draft(tx, caller, request, [request.scope.value], targets, contents, task)
        draft = msgspec.structs.replace(draft, scope=request.scope)
        return receipts.new_message_answer(tx, draft, post_message(tx, draft))

    def _broadcast_targets(self, tx: Tx, caller: Caller, request: ops.BroadcastMail) -> list[MailTarget]:
        owner = find_project(tx, caller, request.project)
        found = broadcast_scope.sessions_in_scope(tx, caller, request.scope, owner)
        if not found:
            raise errors.NotFound(
                f"The scope {request.scope} reaches no active session.",
                hint="List the sessions: maestro session list --active",
            )
        return [MailTarget(session_id, owner.id, name=name) for session_id, name in found]

    def send_reply(
        self, tx: Tx, caller: Caller, request: ops.ReplyMail, enclosed: EnclosedContents | None = None
    ) -> ops.SentMail:
        """Send a reply in the thread of a message, and acknowledge the message."""
        parent = find_visible_message(tx, caller, request.id)
        issue = tx.issues.of_thread(parent.thread_id) if parent.task_id else None
        task = tx.tasks.get(issue.task_id) if issue else None
        if issue is not None and task is not None:
            return self._comment_on_issue(tx, caller, request, issue, task, enclosed, parent=parent)
        last = tx.mail.last_of_thread(parent.thread_id) if parent.hops else parent
        hops = self._guard.count_hops(caller, last or parent, at=tx.at)
        targets = self._reply_targets(tx, caller, parent)
        for target in targets:
            self._guard.count_message(tx, caller, target.mailbox, name=target.name)
        contents = enclosed or EnclosedContents(inline_body(request.message))
        draft = Draft(
            sender=sender_of(tx, caller),
            project_id=caller.project_id
            or tx.mail.get_head(parent.seq).project_id,  # the person has none: use the thread's
            to=[target.name for target in targets],
            targets=targets,
            type=request.type,
            priority=request.priority or parent.priority,
            subject=request.subject or reply_subject(parent.subject),
            body=contents.body,
            preview=request.message[: limits.inbox_body_chars_max],
            task_id=parent.task_id,
            parent=parent,
            hops=hops,
            attachments=contents.files,
        )
        if _asks_person(caller, draft):
            self._require_ask_quota(tx, caller)
        posted = post_message(tx, draft)
        for mailbox in own_mailboxes(caller):
            receipts.record_step(tx, caller, ReceiptStep.ACKNOWLEDGED, mailbox, parent.seq, via="reply")
            if mailbox == caller.project_id and tx.deliveries.get(mailbox, parent.seq):
                claim_thread_for(tx, caller, parent.thread_id, ignore_conflict=True)
        if caller.role is Role.PERSON:  # a reply to an ask is the answer
            answer_by_mail(tx, caller, parent.id, request.message)
        self._open_ask(tx, caller, draft, posted)
        return receipts.new_message_answer(tx, draft, posted)

    def _open_issue(
        self,
        tx: Tx,
        caller: Caller,
        request: ops.WrittenMessage,
        sender: Project,
        receiver: Project,
        enclosed: EnclosedContents | None,
    ) -> ops.SentMail:
        """Open an issue in the receiving project: the effect of mail to another project that names no issue."""
        contents = enclosed or EnclosedContents(inline_body(request.message))
        issue_draft = IssueDraft(
            receiver=receiver,
            sender=sender,
            title=request.subject.strip(),
            text=request.message[: limits.description_chars_max],
            body=contents.body,
            files=contents.files,
            priority=request.priority,
            type=request.type or _default_type(caller),
            found_in=find_task(tx, caller, request.task, project=sender.id) if request.task else None,
        )
        stored_issue = open_issue(tx, caller, self._guard, issue_draft)
        sent = receipts.new_message_answer(tx, stored_issue.draft, stored_issue.message)
        return msgspec.structs.replace(sent, issue=stored_issue.task.ref)

    def _comment_on_issue(
        self,
        tx: Tx,
        caller: Caller,
        request: ops.WrittenMessage | ops.ReplyMail,
        issue: Issue,
        task: Task,
        enclosed: EnclosedContents | None,
        *,
        parent: Message | None = None,
    ) -> ops.SentMail:
        """Send mail in an issue's thread as a comment; `parent` is the message that a reply answers."""
        contents = enclosed or EnclosedContents(inline_body(request.message))
        new_comment = NewComment(
            text=request.message,
            body=contents.body,
            files=contents.files,
            type=request.type or _default_type(caller),
            subject=(request.subject or "").strip() or (reply_subject(parent.subject) if parent else ""),
            priority=request.priority or (parent.priority if parent else Priority.NORMAL),
            parent=parent,
        )
        speaking_project_id = references.named_project_id(tx, caller, request.project)
        return post_comment(
            tx, caller, self._guard, issue, task, new_comment, speaking_project_id=speaking_project_id
        )

    def _reply_targets(self, tx: Tx, caller: Caller, parent: Message) -> list[MailTarget]:
        """Return the sender's mailbox, or the recipients' mailboxes if the caller replies to its own message."""
        if parent.sender.id == caller.name and parent.sender.kind is not SenderKind.MAESTRO:
            mailboxes = [delivery.mailbox for delivery in tx.deliveries.of_message(parent.seq)]
            return [self._mailbox_target(tx, mailbox) for mailbox in mailboxes[: limits.recipients_max]]
        match parent.sender.kind:
            case SenderKind.SESSION:
                return [routing.route_to_session(tx, parent.sender.id)]
            case SenderKind.PERSON:
                return [routing.PERSON_TARGET]
            case SenderKind.MAESTRO | SenderKind.TRACKER:
                raise errors.Invalid(
                    f"Message {parent.id} came from {parent.sender.name}, which reads no replies.",
                    hint="Write to the session or project that the message names: maestro mail send NAME …",
                )

    def _mailbox_target(self, tx: Tx, mailbox: str) -> MailTarget:
        if mailbox == HUMAN_MAILBOX:
            return routing.PERSON_TARGET
        if mailbox.startswith("ses_"):
            return routing.route_to_session(tx, mailbox)
        return MailTarget(mailbox, mailbox if mailbox.startswith("prj_") else None, name=mailbox_name(tx, mailbox))

    def _send_to_targets(
        self,
        tx: Tx,
        caller: Caller,
        request: ops.WrittenMessage,
        addresses: list[str],
        targets: list[MailTarget],
        enclosed: EnclosedContents | None,
    ) -> ops.SentMail:
        for target in targets:
            access.require_mailbox_access(tx, caller, target.project_id)
            self._guard.count_message(tx, caller, target.mailbox, name=target.name)
        task = references.task_of_message(tx, caller, request, addresses)
        draft = self._make_draft(
            tx, caller, request, addresses, targets, enclosed or EnclosedContents(inline_body(request.message)), task
        )
        if _asks_person(caller, draft):
            self._require_ask_quota(tx, caller)
        posted = post_message(tx, draft)
        self._open_ask(tx, caller, draft, posted)
        return receipts.new_message_answer(tx, draft, posted)

    def _make_draft(
        self,
        tx: Tx,
        caller: Caller,
        request: ops.WrittenMessage,
        addresses: list[str],
        targets: list[MailTarget],
        enclosed: EnclosedContents,
        task: Task | None,
    ) -> Draft:
        return Draft(
            sender=sender_of(tx, caller),
            project_id=caller.project_id or references.named_project_id(tx, caller, request.project),
            to=addresses,
            targets=targets,
            type=request.type or _default_type(caller),
            priority=request.priority,
            subject=request.subject.strip(),
            body=enclosed.body,
            preview=request.message[: limits.inbox_body_chars_max],
            task_id=task.id if task else None,
            thread_id=tx.mail.thread_of_task(task.id) if task and references.is_task_address(addresses) else None,
            attachments=enclosed.files,
        )

    def _open_ask(self, tx: Tx, caller: Caller, draft: Draft, message: Message) -> None:
        """Open an ask if a session sends a query to the person, because a query needs an answer."""
        if _asks_person(caller, draft):
            open_ask_from_mail(
                tx, caller, title=message.subject, text=message.body, message_id=message.id, task_id=message.task_id
            )


def _asks_person(caller: Caller, draft: Draft) -> bool:
    return (
        draft.type is _QUERY
        and caller.is_session
        and any(target.mailbox == HUMAN_MAILBOX for target in draft.targets)
    )


def _default_type(caller: Caller) -> MessageType:
    return MessageType.STATUS_UPDATE if caller.role is Role.WORKER else MessageType.DIRECTIVE
