"""The model of a session gets mail by one channel only: a push, a hook reply or the first prompt."""

from __future__ import annotations

from typing import Any

import msgspec
from tests.unit.services.conversations.conftest import ProgramSession, ProtocolHooks

from maestro.domain import manifests
from maestro.domain.conversations import PendingPush
from maestro.domain.messages import MessageType, ReceivedMessage, SenderKind
from maestro.domain.priorities import Priority
from maestro.domain.sessions import SessionStatus
from maestro.operations import spawning as ops
from maestro.operations.mail_shapes import MailFile
from maestro.services.conversations import pending_pushes
from maestro.services.mail import receipts
from maestro.services.supervision import control
from maestro.testing.manifests import make_manifest
from maestro.tools.hook_dialect import EMPTY_REPLY, HookMoment


async def test_no_hook_shows_pushed_mail(hooks: ProtocolHooks) -> None:
    await hooks.program.world.send(None, "w", priority=Priority.CRITICAL)
    assert await hooks.count_pushes() == 1
    for moment in (HookMoment.PROMPT, HookMoment.BEFORE_TOOL, HookMoment.AFTER_TOOL, HookMoment.STOP):
        assert await hooks.fire(moment) is EMPTY_REPLY


async def test_no_hook_shows_a_live_prompt(hooks: ProtocolHooks) -> None:
    world, caller = hooks.program.world, hooks.program.caller
    asked = ops.PromptSession(id=caller.name, text="\nLook here.\nAnd there.")
    await world.do(control.send_prompt, asked, by=world.dana)
    for moment in (HookMoment.PROMPT, HookMoment.AFTER_TOOL, HookMoment.STOP):
        assert await hooks.fire(moment) is EMPTY_REPLY
    await world.send(None, "w")
    assert "Look here" not in (await hooks.fire(HookMoment.AFTER_TOOL)).text


async def unread(program: ProgramSession) -> list[ReceivedMessage]:
    found: list[ReceivedMessage] = await program.world.unread(program.caller)
    return found


async def without_pushed(program: ProgramSession, *, with_prompts: bool = True) -> list[str]:
    session, messages = await program.world.session(program.caller), await unread(program)
    left = await program.world.store.read(
        lambda tx: pending_pushes.without_pushed_mail(tx, session, messages, with_prompts=with_prompts)
    )
    return [message.subject for message in left]


async def put_push(program: ProgramSession, messages: list[ReceivedMessage], *, given_up: bool = False) -> None:
    receipt, at = receipts.receipt_for(messages), program.world.clock.now()
    push = PendingPush(
        session_id=program.caller.name, id="p1", receipt=receipt, attempts=1, pushed_at=at, given_up=given_up
    )
    await program.world.store.write(lambda tx: tx.conversations.put_push(push))


async def set_manifest(program: ProgramSession, **fields: Any) -> None:
    data = manifests.encode_manifest(make_manifest(**fields))
    await program.world.store.write(lambda tx: tx.spawns.reset_for_restart(program.caller.name, manifest=data))


async def messages_of_first_prompt(program: ProgramSession) -> list[str]:
    session = await program.world.session(program.caller)
    return await program.world.store.read(lambda tx: pending_pushes.messages_of_first_prompt(tx, session))


async def test_mail_of_a_pending_push_is_left_out_until_the_push_is_given_up(program: ProgramSession) -> None:
    for subject in ("first", "second"):
        await program.world.send(None, "w", subject=subject)
    first, _ = await unread(program)
    assert await without_pushed(program) == ["first", "second"]
    await put_push(program, [first])
    assert await without_pushed(program) == ["second"]
    await put_push(program, [first], given_up=True)
    assert await without_pushed(program) == ["first", "second"]


async def test_live_prompts_are_left_out_if_the_session_gets_live_prompts_as_pushes(program: ProgramSession) -> None:
    request = ops.PromptSession(id=program.caller.name, text="Hurry up.")
    await program.world.do(control.send_prompt, request)
    assert len(await without_pushed(program)) == 1
    assert await without_pushed(program, with_prompts=False) == []


async def test_mail_with_the_directive_of_the_first_prompt_is_left_out(program: ProgramSession) -> None:
    sent = await program.world.send(None, "w", subject="Start")
    directive = manifests.ManifestDirective(
        subject="Start", text="b", sender="dana", sender_kind=SenderKind.PERSON, message_id=sent.id
    )
    await set_manifest(program, directive=directive)
    assert await messages_of_first_prompt(program) == [sent.id]
    assert await without_pushed(program) == []
    await set_manifest(program, directive=msgspec.structs.replace(directive, message_id=None))
    assert await messages_of_first_prompt(program) == []


async def test_only_whole_messages_in_the_first_prompt_of_a_resumed_session_count(program: ProgramSession) -> None:
    world = program.world
    whole = await world.send(None, "w", message="Look here.")
    cut = await world.send(None, "w", message="A long text.")
    attached = await world.send(None, "w", message="See.", attach=[MailFile(file_name="a.txt", content=b"x")])
    texts = {whole.id: "Look here.\n", cut.id: "A long", attached.id: "See.", "msg_unknown": "x"}
    letters = tuple(
        manifests.UnreadMessage(
            message_id=message_id,
            sender="dana",
            type=MessageType.DIRECTIVE,
            priority=Priority.NORMAL,
            subject="s",
            text=text,
        )
        for message_id, text in texts.items()
    )
    resumed = manifests.LastStart(status=SessionStatus.STOPPED, ended_at="", messages=letters)
    await set_manifest(program, resumed=resumed)
    assert await messages_of_first_prompt(program) == [whole.id]
    session = await world.session(program.caller)
    in_prompt = await world.store.read(
        lambda tx: pending_pushes.unread_mail_of_first_prompt(tx, program.caller, session)
    )
    assert [message.id for message in in_prompt] == [whole.id]


async def test_a_session_that_was_not_spawned_has_no_first_prompt(program: ProgramSession) -> None:
    plain = await program.world.session(await program.world.join("plain"))
    assert await program.world.store.read(lambda tx: pending_pushes.messages_of_first_prompt(tx, plain)) == []
