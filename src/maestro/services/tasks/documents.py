"""Documents of tasks: content is kept first, then the row that names it."""

from __future__ import annotations

import msgspec

from maestro.core import errors, ids, limits
from maestro.domain.callers import Caller
from maestro.domain.documents import Content, Document
from maestro.domain.events import Change, Kind
from maestro.domain.tasks import Task
from maestro.operations import documents as ops
from maestro.operations.task_shapes import OneTask
from maestro.services.scope import may_move, require_readable, task_of
from maestro.services.tasks import moves
from maestro.store.base import Tx
from maestro.store.blobs import Blobs
from maestro.store.holds import Keep


class Documents:
    """Adding and reading documents."""

    def __init__(self, blobs: Blobs) -> None:
        self._blobs = blobs

    def prepare(self, request: ops.AddDocument, keep: Keep) -> Content:
        """Before the transaction: large content is on the disk before a row names it."""
        return keep(request.content)

    def weigh(self, request: ops.AddDocument) -> int:
        """Return how many bytes a document takes of its project's quota."""
        return len(request.content)

    def check(self, tx: Tx, caller: Caller, request: ops.AddDocument) -> None:
        """Refuse a document that `add` would refuse, before its content is stored."""
        _may_add(tx, caller, task_of(tx, caller, request.id, project=request.project))

    def add(self, tx: Tx, caller: Caller, request: ops.AddDocument, content: Content) -> Document:
        task = moves.current(tx, caller, request.id, project=request.project)
        _may_add(tx, caller, task)
        document = Document(
            id=ids.new("doc", tx.at),
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
        tx.log(Change(Kind.TASK_DOCUMENT_ADDED, task.id, task.project_id, data), actor=caller.name)
        return document

    def list_of(self, tx: Tx, caller: Caller, request: OneTask) -> ops.DocumentList:
        task = task_of(tx, caller, request.id, project=request.project)
        require_readable(caller, task)
        found = tx.documents.of_task(task.id, limit=limits.documents_of_one_task_max)
        return ops.DocumentList(documents=found)

    def show(self, tx: Tx, caller: Caller, request: ops.OneDocument) -> ops.DocumentContent:
        document = tx.documents.get(request.id)
        task = tx.tasks.get(document.task_id) if document else None
        if document is None or task is None:
            raise errors.NotFound(f"There is no document {request.id!r}.")
        require_readable(caller, task)
        content = self._blobs.load(tx.documents.content(document))
        return ops.DocumentContent(**msgspec.structs.asdict(document), content=content)

    def gate(self, tx: Tx, caller: Caller, request: ops.OneGate) -> ops.GateOutput:
        """What a gate command said about a task."""
        result = _newest_of(tx, caller, request) if _is_task(request.id) else request.id
        found = tx.gates.output(result)
        task = tx.tasks.get(found[0]) if found else None
        if found is None or task is None:
            raise errors.NotFound(f"There is no gate result {result!r}.", hint="maestro task show ID lists them.")
        require_readable(caller, task)
        content = self._blobs.load(found[1])
        return ops.GateOutput(id=result, task_id=found[0], content=content)


def _may_add(tx: Tx, caller: Caller, task: Task) -> None:
    """Refuse a document for a task that the caller may not change, or that has too many."""
    may_move(tx, caller, task)
    if tx.documents.count(task.id) >= limits.documents_of_one_task_max:
        raise errors.Conflict(f"A task has at most {limits.documents_of_one_task_max} documents.")


def _is_task(text: str) -> bool:
    return "#" in text or text.isdigit() or text.startswith("tsk_")


def _newest_of(tx: Tx, caller: Caller, request: ops.OneGate) -> str:
    """Of a task, what was said last: the gate that did not pass, or the last of those that did."""
    task = task_of(tx, caller, request.id, project=request.project)
    require_readable(caller, task)
    found = tx.gates.of_task(task.id, limit=1)
    if not found:
        raise errors.NotFound(
            f"No gate of {task.ref} has run.", hint=f"maestro task show '{task.ref}' says what its gates are."
        )
    return found[0].id
