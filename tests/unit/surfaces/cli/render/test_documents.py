"""Documents, reports and evidence are rendered as text, and a program gets the unchanged bytes of a content."""

from __future__ import annotations

from typing import Any

from tests.unit.surfaces.cli.render.conftest import AT, TTY, WHEN, rendered, text_of

from maestro.domain.documents import Document, ReportKind, TaskReport
from maestro.domain.gates import GateResult
from maestro.operations import documents as ops
from maestro.surfaces.cli.render import documents
from maestro.surfaces.cli.render.style import View, finish_text


def document_content(data: bytes) -> ops.DocumentContent:
    return ops.DocumentContent(
        id="doc_1",
        task_id="tsk_1",
        title="T",
        file_name="f",
        bytes=len(data),
        sha256="",
        by="x",
        created_at=AT,
        content=data,
    )


def test_a_program_gets_the_unchanged_bytes_of_a_document() -> None:
    data = b"\x00\xff\x1b[31m"
    assert rendered(document_content(data)).out == data


def test_a_terminal_gets_the_text_of_a_document_without_control_characters() -> None:
    assert rendered(document_content(b"# Notes\x1b[2J"), TTY).out == "# Notes\\x1b[2J\n"
    binary = rendered(document_content(b"\x00\xff"), TTY)
    assert binary.out == "" and "not text" in binary.notes[0]


def document(**fields: Any) -> Document:
    values = {
        "id": "doc_1", "task_id": "tsk_1", "title": "Notes", "file_name": "n.md", "bytes": 2048, "sha256": "",
        "by": "parser", "created_at": AT,
    }  # fmt: skip
    return Document(**{**values, **fields})


def gate_result(**fields: Any) -> GateResult:
    values = {
        "id": "gat_1", "task_id": "tsk_1", "session_id": None, "command": "make test", "passed": True, "exit_code": 0,
        "seconds": 1.25, "created_at": AT,
    }  # fmt: skip
    return GateResult(**{**values, **fields})


def test_the_text_of_a_document_on_a_terminal_ends_with_one_line_break() -> None:
    assert text_of(document_content(b"a\n"), TTY) == "a\n"
    assert text_of(document_content(b"a"), TTY) == "a\n"


def test_a_stored_document_is_shown_with_its_title_size_and_file_name() -> None:
    assert text_of(document()) == "doc_1  Notes  n.md  (2.0 KiB)\n"
    assert text_of(document(file_name="")) == "doc_1  Notes  (2.0 KiB)\n"


def test_a_list_of_documents_has_one_line_for_each_document_and_names_the_next_page() -> None:
    shown = rendered(ops.DocumentList(documents=[document()], cursor="abc"))
    assert shown.out == f"doc_1  2.0 KiB  Notes  n.md  parser  {WHEN}\n"
    assert shown.notes == ["more results: --cursor abc"]
    assert rendered(ops.DocumentList(documents=[])).notes == ["no documents"]


def test_the_evidence_shows_the_result_of_each_gate() -> None:
    results = [gate_result(), gate_result(id="gat_2", passed=False, exit_code=1, command="make\nlint")]
    lines = finish_text(documents.render_evidence(results)).splitlines()
    assert lines[1] == "evidence"
    assert lines[2].split()[:4] == ["gat_1", "passed", "1.2", "s"]
    assert "failed" in lines[3] and "make lint" in lines[3] and "sandbox: none" in lines[3]


def test_reports_are_shown_in_full() -> None:
    report = TaskReport("rep_1", "tsk_1", ReportKind.PROGRESS, "Half done.\nThe rest follows.", "parser", AT)
    shown = finish_text(documents.render_reports([report]))
    assert f"  {WHEN}  progress  parser\n    Half done.\n    The rest follows.\n" in shown


def test_missing_evidence_reports_and_documents_have_no_heading() -> None:
    assert documents.render_evidence([]) == documents.render_reports([]) == ""
    assert documents.render_attached_documents([], View()) == ""
    attached = finish_text(documents.render_attached_documents([document()], View()))
    assert attached.startswith("\ndocuments\n  doc_1  2.0 KiB  Notes")
