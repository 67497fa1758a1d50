"""An issue is a task with a thread, and the inbound policy of the receiver decides who may open an issue."""

from __future__ import annotations

import pytest
from tests.unit.services.conftest import OTHER, VC, World
from tests.unit.services.issues.conftest import Parties, edit_other

from maestro.core import errors
from maestro.domain.priorities import Priority
from maestro.domain.projects import InboundPolicy
from maestro.operations import issues as ops
from maestro.operations import mail_shapes
from maestro.operations.mail_shapes import SendMail
from maestro.services.issues import views


@pytest.mark.parametrize("to", ["other", "project:other", "example.org/other"])
async def test_mail_to_another_project_opens_an_issue(parties: Parties, to: str) -> None:
    mine = await parties.world.task()
    sent = await parties.world.send(parties.finder, to, subject="Crash", task=mine.ref)
    assert sent.issue == "other#1"
    (issue,) = (await parties.world.do(views.list_issues, ops.ListIssues(project="other"))).issues
    assert (issue.title, issue.found_in, issue.opener) == ("Crash", mine.id, "finder")
    again = await parties.world.send(parties.finder, "other#1", subject="More", message="Also here.")
    assert (again.issue, again.thread_id) == ("other#1", sent.thread_id)
    about = await parties.world.send(parties.finder, "other", task="other#1", subject="And")
    assert (about.issue, about.thread_id) == ("other#1", sent.thread_id)


async def test_mail_to_the_own_project_or_to_several_recipients_opens_no_issue(parties: Parties) -> None:
    assert (await parties.world.send(parties.finder, "vc")).issue is None
    assert (await parties.world.send(parties.finder, "other", "human")).issue is None
    assert (await parties.world.do(views.list_issues, ops.ListIssues(project="other"))).issues == []


@pytest.mark.parametrize(
    ("inbound", "known", "lets"),
    [
        (InboundPolicy.OPEN, False, True),
        (InboundPolicy.KNOWN, False, False),
        (InboundPolicy.KNOWN, True, True),
        (InboundPolicy.CLOSED, True, False),
    ],
)
async def test_the_inbound_policy_decides_which_projects_may_open_issues(
    parties: Parties, inbound: InboundPolicy, known: bool, lets: bool
) -> None:
    world = parties.world
    if known:
        await parties.open_issue(by=parties.keeper, to="vc")
    await edit_other(world, inbound=inbound)
    ways = (
        lambda: parties.open_issue(),
        lambda: world.send(parties.finder, "other"),
        lambda: world.send(parties.finder, parties.keeper.name),
    )
    for way in ways:
        if lets:
            await way()
        else:
            with pytest.raises(errors.NotPermitted, match=f"other takes .*inbound = {inbound}"):
                await way()
    await parties.open_issue(by=world.dana)  # the person may always open an issue


async def test_the_first_comment_of_an_issue_has_the_attachments_of_the_mail(parties: Parties, world: World) -> None:
    letter = SendMail(
        to=["other"], subject="Crash", message="See.", attach=[mail_shapes.MailFile(file_name="r.txt", content=b"x")]
    )
    sent = await world.store.write(
        lambda tx: world.sending.send_mail(
            tx, parties.finder, letter, world.sending.store_contents(letter, world.blobs.store_content)
        )
    )
    issue = (await parties.world.do(views.list_issues, ops.ListIssues(project="other"))).issues[0]
    (comment,) = (await parties.show_issue(parties.keeper, issue)).comments
    assert [message.file_name for message in comment.attachments] == ["r.txt"] and comment.id == sent.id


async def test_an_opened_issue_is_a_task_of_the_receiver_and_a_message_to_the_receiver(parties: Parties) -> None:
    issue = await parties.open_issue(priority=Priority.HIGH)
    assert (issue.project_id, issue.from_project_id, issue.gates) == (OTHER.id, VC.id, [])
    assert (issue.priority, issue.description, issue.holder) == ("high", "It crashes.", None)
    (message,) = await parties.world.unread(parties.keeper)
    assert (message.priority, message.type, message.thread_id) == ("high", "query", issue.thread_id)
    kinds = [event.kind for event in await parties.world.log() if event.subject == issue.id]
    assert kinds == ["task.created", "task.ready", "issue.opened", "issue.opened"], "each party has an issue event"


async def test_opened_issues_count_for_the_rate_limit_of_mail(parties: Parties) -> None:
    with pytest.raises(errors.TooFast, match="messages went to other"):
        for _ in range(100):
            await parties.open_issue()
