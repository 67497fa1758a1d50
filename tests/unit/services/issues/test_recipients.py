"""The messages of an issue go to the holder and the opener, or to the mailbox that stands in for them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.unit.services.conftest import OTHER, VC
from tests.unit.services.issues.conftest import Parties

from maestro.domain.issues import Issue
from maestro.domain.messages import HUMAN_MAILBOX
from maestro.domain.trackers import TRACKER_PREFIX
from maestro.services.issues import recipients
from maestro.services.mail.create import MailTarget
from maestro.services.recovery.ended_mailboxes import EndedMailboxJob
from maestro.store.base import Tx


async def test_agents_of_the_project_of_an_ended_opener_get_the_comments(parties: Parties) -> None:
    world = parties.world
    issue = await parties.open_issue()
    await parties.claim_issue(parties.keeper, issue)
    await parties.reply_to_issue(parties.keeper, issue, "Asked before it ended.")
    await world.end(parties.finder)
    await EndedMailboxJob(world.store).run_once()
    await parties.reply_to_issue(parties.keeper, issue, "Asked after.")
    heir = await world.join("heir")
    assert [message.body for message in await world.unread(heir)] == ["Asked before it ended.", "Asked after."]
    assert "has ended" in str((await world.unread(heir))[1].reason)
    assert await world.subjects() == []  # the person gets no comment
    await parties.reply_to_issue(heir, issue, "I go on for it.")
    assert (await world.unread(parties.keeper))[-1].body == "I go on for it."


async def target_of(parties: Parties, find: Callable[..., MailTarget], issue: Any) -> MailTarget:
    def read(tx: Tx) -> MailTarget:
        task, record = tx.tasks.get(issue.id), tx.issues.of_task(issue.id)
        return find(tx, task) if find is recipients.receiver_target else find(tx, record, task)

    return await parties.world.store.read(read)


async def test_messages_to_the_receiver_go_to_the_holder_else_to_the_project(parties: Parties) -> None:
    issue = await parties.open_issue()
    assert (await target_of(parties, recipients.receiver_target, issue)).mailbox == OTHER.id
    await parties.claim_issue(parties.keeper, issue)
    assert (await target_of(parties, recipients.receiver_target, issue)).mailbox == parties.keeper.name


async def test_messages_to_the_opener_go_to_the_session_else_to_its_project(parties: Parties) -> None:
    issue = await parties.open_issue()
    assert (await target_of(parties, recipients.opener_target, issue)).mailbox == parties.finder.name
    await parties.world.end(parties.finder)
    target = await target_of(parties, recipients.opener_target, issue)
    assert (target.mailbox, target.name) == (VC.id, "vc")
    assert target.reason == "finder has ended (stopped); the message goes to all agents of vc"


async def test_messages_to_an_ended_opener_go_to_the_coordinator_of_the_opener_first(parties: Parties) -> None:
    boss = await parties.world.boss("boss")
    worker = await parties.world.join("w", under=boss)
    issue = await parties.open_issue(by=worker)
    await parties.world.end(worker)
    assert (await target_of(parties, recipients.opener_target, issue)).mailbox == boss.name


async def test_messages_to_a_person_who_opened_the_issue_go_to_the_mailbox_of_the_person(parties: Parties) -> None:
    issue = await parties.open_issue(by=parties.world.dana, project="vc")
    assert (await target_of(parties, recipients.opener_target, issue)).mailbox == HUMAN_MAILBOX


async def test_messages_to_a_tracker_user_who_opened_the_issue_go_to_the_project(parties: Parties) -> None:
    issue = await parties.open_issue()

    def read(tx: Tx) -> str:
        task = tx.tasks.get(issue.id)
        assert task is not None
        return recipients.opener_target(tx, Issue(issue.id, issue.thread_id, f"{TRACKER_PREFIX}ada"), task).mailbox

    assert await parties.world.store.read(read) == VC.id
