"""A posted message gets a thread, deliveries, attachments, a log entry, and a sender that the server attests."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from tests.unit.services.conftest import DAVE, OTHER, VC, World

from maestro.core import limits
from maestro.domain.callers import Caller, Role
from maestro.domain.documents import StoredContent
from maestro.domain.messages import HUMAN_MAILBOX, Message, MessageType, SenderKind
from maestro.domain.priorities import Priority
from maestro.domain.trackers import TRACKER_PREFIX
from maestro.services.mail import create
from maestro.services.mail.create import Draft, MailTarget
from maestro.text.redaction import HIDDEN_TOKEN

TO_PROJECT = MailTarget(VC.id, VC.id, name="vc")


def make_draft(**fields: Any) -> Draft:
    """Return a draft of a message of the server to project vc."""
    values: dict[str, Any] = {
        "sender": create.server_sender(),
        "project_id": VC.id,
        "to": ["vc"],
        "targets": [TO_PROJECT],
        "type": MessageType.DIRECTIVE,
        "subject": "Rebase",
        "body": create.inline_body("Rebase before you go on."),
    }
    return Draft(**(values | fields))


async def post(world: World, **fields: Any) -> Message:
    return await world.store.write(lambda tx: create.post_message(tx, make_draft(**fields)))


async def test_a_message_starts_its_own_thread_and_an_answer_joins_the_thread(world: World) -> None:
    first = await post(world)
    answer = await post(world, parent=first)
    assert (first.thread_id, first.parent_id) == (first.id, None)
    assert (answer.thread_id, answer.parent_id) == (first.id, first.id)
    placed = await post(world, thread_id=first.id)
    assert (placed.thread_id, placed.parent_id) == (first.id, None)
    assert first.seq < answer.seq < placed.seq


async def test_each_mailbox_gets_one_delivery_of_a_message(world: World) -> None:
    again = MailTarget(VC.id, VC.id, reason="w has ended", name="vc")
    message = await post(world, targets=[TO_PROJECT, MailTarget(HUMAN_MAILBOX, None), again])
    assert await world.states(message) == {VC.id: "sent", HUMAN_MAILBOX: "sent"}
    event = (await world.log())[-1]
    assert (event.kind, event.subject, event.actor) == ("mail.sent", message.id, "maestro")
    assert event.data["to"] == [VC.id, HUMAN_MAILBOX] and "task" not in event.data


async def test_the_log_names_the_task_of_a_message(world: World) -> None:
    task = await world.task()
    await post(world, task_id=task.id)
    assert (await world.log())[-1].data["task"] == task.id


@pytest.mark.parametrize(
    ("target", "is_session", "priority"),
    [
        (TO_PROJECT, True, Priority.CRITICAL),
        (MailTarget(OTHER.id, OTHER.id), True, Priority.HIGH),
        (MailTarget(HUMAN_MAILBOX, None), True, Priority.CRITICAL),
        (MailTarget(OTHER.id, OTHER.id), False, Priority.CRITICAL),
    ],
    ids=["own project", "another project", "person", "person to another project"],
)
async def test_a_critical_message_of_an_agent_to_another_project_counts_as_high(
    world: World, target: MailTarget, is_session: bool, priority: Priority
) -> None:
    caller = await world.join("w") if is_session else world.dana
    sender = await world.store.read(lambda tx: create.sender_of(tx, caller))
    message = await post(world, sender=sender, targets=[target], priority=Priority.CRITICAL)
    assert message.priority is priority


async def test_the_attachments_of_a_message_keep_their_order(world: World) -> None:
    files = [(f"{number}.txt", StoredContent(b"x", None, 1, f"sha {number}")) for number in range(20)]
    message = await post(world, attachments=files)
    assert [attachment.file_name for attachment in message.attachments] == [name for name, _ in files]
    stored = await world.store.read(lambda tx: tx.mail.get(message.id))
    assert stored is not None and stored.attachments == message.attachments


async def test_a_message_with_its_body_in_a_file_shows_the_preview(world: World) -> None:
    body = StoredContent(None, "sha", 100_000, "sha")
    message = await post(world, body=body, preview="The beginning")
    assert (message.body, message.truncated) == ("The beginning", True)
    whole = await post(world)
    assert (whole.body, whole.truncated) == ("Rebase before you go on.", False)


async def test_the_server_fills_in_the_sender_from_the_caller(world: World) -> None:
    worker = msgspec.structs.replace(await world.join("w"), address="dave/vc")

    async def sender_of(caller: Caller) -> tuple[Any, ...]:
        return msgspec.structs.astuple(await world.store.read(lambda tx: create.sender_of(tx, caller)))

    assert await sender_of(worker) == (SenderKind.SESSION, worker.name, "w", "dave/vc", "dana", "vc")
    assert await sender_of(world.dana) == (SenderKind.PERSON, "dana", "dana", None, "dana", None)
    in_tracker = msgspec.structs.replace(world.dana, name=f"{TRACKER_PREFIX}ada")
    assert (await sender_of(in_tracker))[:3] == (SenderKind.TRACKER, f"{TRACKER_PREFIX}ada", "ada")
    assert create.server_sender().kind is SenderKind.MAESTRO


def test_a_session_reads_its_own_mailbox_and_the_shared_mailboxes() -> None:
    worker = Caller(Role.WORKER, "ses_1", session_id="ses_1", project_id=VC.id)
    assert create.own_mailboxes(worker) == ["ses_1", VC.id]
    member = msgspec.structs.replace(worker, member_id="mem_1", workspace_id=DAVE.id)
    assert create.own_mailboxes(member) == ["ses_1", "mem_1", DAVE.id, VC.id]


def test_the_person_reads_one_mailbox_and_an_unidentified_caller_reads_none(world: World) -> None:
    assert create.own_mailboxes(world.dana) == [HUMAN_MAILBOX]
    assert create.own_mailboxes(Caller(Role.NOBODY, "nobody")) == []


def test_tokens_in_an_inline_body_are_hidden() -> None:
    content = create.inline_body(f"My token is mst_{'x' * 43}.")
    assert content.body == f"My token is {HIDDEN_TOKEN}.".encode() and content.size == len(content.body)


def test_a_body_fits_inline_up_to_the_size_that_an_inbox_shows_whole() -> None:
    assert create.fits_inline("x" * limits.inbox_body_chars_max)
    assert not create.fits_inline("x" * (limits.inbox_body_chars_max + 1))
