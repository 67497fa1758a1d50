"""Issues from their opening to their end, with both projects' agents as callers."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.services.conftest import OTHER, VC, World

from maestro.core import errors
from maestro.domain.callers import Caller
from maestro.domain.documents import ReportKind
from maestro.domain.gates import GateResult
from maestro.domain.messages import MessageType
from maestro.domain.projects import InboundPolicy, Project
from maestro.operations import documents as document_ops
from maestro.operations import issues as ops
from maestro.operations import mail_shapes, task_shapes
from maestro.operations import projects as project_ops
from maestro.operations import timeline as timeline_ops
from maestro.operations.mail_shapes import SendMail
from maestro.services import timelines
from maestro.services.issues import moves as issue_moves
from maestro.services.issues import views
from maestro.services.issues.operations import IssueOperations
from maestro.services.issues.views import IssueViews
from maestro.services.projects import registry as projects
from maestro.services.recovery.undelivered_mail import UnreadMailJob
from maestro.services.tasks import dependencies, moves
from maestro.services.tasks import editing as tasks
from maestro.services.tasks.documents import TaskDocuments
from maestro.services.tasks.waits import TaskWaits


class Two:
    """An agent of vc that found a bug, and an agent of other, where the bug is."""

    def __init__(self, world: World, finder: Caller, keeper: Caller) -> None:
        self.world, self.finder, self.keeper = world, finder, keeper
        self.desk = IssueOperations(world.guard)

    async def open(self, by: Caller | None = None, **fields: Any) -> ops.OpenedIssue:
        values: dict[str, Any] = {"to": "other", "title": "Crash", "message": "It crashes."} | fields
        self.world.clock.advance(0.01)  # so that ids are in the order of their making
        made: ops.OpenedIssue = await self.world.do(
            self.desk.open_issue, ops.OpenIssue(**values), by=by or self.finder
        )
        return made

    async def reply(self, by: Caller | None, issue: Any, text: str, **fields: Any) -> mail_shapes.SentMail:
        request = ops.ReplyIssue(id=issue.id, message=text, **fields)
        sent: mail_shapes.SentMail = await self.world.do(self.desk.reply_to_issue, request, by=by)
        return sent

    async def claim(self, by: Caller | None, issue: Any) -> Any:
        return await self.world.do(issue_moves.claim_issue, ops.ClaimIssue(id=issue.id), by=by)

    async def close(self, by: Caller | None, issue: Any, **fields: Any) -> Any:
        return await self.world.do(issue_moves.close_issue, ops.CloseIssue(id=issue.id, **fields), by=by)

    async def show(self, by: Caller | None, issue: Any) -> ops.IssueDetail:
        shown: ops.IssueDetail = await self.world.do(
            IssueViews(self.world.reading).show_issue, ops.OneIssue(id=issue.id), by=by
        )
        return shown


@pytest.fixture
async def two(world: World) -> Two:
    return Two(world, await world.join("finder"), await world.join("keeper", project=OTHER.id))


async def kinds(world: World, project_id: str) -> list[str]:
    return [event.kind for event in await world.log() if event.project == project_id and "issue" in event.kind]


async def test_the_whole_way(two: Two) -> None:
    world = two.world
    mine = await world.task(held_by=two.finder)
    issue = await two.open(blocks=[mine.ref])
    assert (issue.ref, issue.status, issue.from_project) == ("other#1", "todo", "vc")
    assert issue.found_in == mine.id and "continues" in issue.warnings[0]
    (came,) = await world.unread(two.keeper)
    assert (came.subject, came.body, came.task) == ("Crash", "It crashes.", "other#1")
    assert (came.sender.name, came.sender.project, came.sender.human) == ("finder", "vc", "dana")
    await two.claim(two.keeper, issue)
    await two.reply(two.keeper, issue, "Which version?", type=MessageType.QUERY)
    (asked,) = await world.read(two.finder)
    assert (asked.body, asked.thread_id) == ("Which version?", issue.thread_id)
    answer = await two.reply(two.finder, issue, "1.3")
    assert await world.states(asked) == {two.finder.name: "acknowledged"}
    assert await world.states(answer) == {two.keeper.name: "sent"}
    await two.close(two.keeper, issue, message="Fixed.")
    (told,) = await world.unread(two.finder)
    assert (told.subject, told.body) == ("other#1 is done: Crash", "Fixed.")
    shown = await two.show(two.finder, issue)
    assert [one.body for one in shown.comments] == ["It crashes.", "Which version?", "1.3", "Fixed."]
    assert [one.ref for one in shown.dependants] == ["vc#1"] and shown.origin is not None
    for project in (VC, OTHER):
        assert await kinds(world, project.id) == [
            "issue.opened", "issue.claimed", "issue.commented", "issue.commented", "issue.closed",
        ]  # fmt: skip


async def test_what_waits_on_an_issue_is_ready_when_it_is_closed(two: Two) -> None:
    issue = await two.open()
    waits = await two.world.task(depends_on=[issue.ref])
    assert not waits.ready
    with pytest.raises(errors.NotReady, match="other#1"):
        await two.world.do(moves.start_task, task_shapes.StartTask(id=waits.id), by=two.finder)
    await two.claim(two.keeper, issue)
    done = await two.close(two.keeper, issue)
    assert done.unblocked == [waits.ref]
    assert (await two.world.do(tasks.show_task, task_shapes.OneTask(id=waits.id))).ready


async def test_a_circle_across_projects_is_refused(two: Two) -> None:
    mine = await two.world.task(held_by=two.finder)
    issue = await two.open(blocks=[mine.ref])
    await two.claim(two.keeper, issue)
    depend = task_shapes.DependTask(id=issue.id, on=[mine.ref])
    with pytest.raises(errors.Cycle, match="other#1 → vc#1 → other#1"):
        await two.world.do(dependencies.change_dependencies, depend, by=two.keeper)


async def test_a_worker_opens_an_issue_elsewhere_and_may_do_no_more_there(two: Two) -> None:
    issue = await two.open()
    for move in (two.claim, two.close):
        with pytest.raises(errors.NotPermitted):
            await move(two.finder, issue)
    with pytest.raises(errors.NotPermitted):
        await two.world.do(
            tasks.create_task, task_shapes.CreateTask(project=OTHER.id, title="A task of theirs"), by=two.finder
        )
    with pytest.raises(errors.Invalid, match="your own project"):
        await two.open(to="vc")


async def test_nobody_else_has_a_say(two: Two) -> None:
    third = await two.world.store.write(lambda tx: _third(tx))
    stranger = await two.world.join("stranger", project=third)
    issue = await two.open()
    with pytest.raises(errors.NotPermitted, match="two projects"):
        await two.reply(stranger, issue, "I too.")
    assert (await two.show(stranger, issue)).comments == []


async def test_a_third_project_sees_that_it_is_there_and_not_what_was_said(two: Two) -> None:
    world = two.world
    stranger = await world.boss("stranger", project=await world.store.write(lambda tx: _third(tx)))
    opened = await two.open(message="Secret.")
    await two.claim(two.keeper, opened)
    block = task_shapes.BlockTask(id=opened.id, reason="Secret.")
    await world.do(moves.block_task, block, by=two.keeper)
    await world.do(moves.unblock_task, task_shapes.HeldTask(id=opened.id), by=two.keeper)
    report = task_shapes.ReportTask(kind=ReportKind.ERROR, id=opened.id, text="Secret.")
    await world.do(moves.report_task, report, by=two.keeper)
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
        for by in (two.finder, two.keeper, None):
            assert "Secret" in str(await world.do(service, request, by=by)), service
    seen = await two.show(stranger, opened)
    assert (seen.title, seen.status, seen.from_project, seen.description) == ("Crash", "failed", "vc", "")
    wait = task_shapes.WaitTasks(ids=[opened.ref], timeout=1000)
    waited = await TaskWaits(world.store, world.hub, world.presence).wait_for_tasks(stranger, wait)
    assert [task.description for task in waited.tasks] == [""]


async def test_nor_what_was_put_to_it(two: Two) -> None:
    world, documents = two.world, TaskDocuments(two.world.blobs)
    stranger = await world.boss("stranger", project=await world.store.write(lambda tx: _third(tx)))
    opened = await two.open()
    await two.claim(two.keeper, opened)
    request = document_ops.AddDocument(id=opened.id, title="Trace", content=b"Secret.")
    content = documents.store_content(request, world.blobs.store_content)
    added = await world.store.write(lambda tx: documents.add_document(tx, two.keeper, request, content))
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
        for by in (two.finder, two.keeper, None):
            assert await world.do(service, asked, by=by)


async def test_an_issue_that_is_open_is_closed_and_not_deleted(two: Two) -> None:
    opened = await two.open()
    boss = await two.world.boss("boss", project=OTHER.id)
    delete = task_shapes.OneTask(id=opened.id)
    for by in (boss, None):
        with pytest.raises(errors.Conflict, match="opened from vc") as refused:
            await two.world.do(tasks.delete_task, delete, by=by)
        assert "maestro issue close other#1" in refused.value.hint
    await two.close(boss, opened, wont_fix=True, message="No.")
    assert [one.body for one in await two.world.unread(two.finder)] == ["No."]
    assert (await two.world.do(tasks.delete_task, delete, by=boss)).ref == opened.ref
    by_hand = await two.open(by=two.world.dana)  # from nowhere else: nobody there waits to hear of it
    assert (await two.world.do(tasks.delete_task, task_shapes.OneTask(id=by_hand.id))).ref == by_hand.ref


def _third(tx: Any) -> str:
    project = Project("prj_00000000000000000000000002", "example.org/third", "third", [], tx.at)
    tx.projects.insert(project)
    return project.id


@pytest.mark.parametrize("to", ["other", "project:other", "example.org/other"])
async def test_mail_to_another_project_opens_an_issue(two: Two, to: str) -> None:
    mine = await two.world.task()
    sent = await two.world.send(two.finder, to, subject="Crash", task=mine.ref)
    assert sent.issue == "other#1"
    (issue,) = (await two.world.do(views.list_issues, ops.ListIssues(project="other"))).issues
    assert (issue.title, issue.found_in, issue.opener) == ("Crash", mine.id, "finder")
    again = await two.world.send(two.finder, "other#1", subject="More", message="Also here.")
    assert (again.issue, again.thread_id) == ("other#1", sent.thread_id)
    about = await two.world.send(two.finder, "other", task="other#1", subject="And")
    assert (about.issue, about.thread_id) == ("other#1", sent.thread_id)


async def test_mail_to_ones_own_project_and_to_several_is_only_mail(two: Two) -> None:
    assert (await two.world.send(two.finder, "vc")).issue is None
    assert (await two.world.send(two.finder, "other", "human")).issue is None
    assert (await two.world.do(views.list_issues, ops.ListIssues(project="other"))).issues == []


async def test_the_openers_reply_opens_it_again_if_the_receiver_lets_it(two: Two) -> None:
    issue = await two.open()
    await two.close(None, issue)
    (told,) = await two.world.read(two.finder)
    await two.world.reply(two.finder, told, "It still crashes.")
    assert (await two.show(None, issue)).status == "todo"
    assert (await two.world.unread(two.keeper))[-1].body == "It still crashes."
    await two.close(None, issue)
    await two.world.do(projects.edit_project, project_ops.EditProject(project="other", replies_reopen=False))
    with pytest.raises(errors.Conflict, match="does not reopen issues for a reply"):
        await two.reply(two.finder, issue, "And again.")
    await two.reply(None, issue, "The person may still add something.")
    assert (await two.show(None, issue)).status == "completed"


async def test_a_closed_issue_is_offered_to_nobody(two: Two) -> None:
    issue = await two.open()
    await two.close(None, issue, wont_fix=True, message="Not ours.")
    assert await two.world.subjects(two.keeper) == []
    (told,) = await two.world.unread(two.finder)
    assert (told.subject, told.body) == ("other#1 is closed as cancelled: Crash", "Not ours.")


async def test_a_claimed_issue_is_offered_to_its_holder_only_and_to_all_when_that_one_ends(two: Two) -> None:
    world = two.world
    second = await world.join("second", project=OTHER.id)
    issue = await two.open()
    sent = (await two.show(None, issue)).comments[0]
    claim = mail_shapes.OneThread(id=sent.id)
    await world.do(issue_moves.claim_thread_or_issue, claim, by=two.keeper)
    with pytest.raises(errors.Conflict):
        await world.do(issue_moves.claim_thread_or_issue, claim, by=second)
    assert await world.subjects(second) == [] and await world.subjects(two.keeper) == ["Crash"]
    await two.reply(two.finder, issue, "More about it.")
    await world.end(two.keeper)
    await UnreadMailJob(world.store).run_once()
    assert [one.body for one in await world.unread(second)] == ["It crashes.", "More about it."]
    assert (await two.show(None, issue)).status == "todo"


async def test_when_the_opener_is_gone_another_of_its_project_hears(two: Two) -> None:
    world = two.world
    issue = await two.open()
    await two.claim(two.keeper, issue)
    await two.reply(two.keeper, issue, "Asked before it ended.")
    await world.end(two.finder)
    await UnreadMailJob(world.store).run_once()
    await two.reply(two.keeper, issue, "Asked after.")
    heir = await world.join("heir")
    assert [one.body for one in await world.unread(heir)] == ["Asked before it ended.", "Asked after."]
    assert "has ended" in str((await world.unread(heir))[1].reason)
    assert await world.subjects() == []  # not the person's
    await two.reply(heir, issue, "I go on for it.")
    assert (await world.unread(two.keeper))[-1].body == "I go on for it."


@pytest.mark.parametrize(
    ("inbound", "known", "lets"),
    [
        (InboundPolicy.OPEN, False, True),
        (InboundPolicy.KNOWN, False, False),
        (InboundPolicy.KNOWN, True, True),
        (InboundPolicy.CLOSED, True, False),
    ],
)
async def test_who_may_write_from_outside(two: Two, inbound: InboundPolicy, known: bool, lets: bool) -> None:
    world = two.world
    if known:
        await two.open(by=two.keeper, to="vc")
    await world.do(projects.edit_project, project_ops.EditProject(project="other", inbound=inbound))
    ways = (
        lambda: two.open(),
        lambda: world.send(two.finder, "other"),
        lambda: world.send(two.finder, two.keeper.name),
    )
    for way in ways:
        if lets:
            await way()
        else:
            with pytest.raises(errors.NotPermitted, match=f"other takes .*inbound = {inbound}"):
                await way()
    await two.open(by=world.dana)  # the person always may


async def test_a_conversation_that_is_there_goes_on_after_the_door_is_closed(two: Two) -> None:
    issue = await two.open()
    await two.world.do(projects.edit_project, project_ops.EditProject(project="other", inbound=InboundPolicy.CLOSED))
    assert (await two.reply(two.finder, issue, "One more thing.")).issue == issue.ref


async def test_lists_of_issues(two: Two) -> None:
    made = [await two.open(title=f"Issue {number}") for number in range(3)]
    await two.close(None, made[0])

    async def titles(**fields: Any) -> list[str]:
        page = await two.world.do(views.list_issues, ops.ListIssues(**fields))
        return [one.title for one in page.issues]

    assert await titles(project="other") == ["Issue 1", "Issue 2"]
    assert await titles(project="other", status=ops.IssueFilter.CLOSED) == ["Issue 0"]
    assert await titles(project="vc") == []
    assert await titles(project="vc", opened=True, status=ops.IssueFilter.ALL) == ["Issue 0", "Issue 1", "Issue 2"]
    first = await two.world.do(views.list_issues, ops.ListIssues(project="vc", opened=True, limit=1))
    rest = await two.world.do(views.list_issues, ops.ListIssues(project="vc", opened=True, cursor=first.cursor))
    assert [one.title for one in (*first.issues, *rest.issues)] == ["Issue 1", "Issue 2"]


async def test_files_come_with_an_issue(two: Two, world: World) -> None:
    letter = SendMail(
        to=["other"], subject="Crash", message="See.", attach=[mail_shapes.MailFile(file_name="r.txt", content=b"x")]
    )
    sent = await world.store.write(
        lambda tx: world.sending.send_mail(
            tx, two.finder, letter, world.sending.store_contents(letter, world.blobs.store_content)
        )
    )
    issue = (await two.world.do(views.list_issues, ops.ListIssues(project="other"))).issues[0]
    (comment,) = (await two.show(two.keeper, issue)).comments
    assert [one.file_name for one in comment.attachments] == ["r.txt"] and comment.id == sent.id
