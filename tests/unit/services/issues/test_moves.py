"""Sessions and the person claim, close and reopen issues, and claim and release their threads."""

from __future__ import annotations

import pytest
from tests.unit.services.conftest import OTHER
from tests.unit.services.issues.conftest import Parties, edit_other

from maestro.core import errors
from maestro.operations import mail_shapes, task_shapes
from maestro.services.issues import moves as issue_moves
from maestro.services.recovery.ended_mailboxes import EndedMailboxJob
from maestro.services.tasks import dependencies, moves
from maestro.services.tasks import editing as tasks


async def test_a_task_that_depends_on_an_issue_is_ready_when_the_issue_is_closed(parties: Parties) -> None:
    issue = await parties.open_issue()
    waits = await parties.world.task(depends_on=[issue.ref])
    assert not waits.ready
    with pytest.raises(errors.NotReady, match="other#1"):
        await parties.world.do(moves.start_task, task_shapes.StartTask(id=waits.id), by=parties.finder)
    await parties.claim_issue(parties.keeper, issue)
    done = await parties.close_issue(parties.keeper, issue)
    assert done.unblocked == [waits.ref]
    assert (await parties.world.do(tasks.show_task, task_shapes.OneTask(id=waits.id))).ready


async def test_a_worker_may_open_issues_in_another_project_but_not_move_or_create_tasks_there(
    parties: Parties,
) -> None:
    issue = await parties.open_issue()
    for move in (parties.claim_issue, parties.close_issue):
        with pytest.raises(errors.NotPermitted):
            await move(parties.finder, issue)
    with pytest.raises(errors.NotPermitted):
        await parties.world.do(
            tasks.create_task, task_shapes.CreateTask(project=OTHER.id, title="A task of theirs"), by=parties.finder
        )
    with pytest.raises(errors.Invalid, match="your own project"):
        await parties.open_issue(to="vc")


async def test_an_open_issue_of_another_project_cannot_be_deleted(parties: Parties) -> None:
    opened = await parties.open_issue()
    boss = await parties.world.boss("boss", project=OTHER.id)
    delete = task_shapes.OneTask(id=opened.id)
    for by in (boss, None):
        with pytest.raises(errors.Conflict, match="opened from vc") as refused:
            await parties.world.do(tasks.delete_task, delete, by=by)
        assert "maestro issue close other#1" in refused.value.hint
    await parties.close_issue(boss, opened, wont_fix=True, message="No.")
    assert [message.body for message in await parties.world.unread(parties.finder)] == ["No."]
    assert (await parties.world.do(tasks.delete_task, delete, by=boss)).ref == opened.ref
    by_hand = await parties.open_issue(by=parties.world.dana)  # no other project opened this issue
    assert (await parties.world.do(tasks.delete_task, task_shapes.OneTask(id=by_hand.id))).ref == by_hand.ref


async def test_only_the_holder_gets_the_mail_of_a_claimed_issue_until_the_holder_ends(parties: Parties) -> None:
    world = parties.world
    second = await world.join("second", project=OTHER.id)
    issue = await parties.open_issue()
    sent = (await parties.show_issue(None, issue)).comments[0]
    claim = mail_shapes.OneThread(id=sent.id)
    await world.do(issue_moves.claim_thread_or_issue, claim, by=parties.keeper)
    with pytest.raises(errors.Conflict):
        await world.do(issue_moves.claim_thread_or_issue, claim, by=second)
    assert await world.subjects(second) == [] and await world.subjects(parties.keeper) == ["Crash"]
    await parties.reply_to_issue(parties.finder, issue, "More about it.")
    await world.end(parties.keeper)
    await EndedMailboxJob(world.store).run_once()
    assert [message.body for message in await world.unread(second)] == ["It crashes.", "More about it."]
    assert (await parties.show_issue(None, issue)).status == "todo"


