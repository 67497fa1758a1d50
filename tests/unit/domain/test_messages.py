"""The status of a message moves forward only, and quick answers between agents are counted as hops."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from maestro.domain.messages import (
    STATUSES_BEFORE_STEP,
    Message,
    MessageStatus,
    ReceiptStep,
    Sender,
    SenderKind,
    ends_offer,
    has_reached,
    is_shared_mailbox,
    next_hop_count,
    reply_subject,
)
from maestro.testing.factories import make_message

AT = datetime(2026, 1, 1, 12, tzinfo=UTC)
BOXES = ("ses_1", "mem_1", "wsp_1", "prj_1", "human")


def test_a_receipt_step_moves_the_status_forward_and_final_statuses_stay() -> None:
    order = [MessageStatus.SENT, MessageStatus.DELIVERED, MessageStatus.READ, MessageStatus.ACKNOWLEDGED]
    for step, sources in STATUSES_BEFORE_STEP.items():
        reached = order.index(MessageStatus(step.value))
        assert sources == set(order[:reached])
    assert all(
        MessageStatus.EXPIRED not in sources and MessageStatus.ACKNOWLEDGED not in sources
        for sources in STATUSES_BEFORE_STEP.values()
    )


@pytest.mark.parametrize(
    ("status", "reached"),
    [
        (MessageStatus.SENT, set()),
        (MessageStatus.DELIVERED, {ReceiptStep.DELIVERED}),
        (MessageStatus.READ, {ReceiptStep.DELIVERED, ReceiptStep.READ}),
        (MessageStatus.ACKNOWLEDGED, set(ReceiptStep)),
        (MessageStatus.EXPIRED, set()),
    ],
)
def test_each_status_has_reached_the_steps_before_it(status: MessageStatus, reached: set[ReceiptStep]) -> None:
    assert {step for step in ReceiptStep if has_reached(status, step)} == reached


def test_mailboxes_of_members_checkouts_and_projects_are_shared() -> None:
    assert [mailbox for mailbox in BOXES if is_shared_mailbox(mailbox)] == ["mem_1", "wsp_1", "prj_1"]


def test_reading_ends_the_offer_of_a_message_except_in_a_project_mailbox() -> None:
    assert not any(ends_offer(mailbox, ReceiptStep.DELIVERED) for mailbox in BOXES)
    assert [mailbox for mailbox in BOXES if ends_offer(mailbox, ReceiptStep.READ)] == [
        "ses_1",
        "mem_1",
        "wsp_1",
        "human",
    ]
    assert all(ends_offer(mailbox, ReceiptStep.ACKNOWLEDGED) for mailbox in BOXES)


def said(by: str, *, hops: int = 0, kind: SenderKind = SenderKind.SESSION) -> Message:
    message: Message = make_message(sender=Sender(kind, by, by, None, "", None), hops=hops, created_at=AT)
    return message


def test_quick_answers_between_agents_raise_the_hop_count() -> None:
    soon = AT + timedelta(seconds=90)
    assert next_hop_count(None, sender="b", at=soon, seconds=90) == 0
    assert next_hop_count(said("a", hops=4), sender="b", at=soon, seconds=90) == 5
    assert next_hop_count(said("maestro", kind=SenderKind.MAESTRO), sender="b", at=soon, seconds=90) == 1


def test_a_pause_a_person_or_the_senders_own_message_resets_the_hop_count() -> None:
    assert next_hop_count(said("a", hops=9), sender="b", at=AT + timedelta(seconds=91), seconds=90) == 0
    assert next_hop_count(said("dana", hops=9, kind=SenderKind.PERSON), sender="b", at=AT, seconds=90) == 0
    assert next_hop_count(said("b", hops=9), sender="b", at=AT, seconds=90) == 0


def test_the_subject_of_an_answer_gets_the_prefix_re_once() -> None:
    assert reply_subject("Port?") == "Re: Port?"
    assert reply_subject("RE: Port?") == "RE: Port?"
    assert reply_subject("Regarding ports") == "Re: Regarding ports"
