"""Render documents, reports and evidence as text, and a document's content as unchanged bytes."""

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
        return Rendered(notes=["no documents"])
    return Rendered(
        listed([_document_row(document) for document in value.documents], _HEAD, view), more(value.cursor)
    )


def content(value: DocumentContent | AttachmentContent | GateOutput, view: View) -> Rendered:
    """Return the unchanged bytes. A terminal gets text without control characters instead."""
    if not view.tty:
        return Rendered(value.content)
    if b"\0" in value.content:
        return Rendered(
            notes=[f"the content is not text ({size(len(value.content))}): write it to a file with > FILE"]
        )
    text = body(value.content.decode(errors="replace"))
    return Rendered(text if text.endswith("\n") else text + "\n")


def evidence(results: list[GateResult]) -> str:
    """Render the results of gates, newest first."""
    if not results:
        return ""
    rows = [
        [
            result.id,
            paint("passed", "green") if result.passed else paint("failed", "red"),
            f"{result.seconds:.1f} s",
            line(result.command),
            f"sandbox: {line(result.sandbox)}",
            when(result.created_at),
        ]
        for result in results
    ]
    return f"\n{paint('evidence', 'dim')}\n" + aligned(rows, indent="  ")


def reports(reports: list[Report]) -> str:
    """Render the reports on a task in full."""
    if not reports:
        return ""
    parts = [
        f"  {when(report.created_at)}  {report.kind}  {line(report.by)}\n{indented(report.text, '    ')}\n"
        for report in reports
    ]
    return f"\n{paint('reports', 'dim')}\n" + "".join(parts)


def attached(documents: list[Document], view: View) -> str:
    if not documents:
        return ""
    return f"\n{paint('documents', 'dim')}\n" + aligned(
        [_document_row(document) for document in documents], indent="  "
    )


def _document_row(document: Document) -> list[str]:
    return [
        document.id,
        size(document.bytes),
        line(document.title),
        line(document.file_name),
        line(document.by),
        when(document.created_at),
    ]
