"""The repository of documents and reports of tasks."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from maestro.core import ids
from maestro.core.clock import to_micros
from maestro.domain.documents import Document, StoredContent, TaskReport
from maestro.store.decoding import Decoder
from maestro.store.rows import Rows


class _BytesOfProject(NamedTuple):
    project_id: str
    bytes: int


CONTENT = Decoder(StoredContent)
_DOCUMENT = Decoder(Document)
_REPORT = Decoder(TaskReport)
_BYTES_OF_PROJECT = Decoder(_BytesOfProject)


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
        return self._rows.fetch_first("document_get", _DOCUMENT, id=document_id)

    def get_content(self, document: Document) -> StoredContent:
        content = self._rows.fetch_first("document_content", CONTENT, id=document.id)
        assert content is not None
        return content

    def of_task(self, task_id: str, *, limit: int) -> list[Document]:
        return self._rows.fetch_all("documents_of_task", _DOCUMENT, task_id=task_id, limit=limit)

    def count_of_task(self, task_id: str) -> int:
        return int(self._rows.fetch_value("document_count", task_id=task_id))

    def stored_bytes_since(self, at: datetime) -> dict[str, int]:
        """Return the bytes of documents, attachments and long bodies that sessions have stored, by project."""
        rows = self._rows.fetch_all(
            "bytes_since",
            _BYTES_OF_PROJECT,
            first_document=ids.lowest_id("doc", at),
            first_message=ids.lowest_id("msg", at),
            first_attachment=ids.lowest_id("att", at),
        )
        return {row.project_id: row.bytes for row in rows}

    def uses_blob(self, blob: str) -> bool:
        return self._rows.has_row("blob_in_use", blob=blob)

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
        return self._rows.fetch_all("reports_of_task", _REPORT, task_id=task_id, limit=limit)
