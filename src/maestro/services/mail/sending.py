"""Writing messages: to someone, to many, in answer to one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

import msgspec

from maestro.core import errors, limits
from maestro.domain.callers import Caller, Role
from maestro.domain.documents import Content
from maestro.domain.issues import Issue
from maestro.domain.messages import (
    HUMAN,
    Message,
    SenderKind,
    Step,
    Type,
    reply_subject,
)
from maestro.domain.projects import Project
from maestro.domain.tasks import Priority, Task
from maestro.operations import mail_shapes as ops
from maestro.services.asks import answered_by_mail, open_from_mail
from maestro.services.issues.conversation import Comment, check_comment, comment
from maestro.services.issues.opening import Opening, begin
from maestro.services.mail import audience, receipts, routing
from maestro.services.mail.guard import Guard
from maestro.services.mail.labels import label
from maestro.services.mail.post import Draft, Posted, Target, is_small, own_boxes, post, sender_of, small
from maestro.services.mail.threads import claim_for, message_of
from maestro.services.projects import access
from maestro.services.scope import project_of, task_of
from maestro.store.base import Tx
from maestro.store.holds import Keep

_QUERY = Type.QUERY


class Enclosed(msgspec.Struct, frozen=True):
    """Contents that were put on the disk before the transaction began."""

    body: Content
    files: Sequence[tuple[str, Content]] = ()


class Written(Protocol):
    """A request that carries a text and files."""

    @property
    def message(self) -> str: ...

    @property
    def attach(self) -> list[ops.File]: ...


def _anyone(tx: Tx, caller: Caller) -> None:
    """Refuse nobody."""


class Sending:
    """Every way to write a message."""

    def __init__(self, guard: Guard, *, may_ask: Callable[[Tx, Caller], None] = _anyone) -> None:
        """`may_ask` refuses a question to the person that goes beyond a quota."""
        self._guard = guard
        self._may_ask = may_ask

    def needs_files(self, request: Written) -> bool:
        """Whether something must be on the disk before the row that names it."""
        return bool(request.attach) or not is_small(request.message)

    def is_quick(self, request: Written) -> bool:
        return not self.needs_files(request)

    def prepare(self, request: Written, keep: Keep) -> Enclosed:
        size = sum(len(file.content) for file in request.attach)
        if size > limits.attachments_bytes_max:
            raise errors.TooLarge(f"Attachments have at most {limits.attachments_bytes_max // 1024**2} MiB together.")
        files = [(file.file_name, keep(file.content)) for file in request.attach]
        text = request.message
        return Enclosed(small(text) if is_small(text) else keep(text.encode()), files)

    def weigh(self, request: Written) -> int:
        """Return how many bytes a message with files takes of its project's quota."""
        return sum(len(file.content) for file in request.attach) + len(request.message)

    # Each `check` refuses what its namesake would refuse, as far as a look can tell: no file is stored for it then.

    def check_send(self, tx: Tx, caller: Caller, request: ops.SendMail) -> None:
        written = _addresses(request)
        if len(written) == 1 and (found := _issue(tx, caller, request, written)) is not None:
            check_comment(tx, caller, self._guard, *found, here=_project_id(tx, caller, request.project))
        else:
            targets = [routing.resolve(tx, caller, text, project=request.project) for text in written]
            self._check(tx, caller, request, targets)

    def check_post_to_project(self, tx: Tx, caller: Caller, request: ops.PostToProject) -> None:
        owner = project_of(tx, caller, request.project)
        self._check(tx, caller, request, [Target(owner.id, owner.id, name=owner.name)])

    def check_broadcast(self, tx: Tx, caller: Caller, request: ops.Broadcast) -> None:
        self._audience(tx, caller, request)
        self._guard.check(tx, caller, f"broadcast:{request.scope}", name=request.scope)

    def check_reply(self, tx: Tx, caller: Caller, request: ops.Reply) -> None:
        parent = message_of(tx, caller, request.id)
        issue = tx.issues.of_thread(parent.thread_id) if parent.task_id else None
        task = tx.tasks.get(issue.task_id) if issue else None
        if issue is not None and task is not None:
            here = _project_id(tx, caller, request.project)
            check_comment(tx, caller, self._guard, issue, task, here=here)
        else:
            for target in self._answered(tx, caller, parent):
                self._guard.check(tx, caller, target.box, name=target.name)

    def _check(self, tx: Tx, caller: Caller, request: ops.Letter, targets: list[Target]) -> None:
        between = _between(tx, caller, request, targets[0]) if len(targets) == 1 and caller.is_session else None
        if between is not None:
            access.require(tx, caller, between[1], between[0].id)
        for target in targets:
            access.require_box(tx, caller, target.project_id)
            self._guard.check(tx, caller, target.box, name=target.name)

    def send(self, tx: Tx, caller: Caller, request: ops.SendMail, enclosed: Enclosed | None = None) -> ops.SentMail:
        written = _addresses(request)
        if len(written) == 1 and (found := _issue(tx, caller, request, written)) is not None:
            return self._comment(tx, caller, request, *found, enclosed)
        targets = [routing.resolve(tx, caller, text, project=request.project) for text in written]
        if len(targets) == 1 and (between := _between(tx, caller, request, targets[0])) is not None:
            return self._open(tx, caller, request, *between, enclosed)
        return self._send(tx, caller, request, written, targets, enclosed)

    def post_to_project(
        self, tx: Tx, caller: Caller, request: ops.PostToProject, enclosed: Enclosed | None = None
    ) -> ops.SentMail:
        owner = project_of(tx, caller, request.project)
        target = Target(owner.id, owner.id, name=owner.name)
        if caller.is_session and (between := _between(tx, caller, request, target)) is not None:
            return self._open(tx, caller, request, *between, enclosed)
        return self._send(tx, caller, request, [f"project:{owner.name}"], [target], enclosed)

    def broadcast(
        self, tx: Tx, caller: Caller, request: ops.Broadcast, enclosed: Enclosed | None = None
    ) -> ops.SentMail:
        """One message for many sessions, in one transaction."""
        targets = self._audience(tx, caller, request)
        self._guard.count(tx, caller, f"broadcast:{request.scope}", name=request.scope)
        body = enclosed or Enclosed(small(request.message))
        task = task_of(tx, caller, request.task, project=request.project) if request.task else None
        draft = self._draft(tx, caller, request, [request.scope.value], targets, body, task)
        draft = msgspec.structs.replace(draft, scope=request.scope)
        return receipts.just_sent(tx, draft, post(tx, draft))

    def _audience(self, tx: Tx, caller: Caller, request: ops.Broadcast) -> list[Target]:
        owner = project_of(tx, caller, request.project)
        found = audience.of(tx, caller, request.scope, owner)
        if not found:
            raise errors.NotFound(f"Nobody is in reach of {request.scope}.", hint="maestro session list --active")
        return [Target(session_id, owner.id, name=name) for session_id, name in found]

    def reply(self, tx: Tx, caller: Caller, request: ops.Reply, enclosed: Enclosed | None = None) -> ops.SentMail:
        """An answer in the same conversation: it acknowledges what it answers."""
        parent = message_of(tx, caller, request.id)
        issue = tx.issues.of_thread(parent.thread_id) if parent.task_id else None
        task = tx.tasks.get(issue.task_id) if issue else None
        if issue is not None and task is not None:
            return self._comment(tx, caller, request, issue, task, enclosed, parent=parent)
        last = tx.mail.last_of_thread(parent.thread_id) if parent.hops else parent
        hops = self._guard.hop(caller, last or parent, at=tx.at)
        targets = self._answered(tx, caller, parent)
        for target in targets:
            self._guard.count(tx, caller, target.box, name=target.name)
        body = enclosed or Enclosed(small(request.message))
        draft = Draft(
            sender=sender_of(tx, caller),
            project_id=caller.project_id or tx.mail.head(parent.seq)[2],  # the conversation's, wherever one stands
            to=[target.name for target in targets],
            targets=targets,
            type=request.type,
            priority=request.priority or parent.priority,
            subject=request.subject or reply_subject(parent.subject),
            body=body.body,
            preview=request.message[: limits.inbox_body_chars_max],
            task_id=parent.task_id,
            parent=parent,
            hops=hops,
            attachments=body.files,
        )
        if _asks_the_person(caller, draft):
            self._may_ask(tx, caller)
        made = post(tx, draft)
        for box in own_boxes(caller):
            receipts.take(tx, caller, Step.ACKNOWLEDGED, box, parent.seq, via="reply")
            if box == caller.project_id and tx.deliveries.get(box, parent.seq):
                claim_for(tx, caller, parent.thread_id, quietly=True)
        self._answer_ask(tx, caller, parent, request)
        self._ask(tx, caller, draft, made)
        return receipts.just_sent(tx, draft, made)

    def _open(
        self,
        tx: Tx,
        caller: Caller,
        request: ops.Letter,
        sender: Project,
        receiver: Project,
        enclosed: Enclosed | None,
    ) -> ops.SentMail:
        """Mail to another project that names no issue opens one there."""
        body = enclosed or Enclosed(small(request.message))
        opening = Opening(
            receiver=receiver,
            sender=sender,
            title=request.subject.strip(),
            text=request.message[: limits.description_chars_max],
            body=body.body,
            files=body.files,
            priority=request.priority,
            type=request.type or _usual_type(caller),
            found_in=task_of(tx, caller, request.task, project=sender.id) if request.task else None,
        )
        opened = begin(tx, caller, self._guard, opening)
        sent = receipts.just_sent(tx, opened.draft, opened.posted)
        return msgspec.structs.replace(sent, issue=opened.task.ref)

    def _comment(
        self,
        tx: Tx,
        caller: Caller,
        request: ops.Letter | ops.Reply,
        issue: Issue,
        task: Task,
        enclosed: Enclosed | None,
        *,
        parent: Message | None = None,
    ) -> ops.SentMail:
        """Mail in an issue's conversation, also in answer to a message of it."""
        body = enclosed or Enclosed(small(request.message))
        said = Comment(
            text=request.message,
            body=body.body,
            files=body.files,
            type=request.type or _usual_type(caller),
            subject=(request.subject or "").strip() or (reply_subject(parent.subject) if parent else ""),
            priority=request.priority or (parent.priority if parent else Priority.NORMAL),
            parent=parent,
        )
        here = _project_id(tx, caller, request.project)
        return comment(tx, caller, self._guard, issue, task, said, here=here)

    def _answer_ask(self, tx: Tx, caller: Caller, parent: Message, request: ops.Reply) -> None:
        """The person's reply to a question is its answer."""
        if caller.role is Role.PERSON:
            answered_by_mail(tx, caller, parent.id, request.message)

    def _answered(self, tx: Tx, caller: Caller, parent: Message) -> list[Target]:
        """Whoever wrote it; one's own message goes on to those it was for."""
        if parent.sender.id == caller.name and parent.sender.kind is not SenderKind.MAESTRO:
            boxes = [delivery.box for delivery in tx.deliveries.of_message(parent.seq)]
            return [self._box(tx, box) for box in boxes[: limits.recipients_max]]
        match parent.sender.kind:
            case SenderKind.SESSION:
                return [routing.to_session(tx, parent.sender.id)]
            case SenderKind.PERSON:
                return [routing.PERSON]
            case SenderKind.MAESTRO | SenderKind.TRACKER:
                raise errors.Invalid(
                    "The server itself wrote this: nobody would read an answer.",
                    hint="Write to whom it is about: maestro mail send NAME …",
                )

    def _box(self, tx: Tx, box: str) -> Target:
        if box == HUMAN:
            return routing.PERSON
        if box.startswith("ses_"):
            return routing.to_session(tx, box)
        return Target(box, box if box.startswith("prj_") else None, name=label(tx, box))

    def _send(
        self,
        tx: Tx,
        caller: Caller,
        request: ops.Letter,
        written: list[str],
        targets: list[Target],
        enclosed: Enclosed | None,
    ) -> ops.SentMail:
        for target in targets:
            access.require_box(tx, caller, target.project_id)
            self._guard.count(tx, caller, target.box, name=target.name)
        task = _task(tx, caller, request, written)
        draft = self._draft(tx, caller, request, written, targets, enclosed or Enclosed(small(request.message)), task)
        if _asks_the_person(caller, draft):
            self._may_ask(tx, caller)
        made = post(tx, draft)
        self._ask(tx, caller, draft, made)
        return receipts.just_sent(tx, draft, made)

    def _draft(
        self,
        tx: Tx,
        caller: Caller,
        request: ops.Letter,
        written: list[str],
        targets: list[Target],
        enclosed: Enclosed,
        task: Task | None,
    ) -> Draft:
        return Draft(
            sender=sender_of(tx, caller),
            project_id=caller.project_id or _project_id(tx, caller, request.project),
            to=written,
            targets=targets,
            type=request.type or _usual_type(caller),
            priority=request.priority,
            subject=request.subject.strip(),
            body=enclosed.body,
            preview=request.message[: limits.inbox_body_chars_max],
            task_id=task.id if task else None,
            thread_id=tx.mail.thread_of_task(task.id) if task and _is_task_address(written) else None,
            attachments=enclosed.files,
        )

    def _ask(self, tx: Tx, caller: Caller, draft: Draft, made: Posted) -> None:
        """A question to the person is something that needs an answer, not just mail."""
        if _asks_the_person(caller, draft):
            text = draft.body.body.decode() if draft.body.body is not None else draft.preview
            open_from_mail(tx, caller, title=draft.subject, text=text, message_id=made.id, task_id=draft.task_id)


