"""Show issues: lists of received and opened issues, and a single issue with its thread."""

from __future__ import annotations

import msgspec

from maestro.core import ids, limits
from maestro.domain.callers import Caller
from maestro.domain.issues import Issue
from maestro.domain.messages import Message
from maestro.domain.tasks import Task
from maestro.domain.visibility import may_read_task, redact_task
from maestro.operations import issues as ops
from maestro.services import cursors
from maestro.services.access.scope import find_project, find_task
from maestro.services.issues.moves import issue_of_task
from maestro.services.mail import receipts
from maestro.services.mail.reading import MailReading
from maestro.services.task_links import task_links
from maestro.store.base import Tx


def list_issues(tx: Tx, caller: Caller, request: ops.ListIssues) -> ops.IssueList:
    """Return a page of the issues that a project received, or opened in other projects."""
    project = find_project(tx, caller, request.project)
    closed = None if request.status is ops.IssueFilter.ALL else request.status is ops.IssueFilter.CLOSED
    limit_with_next = request.limit + 1
    if request.opened:
        after = request.cursor if ids.is_id(request.cursor, "tsk") else ""
        found = tx.issues.list_opened(project.id, after=after, limit=limit_with_next, closed=closed)
    else:
        found = tx.issues.list_received(
            project.id, after=cursors.parse_cursor(request.cursor), limit=limit_with_next, closed=closed
        )
    shown, has_more = found[: request.limit], len(found) > request.limit
    names = _IssueNames(tx)
    next_cursor = (shown[-1].id if request.opened else str(shown[-1].number)) if has_more else None
    lines = [_issue_line(tx, redact_task(caller, task), names) for task in shown]
    return ops.IssueList(issues=lines, cursor=next_cursor)


class IssueViews:
    """The operation that shows an issue with its thread. The answer's receipt marks the messages as read."""

    def __init__(self, reading: MailReading) -> None:
        self._reading = reading

    def show_issue(self, tx: Tx, caller: Caller, request: ops.OneIssue) -> ops.IssueDetail:
        task = find_task(tx, caller, request.id, project=request.project)
        issue = issue_of_task(tx, task)
        thread = self._reading.read_thread(tx, caller, issue.thread_id)
        links_max = limits.page_items_default
        origin = tx.tasks.get(task.found_in) if task.found_in else None
        return ops.IssueDetail(
            **msgspec.structs.asdict(_issue_line(tx, redact_task(caller, task), _IssueNames(tx))),
            thread_id=issue.thread_id,
            origin=task_links([origin])[0] if origin else None,
            dependants=task_links(tx.tasks.list_dependants(task.id, limit=links_max)),
            documents=tx.documents.of_task(task.id, limit=links_max) if may_read_task(caller, task) else [],
            comments=[_comment_view(tx, message) for message in thread.messages],
            truncated=thread.truncated,
            receipt=thread.receipt,
        )


def last_message_of_others(tx: Tx, caller: Caller, issue: Issue) -> Message | None:
    """Return the last message of the thread by another sender: the message that a reply answers."""
    found = tx.mail.of_thread(issue.thread_id, after=0, limit=limits.thread_messages_shown_max)
    return next((message for message in reversed(found) if message.sender.id != caller.name), None)


class _IssueNames:
    """A cache of the names of projects and sessions."""

    def __init__(self, tx: Tx) -> None:
        self._tx = tx
        self._name_by_id: dict[str, str] = {}

    def name_of(self, id_or_name: str) -> str:
        if id_or_name not in self._name_by_id:
            self._name_by_id[id_or_name] = self._find_name(id_or_name)
        return self._name_by_id[id_or_name]

    def _find_name(self, name: str) -> str:
        if name.startswith("prj_"):
            project = self._tx.projects.get(name)
            return project.name if project else name
        session = self._tx.sessions.get(name) if name.startswith("ses_") else None
        return (session.address or session.name) if session else name


def _issue_line(tx: Tx, task: Task, names: _IssueNames) -> ops.IssueLine:
    issue = tx.issues.of_task(task.id)
    return ops.IssueLine(
        **msgspec.structs.asdict(task),
        from_project=names.name_of(task.from_project_id or ""),
        opener=names.name_of(issue.opener if issue else task.created_by),
    )


def _comment_view(tx: Tx, message: Message) -> ops.IssueComment:
    return ops.IssueComment(**msgspec.structs.asdict(message), deliveries=receipts.recipients_of(tx, message))