async def test_the_claim_of_a_task_that_is_no_issue_is_refused_with_a_hint(parties: Parties) -> None:
    task = await parties.world.task()
    with pytest.raises(errors.NotFound, match="vc#1 is a task of its own project, not an issue") as refused:
        await parties.claim_issue(None, task)
    assert refused.value.hint == "Show the task: maestro task show 'vc#1'"


async def test_a_coordinator_closes_an_issue_without_a_claim_and_a_worker_does_not(parties: Parties) -> None:
    issue, second = await parties.open_issue(), await parties.open_issue()
    with pytest.raises(errors.NotHeld):
        await parties.close_issue(parties.keeper, issue)
    boss = await parties.world.boss("boss", project=OTHER.id)
    closed = await parties.close_issue(boss, issue, message="Fixed.")
    assert (closed.status, closed.holder) == ("completed", None)
    assert (await parties.close_issue(None, second)).status == "completed"


async def test_an_issue_that_waits_for_other_tasks_cannot_be_closed(parties: Parties) -> None:
    world, issue = parties.world, await parties.open_issue()
    first = await world.do(tasks.create_task, task_shapes.CreateTask(project=OTHER.id, title="First"))
    await world.do(dependencies.change_dependencies, task_shapes.DependTask(id=issue.id, on=[first.ref]))
    with pytest.raises(errors.NotReady, match=first.ref):
        await parties.close_issue(None, issue)


async def test_a_worker_does_not_decide_that_an_issue_will_not_be_fixed(parties: Parties) -> None:
    issue = await parties.open_issue()
    await parties.claim_issue(parties.keeper, issue)
    with pytest.raises(errors.NotPermitted, match="--wont-fix"):
        await parties.close_issue(parties.keeper, issue, wont_fix=True)
    boss = await parties.world.boss("boss", project=OTHER.id)
    assert (await parties.close_issue(boss, issue, wont_fix=True, message="No.")).status == "cancelled"


async def test_both_parties_reopen_an_issue_and_the_opener_only_if_the_receiver_allows_reopening(
    parties: Parties,
) -> None:
    world, issue = parties.world, await parties.open_issue()
    boss = await world.boss("boss", project=OTHER.id)
    for caller in (parties.finder, boss, None):
        await parties.close_issue(None, issue)
        assert (await parties.reopen_issue(caller, issue)).status == "todo"
    await parties.close_issue(None, issue)
    await edit_other(world, replies_reopen=False)
    with pytest.raises(errors.NotPermitted, match="other does not let other projects reopen its issues"):
        await parties.reopen_issue(parties.finder, issue)
    assert (await parties.reopen_issue(None, issue, project="vc")).status == "todo", (
        "the person may always reopen an issue"
    )


async def test_the_release_of_the_thread_of_an_issue_releases_the_issue(parties: Parties) -> None:
    world, issue = parties.world, await parties.open_issue()
    thread = mail_shapes.OneThread(id=(await parties.show_issue(None, issue)).comments[0].id)
    await world.do(issue_moves.claim_thread_or_issue, thread, by=parties.keeper)
    assert (await parties.show_issue(None, issue)).holder == parties.keeper.name
    again = await world.do(issue_moves.claim_thread_or_issue, thread, by=parties.keeper)
    assert again.claimed_by == parties.keeper.name, "a second claim by the holder changes nothing"
    released = await world.do(issue_moves.release_thread_or_issue, thread, by=parties.keeper)
    assert released.claimed_by is None
    assert (await parties.show_issue(None, issue)).status == "todo"


async def test_a_thread_without_an_issue_is_claimed_and_released(parties: Parties) -> None:
    world = parties.world
    sent = await world.send(None, "other", subject="For one of you", project=OTHER.id)
    thread = mail_shapes.OneThread(id=sent.id)
    claimed = await world.do(issue_moves.claim_thread_or_issue, thread, by=parties.keeper)
    assert claimed.claimed_by == parties.keeper.name
    assert (await world.do(issue_moves.release_thread_or_issue, thread, by=parties.keeper)).claimed_by is None
