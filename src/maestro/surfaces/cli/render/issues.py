"""Render issues as text: their opener, their projects, their status and their comments."""

from __future__ import annotations

from maestro.domain.tasks import TaskStatus
from maestro.operations import issues as ops
from maestro.surfaces.cli.render import mail
from maestro.surfaces.cli.render.base import Rendered, format_time, next_page_note, render_pairs
from maestro.surfaces.cli.render.style import View, paint, safe_line
from maestro.surfaces.cli.render.tasks import status_text, status_word, task_table


def render_opened_issue(value: ops.OpenedIssue, view: View) -> Rendered:
    head = f"{paint(safe_line(value.ref), 'bold')}  {status_text(value)}  {safe_line(value.title)}\n"
    reached = ", ".join(
        f"{safe_line(delivery.name)}: {mail.status_word(delivery.status)}" for delivery in value.message.deliveries
    )
    return Rendered(f"{head}  {value.message.id}  {reached}\n", [safe_line(note) for note in value.warnings])


def render_issue_list(value: ops.IssueList, view: View) -> Rendered:
    if not value.issues:
        return Rendered(notes=["no issues"])
    notes = [_opener_note(issue) for issue in value.issues]
    return Rendered(task_table(value.issues, view, notes=notes), next_page_note(value.cursor))


def render_issue(value: ops.IssueDetail, view: View) -> Rendered:
    head = f"{paint(safe_line(value.ref), 'bold')}  {status_text(value)}  {safe_line(value.title)}\n"
    facts = render_pairs(
        [
            ("from", f"{safe_line(value.opener)} of {safe_line(value.from_project)}"),
            ("opened", format_time(value.created_at)),
            ("found in", _link_text(value.origin.ref, value.origin.title) if value.origin else ""),
            ("holder", safe_line(value.holder_name or value.holder or "")),
            ("closed", format_time(value.finished_at) if value.finished_at else ""),
            ("why", safe_line(value.reason) if value.status in (TaskStatus.FAILED, TaskStatus.CANCELLED) else ""),
            (
                "waited on by",
                ", ".join(f"{safe_line(link.ref)} ({status_word(link.status)})" for link in value.dependants),
            ),
            ("documents", ", ".join(safe_line(document.title) for document in value.documents)),
        ],
        indent="  ",
    )
    comments = "\n".join(mail.message_text(comment) + _delivery_states(comment) for comment in value.comments)
    notes = ["the issue has more messages than are shown"] if value.truncated else []
    return Rendered(f"{head}{facts}\n{comments}", notes)


def _delivery_states(comment: ops.IssueComment) -> str:
    states = ", ".join(
        f"{safe_line(delivery.name)}: {mail.status_word(delivery.status)}" for delivery in comment.deliveries
    )
    return f"  {paint(states, 'dim')}\n" if states else ""


def _opener_note(issue: ops.IssueLine) -> str:
    return f"from {safe_line(issue.opener)}, {safe_line(issue.from_project)}"


def _link_text(ref: str, title: str) -> str:
    return f"{safe_line(ref)}  {safe_line(title)}"
