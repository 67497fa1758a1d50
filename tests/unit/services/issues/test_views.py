"""Callers see lists of issues and an issue with its thread; a third project sees no texts."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.services.conftest import OTHER
from tests.unit.services.issues.conftest import Parties, add_third_project

from maestro.core import errors
from maestro.domain.callers import Caller
from maestro.domain.documents import ReportKind
from maestro.domain.gates import GateResult
from maestro.operations import documents as document_ops
from maestro.operations import issues as ops
from maestro.operations import mail_shapes, task_shapes
from maestro.operations import timeline as timeline_ops
from maestro.services import timelines
from maestro.services.issues import views
from maestro.services.issues.views import IssueViews
from maestro.services.tasks import editing as tasks
from maestro.services.tasks import moves
from maestro.services.tasks.documents import TaskDocuments
from maestro.services.tasks.waits import TaskWaits
from maestro.store.base import Tx


async def test_a_third_project_sees_the_outline_of_an_issue_and_no_texts(parties: Parties) -> None:
    world = parties.world
    stranger = await world.boss("stranger", project=await world.store.write(add_third_project))
    opened = await parties.open_issue(message="Secret.")
    await parties.claim_issue(parties.keeper, opened)
    block = task_shapes.BlockTask(id=opened.id, reason="Secret.")
    await world.do(moves.block_task, block, by=parties.keeper)
    await world.do(moves.unblock_task, task_shapes.HeldTask(id=opened.id), by=parties.keeper)
    report = task_shapes.ReportTask(kind=ReportKind.ERROR, id=opened.id, text="Secret.")
    await world.do(moves.report_task, report, by=parties.keeper)
    one, here = task_shapes.OneTask(id=opened.id), {"project": OTHER.id}
    reads: list[tuple[Any, Any]] = [
        (IssueViews(world.reading).show_issue, ops.OneIssue(id=opened.id)),
        (views.list_issues, ops.ListIssues(status=ops.IssueFilter.ALL, **here)),
        (tasks.show_task, one),
        (tasks.list_tasks, task_shapes.ListTasks(**here)),
        (tasks.show_tree, task_shapes.ShowTaskTree(**here)),
        (timelines.show_timeline, timeline_ops.ShowTimeline(task=opened.id)),
        (timelines.export_timeline, timeline_ops.ExportTimeline(task=opened.id)),
    ]
    for service, request in reads:
        seen = str(await world.do(service, request, by=stranger))
        assert opened.ref in seen and "Secret" not in seen, service
        for by in (parties.finder, parties.keeper, None):
            assert "Secret" in str(await world.do(service, request, by=by)), service
    seen = await parties.show_issue(stranger, opened)
    assert (seen.title, seen.status, seen.from_project, seen.description) == ("Crash", "failed", "vc", "")
    wait = task_shapes.WaitTasks(ids=[opened.ref], timeout=1000)
    waited = await TaskWaits(world.store, world.hub, world.presence).wait_for_tasks(stranger, wait)
    assert [task.description for task in waited.tasks] == [""]


async def test_a_third_project_sees_no_documents_and_gates_of_an_issue(parties: Parties) -> None:
    world, documents = parties.world, TaskDocuments(parties.world.blobs)
    stranger = await world.boss("stranger", project=await world.store.write(add_third_project))
    opened = await parties.open_issue()
    await parties.claim_issue(parties.keeper, opened)
    request = document_ops.AddDocument(id=opened.id, title="Trace", content=b"Secret.")
    content = documents.store_content(request, world.blobs.store_content)
    added = await world.store.write(lambda tx: documents.add_document(tx, parties.keeper, request, content))
    gate = GateResult(
        id="gat_1",
        task_id=opened.id,
        session_id=None,
        command="make",
        passed=True,
        exit_code=0,
        seconds=1.0,
        created_at=added.created_at,
    )
    await world.store.write(lambda tx: tx.gates.insert(gate, content))
    reads: list[tuple[Any, Any]] = [
        (documents.list_documents, task_shapes.OneTask(id=opened.id)),
        (documents.show_document, document_ops.OneDocument(id=added.id)),
        (documents.show_gate_output, document_ops.OneGate(id="gat_1")),
        (documents.show_gate_output, document_ops.OneGate(id=opened.id)),
    ]
    for service, asked in reads:
        with pytest.raises(errors.NotPermitted, match="two projects"):
            await world.do(service, asked, by=stranger)
        for by in (parties.finder, parties.keeper, None):
            assert await world.do(service, asked, by=by)


async def test_issues_are_listed_by_project_and_status_in_pages(parties: Parties) -> None:
    made = [await parties.open_issue(title=f"Issue {number}") for number in range(3)]
    await parties.close_issue(None, made[0])

    async def titles(**fields: Any) -> list[str]:
        page = await parties.world.do(views.list_issues, ops.ListIssues(**fields))
        return [message.title for message in page.issues]

    assert await titles(project="other") == ["Issue 1", "Issue 2"]
    assert await titles(project="other", status=ops.IssueFilter.CLOSED) == ["Issue 0"]
    assert await titles(project="vc") == []
    assert await titles(project="vc", opened=True, status=ops.IssueFilter.ALL) == ["Issue 0", "Issue 1", "Issue 2"]
    first = await parties.world.do(views.list_issues, ops.ListIssues(project="vc", opened=True, limit=1))
    rest = await parties.world.do(views.list_issues, ops.ListIssues(project="vc", opened=True, cursor=first.cursor))
    assert [message.title for message in (*first.issues, *rest.issues)] == ["Issue 1", "Issue 2"]


async def test_last_message_of_others_returns_the_last_message_of_another_sender(parties: Parties) -> None:
    world, issue = parties.world, await parties.open_issue()

    async def answered(caller: Caller) -> str | None:
        def read(tx: Tx) -> str | None:
            record = tx.issues.of_task(issue.id)
            assert record is not None
            message = views.last_message_of_others(tx, caller, record)
            return message.body if message else None

        return await world.store.read(read)

    assert await answered(parties.finder) is None, "the finder wrote the only message"
    await parties.reply_to_issue(parties.keeper, issue, "Which version?")
    await parties.reply_to_issue(parties.finder, issue, "1.3")
    assert (await answered(parties.finder), await answered(parties.keeper)) == ("Which version?", "1.3")


async def test_a_shown_issue_names_its_opener_and_its_receipt_marks_the_messages_as_read(parties: Parties) -> None:
    world, issue = parties.world, await parties.open_issue()
    shown = await parties.show_issue(parties.keeper, issue)
    assert (shown.opener, shown.from_project, shown.thread_id) == ("finder", "vc", issue.thread_id)
    assert shown.receipt and await world.states(shown.comments[0]) == {OTHER.id: "sent"}
    await world.reading.read_inbox(parties.keeper, mail_shapes.ReadInbox(cursor=shown.receipt))
    assert await world.subjects(parties.keeper) == []


async def test_a_cursor_of_the_list_of_issues_that_is_no_number_is_refused(parties: Parties) -> None:
    with pytest.raises(errors.Invalid):
        await parties.world.do(views.list_issues, ops.ListIssues(project="other", cursor="yesterday"))
