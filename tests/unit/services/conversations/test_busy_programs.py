"""A delivery note tells the sender that a busy program takes messages only between turns."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.services.conversations.conftest import ProgramSession

from maestro.operations.mail_shapes import OneMessage
from maestro.services.mail import receipts


async def notes(program: ProgramSession, sent: Any) -> list[str | None]:
    """Return the notes that the sender gets in the status of a message."""
    status = await program.world.do(receipts.show_status, OneMessage(id=sent.id))
    return [one.note for one in status.deliveries]


@pytest.mark.parametrize("word", ["turn_started", "asked"])
async def test_the_sender_gets_a_note_while_the_program_is_busy(busy_program: ProgramSession, word: str) -> None:
    await busy_program.become_idle()
    await busy_program.report_event("turn_started")
    if word == "asked":
        await busy_program.report_event(
            "asked", ask="1", what="permission", title="May it?", text="It would.", choices=["allow", "deny"]
        )
    sent = await busy_program.world.send(None, "w")
    (one,) = sent.deliveries
    assert one.note == (
        "w is busy, and its program takes messages only between turns. w gets the message at the end of the turn."
    )
    assert await notes(busy_program, sent) == [one.note]


async def test_the_sender_gets_no_note_about_an_idle_program(busy_program: ProgramSession) -> None:
    await busy_program.become_idle()
    sent = await busy_program.world.send(None, "w")
    assert [one.note for one in sent.deliveries] == [None]


async def test_the_sender_gets_no_note_about_a_busy_program_with_hooks(program: ProgramSession) -> None:
    await program.become_idle()
    await program.report_event("turn_started")
    sent = await program.world.send(None, "w")
    assert [one.note for one in sent.deliveries] == [None]
