"""Mail in hook replies counts as read only after the model was asked."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.services.conversations.conftest import ProtocolHooks

from maestro.services.conversations import runner_events, unconfirmed_mail
from maestro.tools.hook_dialect import HookMoment, ReplyKind, StartReason


async def test_mail_that_a_hook_showed_is_not_pushed(hooks: ProtocolHooks) -> None:
    sent = await hooks.program.world.send(None, "w")
    assert (await hooks.fire(HookMoment.AFTER_TOOL)).kind is ReplyKind.CONTEXT
    assert (await hooks.delivery_state(sent), await hooks.count_pushes()) == ("delivered", 0)


@pytest.mark.parametrize("moment", [HookMoment.PROMPT, HookMoment.MODEL, HookMoment.AFTER_TOOL])
async def test_shown_mail_is_not_read_before_the_model_was_asked(hooks: ProtocolHooks, moment: HookMoment) -> None:
    sent = await hooks.program.world.send(None, "w")
    await hooks.fire(HookMoment.AFTER_TOOL)
    await hooks.fire(moment)
    assert await hooks.delivery_state(sent) == "delivered"


async def test_a_turn_that_succeeds_marks_shown_mail_as_read(hooks: ProtocolHooks) -> None:
    sent = await hooks.program.world.send(None, "w")
    await hooks.fire(HookMoment.AFTER_TOOL)
    await hooks.end_turn()
    assert (await hooks.delivery_state(sent), await hooks.count_pushes()) == ("read", 0)


@pytest.mark.parametrize("how", [{"interrupted": True}, {"problem": "The model is away."}])
async def test_shown_mail_is_offered_again_after_a_failed_turn(hooks: ProtocolHooks, how: dict[str, Any]) -> None:
    sent = await hooks.program.world.send(None, "w")
    await hooks.fire(HookMoment.AFTER_TOOL)
    await hooks.end_turn(**how)
    assert (await hooks.delivery_state(sent), await hooks.count_pushes()) == ("delivered", 1)


async def test_mail_that_was_shown_to_a_dead_program_is_offered_again(hooks: ProtocolHooks) -> None:
    world, caller = hooks.program.world, hooks.program.caller
    await world.send(None, "w")
    await hooks.fire(HookMoment.AFTER_TOOL)
    session = await world.session(caller)
    await world.store.write(lambda tx: runner_events.end_conversation(tx, session))
    assert await world.store.read(lambda tx: tx.hooks.answers_of(caller.name)) == []
    await hooks.fire(HookMoment.STARTS, start_reason=StartReason.RESUMED)
    assert (await hooks.fire(HookMoment.AFTER_TOOL)).kind is ReplyKind.CONTEXT


async def show(hooks: ProtocolHooks, *subjects: str) -> list[str]:
    """Send messages, show each message in a separate hook reply, and return the receipts."""
    world, caller = hooks.program.world, hooks.program.caller
    for subject in subjects:
        await world.send(None, "w", subject=subject)
        await hooks.fire(HookMoment.AFTER_TOOL)
    found: list[str] = await world.store.read(lambda tx: tx.hooks.answers_of(caller.name))
    return found


async def test_unconfirmed_messages_include_the_messages_of_all_receipts(hooks: ProtocolHooks) -> None:
    world, caller = hooks.program.world, hooks.program.caller
    assert await world.store.read(lambda tx: unconfirmed_mail.unconfirmed_messages(tx, caller.name)) == set()
    receipts_shown = await show(hooks, "first", "second")
    numbers = await world.store.read(lambda tx: unconfirmed_mail.unconfirmed_messages(tx, caller.name))
    assert len(receipts_shown) == len(numbers) == 2


async def test_mark_read_marks_only_the_mail_of_the_given_receipts(hooks: ProtocolHooks) -> None:
    world, caller = hooks.program.world, hooks.program.caller
    first, second = await show(hooks, "first", "second")
    await world.store.write(lambda tx: unconfirmed_mail.mark_read(tx, caller, [first], via="hook"))
    assert await world.store.read(lambda tx: tx.hooks.answers_of(caller.name)) == [second]
    assert await world.subjects(caller) == ["second"]


async def test_the_mail_of_an_ended_session_is_not_marked_as_read(hooks: ProtocolHooks) -> None:
    world, caller = hooks.program.world, hooks.program.caller
    sent = await world.send(None, "w")
    await hooks.fire(HookMoment.AFTER_TOOL)
    await world.end(caller)
    await world.store.write(lambda tx: unconfirmed_mail.settle_at_turn_end(tx, caller.name, has_succeeded=True))
    assert await world.store.read(lambda tx: tx.hooks.answers_of(caller.name)) == []
    assert "read" not in (await world.states(sent)).values()
