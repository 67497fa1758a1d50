"""Both parties comment on an issue, and a comment of the opener may reopen a closed issue."""

from __future__ import annotations

import pytest
from tests.unit.services.conftest import OTHER
from tests.unit.services.issues.conftest import Parties, add_third_project, edit_other

from maestro.core import errors
from maestro.domain.callers import Caller
from maestro.domain.projects import InboundPolicy
from maestro.operations import issues as ops


async def test_a_session_of_a_third_project_may_not_comment_on_an_issue(parties: Parties) -> None:
    third = await parties.world.store.write(add_third_project)
    stranger = await parties.world.join("stranger", project=third)
    issue = await parties.open_issue()
    with pytest.raises(errors.NotPermitted, match="two projects"):
        await parties.reply_to_issue(stranger, issue, "I too.")
    assert (await parties.show_issue(stranger, issue)).comments == []


async def test_a_reply_of_the_opener_reopens_the_issue_if_the_receiver_allows_reopening(parties: Parties) -> None:
    issue = await parties.open_issue()
    await parties.close_issue(None, issue)
    (told,) = await parties.world.read(parties.finder)
    await parties.world.reply(parties.finder, told, "It still crashes.")
    assert (await parties.show_issue(None, issue)).status == "todo"
    assert (await parties.world.unread(parties.keeper))[-1].body == "It still crashes."
    await parties.close_issue(None, issue)
    await edit_other(parties.world, replies_reopen=False)
    with pytest.raises(errors.Conflict, match="does not reopen issues for a reply"):
        await parties.reply_to_issue(parties.finder, issue, "And again.")
    await parties.reply_to_issue(None, issue, "The person may still add something.")
    assert (await parties.show_issue(None, issue)).status == "completed"


async def test_the_opener_comments_on_an_open_issue_after_the_receiver_closed_its_inbound_policy(
    parties: Parties,
) -> None:
    issue = await parties.open_issue()
    await edit_other(parties.world, inbound=InboundPolicy.CLOSED)
    assert (await parties.reply_to_issue(parties.finder, issue, "One more thing.")).issue == issue.ref


async def test_a_comment_goes_to_the_holder_and_acknowledges_the_answered_message(parties: Parties) -> None:
    issue = await parties.open_issue()
    await parties.claim_issue(parties.keeper, issue)
    asked = await parties.reply_to_issue(parties.keeper, issue, "Which version?")
    assert asked.issue == "other#1"
    await parties.reply_to_issue(parties.finder, issue, "1.3")
    assert await parties.world.states(asked) == {parties.finder.name: "acknowledged"}
    assert (await parties.world.unread(parties.keeper))[-1].subject == "Re: Crash"


async def test_a_comment_of_the_receiver_claims_the_thread_and_not_the_issue(parties: Parties) -> None:
    world = parties.world
    second = await world.join("second", project=OTHER.id)
    issue = await parties.open_issue()
    await parties.reply_to_issue(parties.keeper, issue, "I look into it.")
    await parties.reply_to_issue(parties.finder, issue, "Thanks.")
    assert [message.body for message in await world.unread(parties.keeper)] == ["Thanks."]
    assert await world.subjects(second) == []
    assert (await parties.show_issue(None, issue)).status == "todo", "the issue itself has no holder"


async def test_a_comment_of_the_person_counts_as_a_comment_of_the_named_project(parties: Parties) -> None:
    issue = await parties.open_issue()
    await parties.close_issue(None, issue)
    await parties.reply_to_issue(None, issue, "Thanks.", project="other")
    assert (await parties.show_issue(None, issue)).status == "completed"
    await parties.reply_to_issue(None, issue, "It still crashes.", project="vc")
    assert (await parties.show_issue(None, issue)).status == "todo", "only a comment of the opener reopens an issue"


async def test_too_many_quick_comments_stop_the_thread(parties: Parties) -> None:
    issue = await parties.open_issue()
    with pytest.raises(errors.Looping):
        for number in range(100):
            parties.world.clock.advance(0.01)
            speaker = parties.keeper if number % 2 else parties.finder
            await parties.reply_to_issue(speaker, issue, "Thanks!")


async def test_check_reply_refuses_a_comment_without_writing_an_event(parties: Parties) -> None:
    world, issue = parties.world, await parties.open_issue()
    stranger = await world.join("stranger", project=await world.store.write(add_third_project))

    async def check(caller: Caller) -> None:
        request = ops.ReplyIssue(id=issue.id, message="x")
        await world.store.read(lambda tx: parties.operations.check_reply(tx, caller, request))

    await parties.close_issue(None, issue)
    before = len(await world.log())
    await check(parties.finder)
    with pytest.raises(errors.NotPermitted, match="two projects"):
        await check(stranger)
    assert len(await world.log()) == before
    await edit_other(world, replies_reopen=False)
    with pytest.raises(errors.Conflict, match="does not reopen"):
        await check(parties.finder)
    await check(parties.keeper)