def _asks_the_person(caller: Caller, draft: Draft) -> bool:
    return draft.type is _QUERY and caller.is_session and any(target.box == HUMAN for target in draft.targets)


def _addresses(request: ops.SendMail) -> list[str]:
    written = [*request.to, *(f"member:{name}" for name in request.to_member)]
    if request.to_coordinator:
        written.append("coordinator")
    if not written:
        raise errors.Invalid("Nobody was named to send it to.", hint="Say who: maestro mail send NAME …")
    return written


def _usual_type(caller: Caller) -> Type:
    return Type.STATUS_UPDATE if caller.role is Role.WORKER else Type.DIRECTIVE


def _is_task_address(written: list[str]) -> bool:
    return len(written) == 1 and ("#" in written[0] or written[0].startswith(("tsk_", "task:")))


def _task(tx: Tx, caller: Caller, request: ops.Letter, written: list[str]) -> Task | None:
    """The task a message is about: the one named, or the one it is sent to."""
    if request.task:
        return task_of(tx, caller, request.task, project=request.project)
    if _is_task_address(written):
        return task_of(tx, caller, written[0].removeprefix("task:"), project=request.project)
    return None


def _issue(tx: Tx, caller: Caller, request: ops.Letter, written: list[str]) -> tuple[Issue, Task] | None:
    """The issue that mail is written to, by its number or as what it is about."""
    task = _task(tx, caller, request, written) if request.task or _is_task_address(written) else None
    if task is None or task.from_project_id is None or not _is_about(written[0], task):
        return None
    issue = tx.issues.of_task(task.id)
    return (issue, task) if issue else None


def _is_about(text: str, task: Task) -> bool:
    """Whether an address is the task itself or its project."""
    name = text.removeprefix("project:").lower()
    return _is_task_address([text]) or name in (task.project_id, task.ref.rpartition("#")[0])


def _between(tx: Tx, caller: Caller, request: ops.Letter, target: Target) -> tuple[Project, Project] | None:
    """Two projects, if mail goes from one to the box of another and is about nothing of that one."""
    sender_id = caller.project_id or _project_id(tx, caller, request.project)
    if sender_id is None or target.box != target.project_id or target.box == sender_id:
        return None
    if request.task and task_of(tx, caller, request.task, project=request.project).project_id == target.box:
        return None
    sender, receiver = tx.projects.get(sender_id), tx.projects.get(target.box)
    return (sender, receiver) if sender and receiver else None


def _project_id(tx: Tx, caller: Caller, project: str) -> str | None:
    return project_of(tx, caller, project).id if project else None
