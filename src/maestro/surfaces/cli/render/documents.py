"""Documents and reports as text; a document's content as the bytes that it is."""

from __future__ import annotations

from maestro.domain.documents import Document, Report
from maestro.domain.gates import GateResult
from maestro.operations.documents import DocumentContent, DocumentList, GateOutput
from maestro.operations.mail_shapes import AttachmentContent
from maestro.surfaces.cli.render.base import Rendered, listed, more, size, when
from maestro.surfaces.cli.render.style import View, aligned, body, indented, line, paint

_HEAD = ["ID", "SIZE", "TITLE", "FILE", "BY", "WHEN"]


def document(value: Document, view: View) -> Rendered:
    name = f"  {line(value.file_name)}" if value.file_name else ""
    return Rendered(f"{value.id}  {line(value.title)}{name}  ({size(value.bytes)})\n")


def document_list(value: DocumentList, view: View) -> Rendered:
    if not value.documents:
        return Rendered(notes=["no documents here"])
    return Rendered(listed([_row(one) for one in value.documents], _HEAD, view), more(value.cursor))


def content(value: DocumentContent | AttachmentContent | GateOutput, view: View) -> Rendered:
    """The very bytes, for whatever reads them; a terminal gets them as text that cannot command it."""
    if not view.tty:
        return Rendered(value.content)
    if b"\0" in value.content:
        return Rendered(notes=[f"this is no text ({size(len(value.content))}): send it to a file with > FILE"])
    text = body(value.content.decode(errors="replace"))
    return Rendered(text if text.endswith("\n") else text + "\n")


def evidence(found: list[GateResult]) -> str:
    """What gates said, newest first."""
    if not found:
        return ""
    rows = [
        [
            one.id,
            paint("passed", "green") if one.passed else paint("failed", "red"),
            f"{one.seconds:.1f} s",
            line(one.command),
            f"sandbox: {line(one.sandbox)}",
            when(one.created_at),
        ]
        for one in found
    ]
    return f"\n{paint('evidence', 'dim')}\n" + aligned(rows, indent="  ")


def reports(found: list[Report]) -> str:
    """What was said about a task, whole."""
    if not found:
        return ""
    said = [f"  {when(one.created_at)}  {one.kind}  {line(one.by)}\n{indented(one.text, '    ')}\n" for one in found]
    return f"\n{paint('reports', 'dim')}\n" + "".join(said)


def attached(found: list[Document], view: View) -> str:
    if not found:
        return ""
    return f"\n{paint('documents', 'dim')}\n" + aligned([_row(one) for one in found], indent="  ")


def _row(one: Document) -> list[str]:
    return [one.id, size(one.bytes), line(one.title), line(one.file_name), line(one.by), when(one.created_at)]
