"""Add and read documents of tasks. The content of a document is stored before the row of the document."""

from __future__ import annotations

import msgspec

from maestro.core import errors, ids, limits
from maestro.domain.callers import Caller
from maestro.domain.documents import Document, StoredContent
from maestro.domain.events import EventKind, NewEvent
from maestro.domain.tasks import Task
from maestro.operations import documents as ops
from maestro.operations.task_shapes import OneTask
from maestro.services.access.scope import find_task, require_movable_task, require_readable_task
from maestro.services.tasks import moves
from maestro.store.base import Tx
from maestro.store.blobs import Blobs
from maestro.store.content_holds import StoreContent


class TaskDocuments:
    """The operations on documents of tasks and on the outputs of gates."""

    def __init__(self, blobs: Blobs) -> None:
        self._blobs = blobs

    def store_content(self, request: ops.AddDocument, keep: StoreContent) -> StoredContent:
        """Store the content before the transaction, so that no row names content that is not on the disk."""
        return keep(request.content)

    def quota_bytes(self, request: ops.AddDocument) -> int:
        """Return how many bytes the document takes from its project's quota."""
        return len(request.content)

    def check_addition(self, tx: Tx, caller: Caller, request: ops.AddDocument) -> None:
        """Refuse a document that `add_document` would refuse, before its content is stored."""
        _may_add(tx, caller, find_task(tx, caller, request.id, project=request.project))

    def add_document(self, tx: Tx, caller: Caller, request: ops.AddDocument, content: StoredContent) -> Document:
        task = moves.current_task(tx, caller, request.id, project=request.project)
        _may_add(tx, caller, task)
        document = Document(
            id=ids.new_id("doc", tx.at),
            task_id=task.id,
            title=request.title.strip(),
            file_name=request.file_name,
            bytes=content.size,
            sha256=content.sha256,
            by=caller.name,
            created_at=tx.at,
        )
        tx.documents.insert(document, content)
        data = {"ref": task.ref, "document": document.id, "title": document.title, "bytes": document.bytes}
        tx.log(NewEvent(EventKind.TASK_DOCUMENT_ADDED, task.id, task.project_id, data), actor=caller.name)
        return document

    def list_documents(self, tx: Tx, caller: Caller, request: OneTask) -> ops.DocumentList:
        task = find_task(tx, caller, request.id, project=request.project)
        require_readable_task(caller, task)
        documents = tx.documents.of_task(task.id, limit=limits.documents_of_one_task_max)
        return ops.DocumentList(documents=documents)

    def show_document(self, tx: Tx, caller: Caller, request: ops.OneDocument) -> ops.DocumentContent:
        document = tx.documents.get(request.id)
        task = tx.tasks.get(document.task_id) if document else None
        if document is None or task is None:
            raise errors.NotFound(f"There is no document {request.id!r}.")
        require_readable_task(caller, task)
        content = self._blobs.load_content(tx.documents.get_content(document))
        return ops.DocumentContent(**msgspec.structs.asdict(document), content=content)

    def show_gate_output(self, tx: Tx, caller: Caller, request: ops.OneGate) -> ops.GateOutput:
        """Return the output of a gate, by the id of its result or by its task."""
        result_id = _newest_result_id(tx, caller, request) if _is_task_ref(request.id) else request.id
        output = tx.gates.get_output(result_id)
        task = tx.tasks.get(output[0]) if output else None
        if output is None or task is None:
            hint = "maestro task show ID lists the gate results of a task."
            raise errors.NotFound(f"There is no gate result {result_id!r}.", hint=hint)
        require_readable_task(caller, task)
        task_id, stored = output
        return ops.GateOutput(id=result_id, task_id=task_id, content=self._blobs.load_content(stored))


def _may_add(tx: Tx, caller: Caller, task: Task) -> None:
    """Refuse a document for a task that the caller may not change, or that has too many documents."""
    require_movable_task(tx, caller, task)
    if tx.documents.count_of_task(task.id) >= limits.documents_of_one_task_max:
        most = limits.documents_of_one_task_max
        raise errors.Conflict(f"{task.ref} already has {most} documents, the most that a task can have.")


def _is_task_ref(text: str) -> bool:
    return "#" in text or text.isdigit() or text.startswith("tsk_")


def _newest_result_id(tx: Tx, caller: Caller, request: ops.OneGate) -> str:
    """Return the task's newest gate result: of the gate that did not pass, or of the last gate that passed."""
    task = find_task(tx, caller, request.id, project=request.project)
    require_readable_task(caller, task)
    results = tx.gates.of_task(task.id, limit=1)
    if not results:
        raise errors.NotFound(
            f"No gate of {task.ref} has run.", hint=f"maestro task show '{task.ref}' lists the gates of the task."
        )
    return results[0].id
