"""Render documents, reports and evidence as text, and a document's content as unchanged bytes."""

from __future__ import annotations

from maestro.domain.documents import Document, TaskReport
from maestro.domain.gates import GateResult
from maestro.operations.documents import DocumentContent, DocumentList, GateOutput
from maestro.operations.mail_shapes import AttachmentContent
from maestro.surfaces.cli.render.base import Rendered, format_size, format_time, next_page_note, render_table
from maestro.surfaces.cli.render.style import View, align_rows, indent_text, paint, safe_body, safe_line

_HEAD = ["ID", "SIZE", "TITLE", "FILE", "BY", "WHEN"]


def render_document(value: Document, view: View) -> Rendered:
    name = f"  {safe_line(value.file_name)}" if value.file_name else ""
    return Rendered(f"{value.id}  {safe_line(value.title)}{name}  ({format_size(value.bytes)})\n")


def render_document_list(value: DocumentList, view: View) -> Rendered:
    if not value.documents:
        return Rendered(notes=["no documents"])
    return Rendered(
        render_table([_document_row(document) for document in value.documents], _HEAD, view),
        next_page_note(value.cursor),
    )


def render_content(value: DocumentContent | AttachmentContent | GateOutput, view: View) -> Rendered:
    """Return the unchanged bytes. A terminal gets text without control characters instead."""
    if not view.tty:
        return Rendered(value.content)
    if b"\0" in value.content:
        return Rendered(
            notes=[f"the content is not text ({format_size(len(value.content))}): write it to a file with > FILE"]
        )
    text = safe_body(value.content.decode(errors="replace"))
    return Rendered(text if text.endswith("\n") else text + "\n")


def render_evidence(results: list[GateResult]) -> str:
    """Render the results of gates, newest first."""
    if not results:
        return ""
    rows = [
        [
            result.id,
            paint("passed", "green") if result.passed else paint("failed", "red"),
            f"{result.seconds:.1f} s",
            safe_line(result.command),
            f"sandbox: {safe_line(result.sandbox)}",
            format_time(result.created_at),
        ]
        for result in results
    ]
    return f"\n{paint('evidence', 'dim')}\n" + align_rows(rows, indent="  ")


def render_reports(reports: list[TaskReport]) -> str:
    """Render the reports on a task in full."""
    if not reports:
        return ""
    parts = [
        f"  {format_time(report.created_at)}  {report.kind}  {safe_line(report.by)}\n"
        f"{indent_text(report.text, '    ')}\n"
        for report in reports
    ]
    return f"\n{paint('reports', 'dim')}\n" + "".join(parts)


def render_attached_documents(documents: list[Document], view: View) -> str:
    if not documents:
        return ""
    return f"\n{paint('documents', 'dim')}\n" + align_rows(
        [_document_row(document) for document in documents], indent="  "
    )


def _document_row(document: Document) -> list[str]:
    return [
        document.id,
        format_size(document.bytes),
        safe_line(document.title),
        safe_line(document.file_name),
        safe_line(document.by),
        format_time(document.created_at),
    ]
