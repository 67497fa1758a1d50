"""Render issues as text: their opener, their projects, their status and their comments."""

from __future__ import annotations

from maestro.domain.tasks import Status
from maestro.operations import issues as ops
from maestro.surfaces.cli.render import mail
from maestro.surfaces.cli.render.base import Rendered, more, pairs, when
from maestro.surfaces.cli.render.style import View, line, paint
from maestro.surfaces.cli.render.tasks import status, status_word, table


def opened(value: ops.OpenedIssue, view: View) -> Rendered:
    head = f"{paint(line(value.ref), 'bold')}  {status(value)}  {line(value.title)}\n"
    reached = ", ".join(
        f"{line(delivery.name)}: {mail.status_word(delivery.status)}" for delivery in value.message.deliveries
    )
    return Rendered(f"{head}  {value.message.id}  {reached}\n", [line(note) for note in value.warnings])


def issue_list(value: ops.IssueList, view: View) -> Rendered:
    if not value.issues:
        return Rendered(notes=["no issues"])
    notes = [_opener_note(issue) for issue in value.issues]
    return Rendered(table(value.issues, view, notes=notes), more(value.cursor))


def detail(value: ops.IssueDetail, view: View) -> Rendered:
    head = f"{paint(line(value.ref), 'bold')}  {status(value)}  {line(value.title)}\n"
    facts = pairs(
        [
            ("from", f"{line(value.opener)} of {line(value.from_project)}"),
            ("opened", when(value.created_at)),
            ("found in", _link_text(value.origin.ref, value.origin.title) if value.origin else ""),
            ("holder", line(value.holder_name or value.holder or "")),
            ("closed", when(value.finished_at) if value.finished_at else ""),
            ("why", line(value.reason) if value.status in (Status.FAILED, Status.CANCELLED) else ""),
            (
                "waited on by",
                ", ".join(f"{line(link.ref)} ({status_word(link.status)})" for link in value.dependants),
            ),
            ("documents", ", ".join(line(document.title) for document in value.documents)),
        ],
        indent="  ",
    )
    comments = "\n".join(mail.message(comment) + _delivery_states(comment) for comment in value.comments)
    notes = ["the issue has more messages than are shown"] if value.truncated else []
    return Rendered(f"{head}{facts}\n{comments}", notes)


def _delivery_states(comment: ops.IssueComment) -> str:
    states = ", ".join(
        f"{line(delivery.name)}: {mail.status_word(delivery.status)}" for delivery in comment.deliveries
    )
    return f"  {paint(states, 'dim')}\n" if states else ""


def _opener_note(issue: ops.IssueLine) -> str:
    return f"from {line(issue.opener)}, {line(issue.from_project)}"


def _link_text(ref: str, title: str) -> str:
    return f"{line(ref)}  {line(title)}"
