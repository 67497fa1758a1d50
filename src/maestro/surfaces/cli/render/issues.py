"""Issues as text: who asks what of which project, and what was said."""

from __future__ import annotations

from maestro.domain.tasks import Status
from maestro.operations import issues as ops
from maestro.surfaces.cli.render import mail
from maestro.surfaces.cli.render.base import Rendered, more, pairs, when
from maestro.surfaces.cli.render.style import View, line, paint
from maestro.surfaces.cli.render.tasks import status, status_word, table


def opened(value: ops.OpenedIssue, view: View) -> Rendered:
    head = f"{paint(line(value.ref), 'bold')}  {status(value)}  {line(value.title)}\n"
    reached = ", ".join(f"{line(one.name)}: {mail.status_word(one.status)}" for one in value.message.deliveries)
    return Rendered(f"{head}  {value.message.id}  {reached}\n", [line(note) for note in value.warnings])


def issue_list(value: ops.IssueList, view: View) -> Rendered:
    if not value.issues:
        return Rendered(notes=["no issues"])
    notes = [_from(one) for one in value.issues]
    return Rendered(table(value.issues, view, notes=notes), more(value.cursor))


def detail(value: ops.IssueDetail, view: View) -> Rendered:
    head = f"{paint(line(value.ref), 'bold')}  {status(value)}  {line(value.title)}\n"
    facts = pairs(
        [
            ("from", f"{line(value.opener)} of {line(value.from_project)}"),
            ("opened", when(value.created_at)),
            ("found in", _link(value.origin.ref, value.origin.title) if value.origin else ""),
            ("holder", line(value.holder_name or value.holder or "")),
            ("closed", when(value.finished_at) if value.finished_at else ""),
            ("why", line(value.reason) if value.status in (Status.FAILED, Status.CANCELLED) else ""),
            ("waited on by", ", ".join(f"{line(one.ref)} ({status_word(one.status)})" for one in value.dependants)),
            ("documents", ", ".join(line(one.title) for one in value.documents)),
        ],
        indent="  ",
    )
    said = "\n".join(mail.message(one) + _reached(one) for one in value.comments)
    notes = ["there are more messages than are shown"] if value.truncated else []
    return Rendered(f"{head}{facts}\n{said}", notes)


def _reached(one: ops.IssueComment) -> str:
    states = ", ".join(f"{line(two.name)}: {mail.status_word(two.status)}" for two in one.deliveries)
    return f"  {paint(states, 'dim')}\n" if states else ""


def _from(one: ops.IssueLine) -> str:
    return f"from {line(one.opener)}, {line(one.from_project)}"


def _link(ref: str, title: str) -> str:
    return f"{line(ref)}  {line(title)}"
