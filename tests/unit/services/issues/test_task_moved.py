"""A move of the task of an issue changes the thread, informs the opener and logs events for both projects."""

from __future__ import annotations

from tests.unit.services.conftest import OTHER, VC
from tests.unit.services.issues.conftest import Parties

from maestro.operations import task_shapes
from maestro.services.tasks import moves


async def test_agents_of_the_receiver_get_no_mail_about_a_closed_issue(parties: Parties) -> None:
    issue = await parties.open_issue()
    await parties.close_issue(None, issue, wont_fix=True, message="Not ours.")
    assert await parties.world.subjects(parties.keeper) == []
    (told,) = await parties.world.unread(parties.finder)
    assert (told.subject, told.body) == ("other#1 is closed as cancelled: Crash", "Not ours.")


async def test_the_opener_gets_the_result_of_the_issue_with_a_text_or_the_reason(parties: Parties) -> None:
    world = parties.world
    fixed, failed = await parties.open_issue(title="First"), await parties.open_issue(title="Second")
    await parties.claim_issue(parties.keeper, fixed)
    await parties.close_issue(parties.keeper, fixed)
    await parties.claim_issue(parties.keeper, failed)
    reason = task_shapes.ReasonedTask(id=failed.id, reason="The disk is broken.")
    await world.do(moves.fail_task, reason, by=parties.keeper)
    assert [(message.subject, message.body) for message in await world.unread(parties.finder)] == [
        ("other#1 is done: First", "other#1 is done."),
        ("other#2 is closed as failed: Second", "The disk is broken."),
    ]


async def test_the_opener_gets_a_message_about_a_reopening_by_the_receiver_only(parties: Parties) -> None:
    world, issue = parties.world, await parties.open_issue()
    boss = await world.boss("boss", project=OTHER.id)
    for caller in (boss, parties.finder, await world.join("peer")):
        await parties.close_issue(None, issue)
        await parties.reopen_issue(caller, issue)
    subjects = await world.subjects(parties.finder)
    assert subjects.count("other#1 is open again: Crash") == 1
    assert (await parties.event_kinds(VC)).count("issue.reopened") == 3


async def test_an_opener_who_closes_the_issue_gets_no_message(parties: Parties) -> None:
    issue = await parties.open_issue(by=parties.world.dana, project="vc")
    await parties.close_issue(None, issue)
    assert await parties.world.subjects() == []


async def test_the_holder_of_the_task_holds_the_thread(parties: Parties) -> None:
    world, issue = parties.world, await parties.open_issue()
    second = await world.join("second", project=OTHER.id)
    await parties.claim_issue(parties.keeper, issue)
    assert await world.subjects(second) == []
    await world.do(moves.release_task, task_shapes.HeldTask(id=issue.id), by=parties.keeper)
    assert await world.subjects(second) == ["Crash"]


async def test_moves_of_a_task_that_is_no_issue_write_no_issue_events(parties: Parties) -> None:
    await parties.world.task(held_by=parties.finder)
    assert await parties.event_kinds(VC) == []


async def test_both_projects_log_each_issue_event_with_the_name_of_the_opening_project(parties: Parties) -> None:
    await parties.claim_issue(parties.keeper, await parties.open_issue())
    claims = [event for event in await parties.world.log() if event.kind == "issue.claimed"]
    assert [event.project for event in claims] == [OTHER.id, VC.id]
    for event in claims:
        assert (event.data["ref"], event.data["issue_from"], event.data["status"]) == (
            "other#1",
            "vc",
            "in_progress",
        )
        assert event.data["holder"] == parties.keeper.name
