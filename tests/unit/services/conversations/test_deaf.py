"""A program that lets nothing in while it works: whoever writes to it is told that it hears of it later."""

from __future__ import annotations

from typing import Any

import pytest

from maestro.operations.mail_shapes import OneMessage
from maestro.services.mail import receipts

Talking = Any


async def notes(talking: Talking, sent: Any) -> list[str | None]:
    """What its sender is told when it looks again."""
    status = await talking.world.do(receipts.show_status, OneMessage(id=sent.id))
    return [one.note for one in status.deliveries]


@pytest.mark.parametrize("word", ["turn_started", "asked"])
async def test_its_sender_is_told_while_it_works(deaf: Talking, word: str) -> None:
    await deaf.idle()
    await deaf.tell("turn_started")
    if word == "asked":
        await deaf.tell(
            "asked", ask="1", what="permission", title="May it?", text="It would.", choices=["allow", "deny"]
        )
    sent = await deaf.world.send(None, "w")
    (one,) = sent.deliveries
    assert one.note == (
        "w is busy, and its program takes messages only between turns. w gets the message at the end of the turn."
    )
    assert await notes(deaf, sent) == [one.note]


async def test_nobody_is_told_of_one_that_is_idle(deaf: Talking) -> None:
    await deaf.idle()
    sent = await deaf.world.send(None, "w")
    assert [one.note for one in sent.deliveries] == [None]


async def test_nobody_is_told_of_one_that_hears_at_work(talking: Talking) -> None:
    await talking.idle()
    await talking.tell("turn_started")
    sent = await talking.world.send(None, "w")
    assert [one.note for one in sent.deliveries] == [None]
