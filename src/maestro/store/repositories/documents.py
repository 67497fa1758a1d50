"""The repository of documents and reports of tasks."""

from __future__ import annotations

from datetime import datetime

from maestro.core import ids
from maestro.core.clock import from_micros, to_micros
from maestro.domain.documents import Document, ReportKind, StoredContent, TaskReport
from maestro.store.rows import Row, Rows


class DocumentRepository:
    """Documents and reports, by id and task."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows

    def insert(self, document: Document, content: StoredContent) -> None:
        self._rows.execute(
            "document_insert",
            id=document.id,
            task_id=document.task_id,
            title=document.title,
            file_name=document.file_name,
            bytes=document.bytes,
            sha256=document.sha256,
            body=content.body,
            blob=content.blob,
            by=document.by,
            created_at=to_micros(document.created_at),
        )

    def get(self, document_id: str) -> Document | None:
        return _decode_document(self._rows.fetch_first("document_get", id=document_id))

    def get_content(self, document: Document) -> StoredContent:
        row = self._rows.fetch_first("document_body", id=document.id)
        assert row is not None
        return StoredContent(row[0], row[1], document.bytes, document.sha256)

    def of_task(self, task_id: str, *, limit: int) -> list[Document]:
        rows = self._rows.fetch_all("documents_of_task", task_id=task_id, limit=limit)
        return [document for row in rows if (document := _decode_document(row))]

    def count_of_task(self, task_id: str) -> int:
        row = self._rows.fetch_first("document_count", task_id=task_id)
        return int(row[0]) if row else 0

    def stored_bytes_since(self, at: datetime) -> dict[str, int]:
        """Return the bytes of documents, attachments and long bodies that sessions have stored, by project."""
        rows = self._rows.fetch_all(
            "bytes_since",
            first_document=ids.lowest_id("doc", at),
            first_message=ids.lowest_id("msg", at),
            first_attachment=ids.lowest_id("att", at),
        )
        return {row[0]: int(row[1]) for row in rows}

    def uses_blob(self, blob: str) -> bool:
        return self._rows.fetch_first("blob_in_use", blob=blob) is not None

    def insert_report(self, report: TaskReport) -> None:
        self._rows.execute(
            "report_insert",
            id=report.id,
            task_id=report.task_id,
            kind=report.kind.value,
            text=report.text,
            by=report.by,
            created_at=to_micros(report.created_at),
        )

    def reports_of_task(self, task_id: str, *, limit: int) -> list[TaskReport]:
        """Return the reports of a task, newest first."""
        rows = self._rows.fetch_all("reports_of_task", task_id=task_id, limit=limit)
        return [TaskReport(row[0], row[1], ReportKind(row[2]), row[3], row[4], from_micros(row[5])) for row in rows]


def _decode_document(row: Row | None) -> Document | None:
    if row is None:
        return None
    document_id, task_id, title, file_name, size, sha256, by, created_at = row
    return Document(document_id, task_id, title, file_name, size, sha256, by, from_micros(created_at))
