"""Callers add and read the documents of tasks and read the outputs of gates, within rights and limits."""

from __future__ import annotations

from typing import Any

import pytest

from maestro.core import errors, ids, limits
from maestro.domain.gates import GateResult
from maestro.operations import documents as ops
from maestro.operations.task_shapes import OneTask
from maestro.services.tasks.documents import TaskDocuments

World = Any
Board = Any


@pytest.fixture
def documents(world: World) -> TaskDocuments:
    return TaskDocuments(world.blobs)


async def add(world: World, documents: TaskDocuments, task: str, content: bytes = b"x", *, by: Any = None) -> Any:
    """Add a document as the server does: check the request, store the content, then insert the row."""
    request = ops.AddDocument(id=task, title=" Report ", content=content, file_name="report.md")
    await world.store.read(lambda tx: documents.check_addition(tx, by or world.dana, request))
    stored = documents.store_content(request, world.blobs.store_content)
    return await world.store.write(lambda tx: documents.add_document(tx, by or world.dana, request, stored))


async def keep_gate_output(world: World, task: str, output: bytes, *, passed: bool = True) -> str:
    """Store the result of a gate as the gate job does, and return the id of the result."""
    world.clock.advance(1)
    result = GateResult(
        id=ids.new_id("gat", world.clock.now()),
        task_id=task,
        session_id=None,
        command="make test",
        passed=passed,
        exit_code=0 if passed else 1,
        seconds=0.1,
        created_at=world.clock.now(),
    )
    stored = world.blobs.store_content(output)
    await world.store.write(lambda tx: tx.gates.insert(result, stored))
    return result.id


@pytest.mark.parametrize("size", [0, 10, 100_000])
async def test_the_shown_content_of_a_document_equals_the_added_content(
    world: World, board: Board, documents: TaskDocuments, size: int
) -> None:
    content = bytes(range(256)) * (size // 256) + b"\xff" * (size % 256)
    task = await board.create()
    added = await add(world, documents, task, content)
    assert (added.title, added.file_name, added.bytes, added.by) == ("Report", "report.md", size, "dana")
    shown = await world.do(documents.show_document, ops.OneDocument(id=added.id))
    assert shown.content == content
    listed = await world.do(documents.list_documents, OneTask(id=task))
    assert [document.id for document in listed.documents] == [added.id]
    (event,) = [event for event in await world.log() if event.kind == "task.document_added"]
    assert event.data == {"ref": "vc#1", "document": added.id, "title": "Report", "bytes": size}


async def test_a_document_counts_for_the_quota_with_the_size_of_its_content(documents: TaskDocuments) -> None:
    assert documents.quota_bytes(ops.AddDocument(id="#1", title="t", content=b"12345")) == 5


async def test_a_worker_adds_documents_only_to_tasks_that_the_worker_holds(
    world: World, board: Board, documents: TaskDocuments
) -> None:
    worker, stranger = await world.join("w"), await world.join("stranger")
    task = await board.create(held_by=worker)
    await add(world, documents, task, by=worker)
    request = ops.AddDocument(id=task, title="t", content=b"x")
    with pytest.raises(errors.NotHeld):
        await world.do(documents.check_addition, request, by=stranger)
    stored = documents.store_content(request, world.blobs.store_content)
    with pytest.raises(errors.NotHeld):
        await world.store.write(lambda tx: documents.add_document(tx, stranger, request, stored))


async def test_a_task_has_a_limited_number_of_documents(
    world: World, board: Board, documents: TaskDocuments, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "documents_of_one_task_max", 2)
    task = await board.create()
    for _ in range(2):
        await add(world, documents, task)
    with pytest.raises(errors.Conflict, match="vc#1 already has 2 documents"):
        await add(world, documents, task)


async def test_a_session_of_another_project_reads_no_document_and_no_gate_output(
    world: World, board: Board, documents: TaskDocuments
) -> None:
    stranger = await world.join("stranger", project="other")
    task = await board.create()
    added = await add(world, documents, task)
    result = await keep_gate_output(world, task, b"all pass")
    for service, request in [
        (documents.list_documents, OneTask(id=task)),
        (documents.show_document, ops.OneDocument(id=added.id)),
        (documents.show_gate_output, ops.OneGate(id=result)),
        (documents.show_gate_output, ops.OneGate(id="vc#1")),
    ]:
        with pytest.raises(errors.NotPermitted):
            await world.do(service, request, by=stranger)


async def test_an_unknown_document_or_gate_result_is_not_found(world: World, documents: TaskDocuments) -> None:
    with pytest.raises(errors.NotFound, match="There is no document 'doc_1'"):
        await world.do(documents.show_document, ops.OneDocument(id="doc_1"))
    with pytest.raises(errors.NotFound, match="There is no gate result 'gat_1'"):
        await world.do(documents.show_gate_output, ops.OneGate(id="gat_1"))


async def test_a_gate_output_is_found_by_the_id_of_its_result_or_as_the_newest_output_of_a_task(
    world: World, board: Board, documents: TaskDocuments
) -> None:
    task = await board.create()
    old = await keep_gate_output(world, task, b"old")
    new = await keep_gate_output(world, task, b"new" * 50_000, passed=False)
    shown = await world.do(documents.show_gate_output, ops.OneGate(id=old))
    assert (shown.id, shown.task_id, shown.content) == (old, task, b"old")
    for reference in ("vc#1", "#1", "1", task):
        newest = await world.do(documents.show_gate_output, ops.OneGate(id=reference, project="vc"))
        assert (newest.id, newest.content) == (new, b"new" * 50_000)


async def test_a_task_whose_gates_never_ran_has_no_gate_output(
    world: World, board: Board, documents: TaskDocuments
) -> None:
    await board.create(gates=["make test"])
    with pytest.raises(errors.NotFound, match="No gate of vc#1 has run"):
        await world.do(documents.show_gate_output, ops.OneGate(id="vc#1"))
