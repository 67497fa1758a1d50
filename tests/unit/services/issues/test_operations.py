"""The parties of an issue open the issue, reply to it, and make tasks depend on it."""

from __future__ import annotations

import msgspec
import pytest
from tests.unit.services.conftest import OTHER, VC
from tests.unit.services.issues.conftest import Parties, edit_other

from maestro.core import errors
from maestro.domain.messages import MessageType
from maestro.domain.projects import InboundPolicy
from maestro.operations import issues as ops
from maestro.operations import task_shapes
from maestro.services.issues.operations import needs_no_cycle_check
from maestro.services.tasks import dependencies


async def test_both_parties_get_messages_and_events_from_the_opening_to_the_closing_of_an_issue(
    parties: Parties,
) -> None:
    world = parties.world
    mine = await world.task(held_by=parties.finder)
    issue = await parties.open_issue(blocks=[mine.ref])
    assert (issue.ref, issue.status, issue.from_project) == ("other#1", "todo", "vc")
    assert issue.found_in == mine.id and "continues" in issue.warnings[0]
    (came,) = await world.unread(parties.keeper)
    assert (came.subject, came.body, came.task) == ("Crash", "It crashes.", "other#1")
    assert (came.sender.name, came.sender.project, came.sender.human) == ("finder", "vc", "dana")
    await parties.claim_issue(parties.keeper, issue)
    await parties.reply_to_issue(parties.keeper, issue, "Which version?", type=MessageType.QUERY)
    (asked,) = await world.read(parties.finder)
    assert (asked.body, asked.thread_id) == ("Which version?", issue.thread_id)
    answer = await parties.reply_to_issue(parties.finder, issue, "1.3")
    assert await world.states(asked) == {parties.finder.name: "acknowledged"}
    assert await world.states(answer) == {parties.keeper.name: "sent"}
    await parties.close_issue(parties.keeper, issue, message="Fixed.")
    (told,) = await world.unread(parties.finder)
    assert (told.subject, told.body) == ("other#1 is done: Crash", "Fixed.")
    shown = await parties.show_issue(parties.finder, issue)
    assert [message.body for message in shown.comments] == ["It crashes.", "Which version?", "1.3", "Fixed."]
    assert [message.ref for message in shown.dependants] == ["vc#1"] and shown.origin is not None
    for project in (VC, OTHER):
        assert await parties.event_kinds(project) == [
            "issue.opened", "issue.claimed", "issue.commented", "issue.commented", "issue.closed",
        ]  # fmt: skip


async def test_a_dependency_cycle_across_projects_is_refused(parties: Parties) -> None:
    mine = await parties.world.task(held_by=parties.finder)
    issue = await parties.open_issue(blocks=[mine.ref])
    await parties.claim_issue(parties.keeper, issue)
    depend = task_shapes.DependTask(id=issue.id, on=[mine.ref])
    with pytest.raises(errors.Cycle, match="other#1 → vc#1 → other#1"):
        await parties.world.do(dependencies.change_dependencies, depend, by=parties.keeper)


async def test_the_only_task_that_the_opener_holds_is_the_origin_of_an_issue(parties: Parties) -> None:
    world = parties.world
    assert (await parties.open_issue()).found_in is None
    first = await world.task(held_by=parties.finder)
    assert (await parties.open_issue()).found_in == first.id
    second = await world.task(held_by=parties.finder)
    assert (await parties.open_issue()).found_in is None, "either of two tasks may be the origin"
    assert (await parties.open_issue(found_in=second.ref)).found_in == second.id


async def test_the_person_opens_an_issue_without_naming_a_project(parties: Parties) -> None:
    issue = await parties.open_issue(by=parties.world.dana)
    assert (issue.from_project, issue.opener) == ("other", "dana")
    named = await parties.open_issue(by=parties.world.dana, project="vc")
    assert named.from_project == "vc"


async def test_only_tasks_that_the_caller_may_move_are_made_to_depend_on_an_issue(parties: Parties) -> None:
    world = parties.world
    free = await world.task()
    before = len(await world.log())
    with pytest.raises(errors.NotHeld):
        await parties.open_issue(blocks=[free.ref])
    assert len(await world.log()) == before, "the refused request leaves no issue"
    issue = await parties.open_issue(by=await world.boss("boss"), blocks=[free.ref, free.id])
    assert [task.ref for task in (await parties.show_issue(None, issue)).dependants] == [free.ref]


async def test_a_check_refuses_an_issue_before_files_are_stored(parties: Parties) -> None:
    world = parties.world

    async def check(to: str) -> None:
        request = ops.OpenIssue(to=to, title="t", message="m")
        await world.store.read(lambda tx: parties.operations.check_open(tx, parties.finder, request))

    await check("other")
    with pytest.raises(errors.Invalid, match="your own project"):
        await check("vc")
    with pytest.raises(errors.NotFound):
        await check("third")
    await edit_other(world, inbound=InboundPolicy.CLOSED)
    with pytest.raises(errors.NotPermitted):
        await check("other")


def test_an_issue_that_blocks_no_task_needs_no_search_for_cycles() -> None:
    request = ops.OpenIssue(to="other", title="t", message="m")
    assert needs_no_cycle_check(request)
    assert not needs_no_cycle_check(msgspec.structs.replace(request, blocks=["#1"]))
