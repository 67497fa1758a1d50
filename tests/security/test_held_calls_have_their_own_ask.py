"""Tests that each held tool call has an ask of its own, also if two calls look the same to the person."""

from __future__ import annotations

import asyncio
from typing import Any
from unittest import mock

from maestro.domain.asks import Ask
from maestro.domain.callers import Caller
from maestro.events.hub import EVERYTHING
from maestro.operations import asks as ops
from maestro.services.asks import asks
from maestro.services.asks.withdrawal import withdraw_permission_asks
from maestro.services.hooks.permission_hold import PermissionHolds
from maestro.testing.supervised import SECONDS_MAX
from maestro.tools import hook_dialect, registry
from maestro.tools.hook_dialect import HookEvent, HookMoment, HookReply, ReplyKind

SAME = "x" * 8000


async def read_asks(server: Any, caller: Caller) -> list[Ask]:
    found: list[Ask] = await server.store.read(lambda tx: tx.asks.open_of_session(caller.name, limit=10))
    return found


async def until_asked(server: Any, caller: Caller, count: int) -> list[Ask]:
    with server.hub.subscribe([EVERYTHING]) as changes:
        async with asyncio.timeout(SECONDS_MAX):
            while len(found := await read_asks(server, caller)) < count:
                await changes.wait_for_event()
                changes.take_events()
    return found


def wants(command: str) -> HookEvent:
    payload = b'{"tool_name": "Bash", "tool_input": {"command": "%s"}}' % command.encode()
    found = registry.DIALECTS["claude"].read_event("PermissionRequest", hook_dialect.decode_payload(payload))
    assert found is not None and found.moment is HookMoment.ASKS and found.call_digest
    return found


async def answer(server: Any, dana: Caller, ask: Ask, text: str) -> None:
    await server.store.write(lambda tx: asks.answer_ask(tx, dana, ops.AnswerAsk(id=ask.id, answer=text)))


async def test_two_calls_that_differ_only_after_the_shown_part_are_two_asks(
    server: Any, dana: Caller, join: Any
) -> None:
    caller = await join("ada")
    holding = PermissionHolds(server.store, server.hub)
    good, bad = (asyncio.ensure_future(holding.hold_call(caller, wants(SAME + end))) for end in ("good", "evil"))
    first, second = await until_asked(server, caller, 2)
    assert (first.title, first.text) == (second.title, second.text)
    await answer(server, dana, first, "allow")
    await answer(server, dana, second, "deny")
    replies: list[HookReply] = [await good, await bad]
    assert {reply.kind for reply in replies} == {
        ReplyKind.ALLOW,
        ReplyKind.DENY,
    }  # the asks look the same: either can be the first


async def test_a_held_call_gets_no_second_ask_after_a_restart(server: Any, dana: Caller, join: Any) -> None:
    caller = await join("ada")
    lost = asyncio.ensure_future(PermissionHolds(server.store, server.hub).hold_call(caller, wants(SAME)))
    (ask,) = await until_asked(server, caller, 1)
    after = asyncio.ensure_future(PermissionHolds(server.store, server.hub).hold_call(caller, wants(SAME)))
    other = asyncio.ensure_future(PermissionHolds(server.store, server.hub).hold_call(caller, wants(SAME + "!")))
    await until_asked(server, caller, 2)
    await answer(server, dana, ask, "allow")
    assert {(await lost).kind, (await after).kind} == {ReplyKind.ALLOW}
    assert not other.done()  # the answer to a call does not answer another call
    other.cancel()
    await asyncio.gather(other, return_exceptions=True)


async def test_an_answer_from_before_a_kill_of_the_server_is_found_by_the_call(
    server: Any, dana: Caller, join: Any
) -> None:
    caller = await join("ada")
    died = PermissionHolds(server.store, server.hub)
    died._withdraw_ask = mock.AsyncMock()  # type: ignore[method-assign]  # a killed server withdraws no ask
    lost = asyncio.ensure_future(died.hold_call(caller, wants(SAME)))
    (ask,) = await until_asked(server, caller, 1)
    lost.cancel()
    await asyncio.gather(lost, return_exceptions=True)
    await answer(server, dana, ask, "allow")
    other = asyncio.ensure_future(PermissionHolds(server.store, server.hub).hold_call(caller, wants(SAME + "!")))
    await until_asked(server, caller, 1)
    assert not other.done()
    reply = await PermissionHolds(server.store, server.hub).hold_call(caller, wants(SAME))
    assert reply.kind is ReplyKind.ALLOW
    other.cancel()
    await asyncio.gather(other, return_exceptions=True)


async def test_only_asks_from_permission_hooks_are_withdrawn(server: Any, join: Any) -> None:
    caller = await join("ada")
    like = ops.CreateAsk(
        title="May it use Bash?", message="claude waits for permission.", kind=ops.AskKind.PERMISSION, choice=[]
    )
    await server.store.write(lambda tx: asks.create_ask(tx, caller, like))
    await server.store.write(lambda tx: withdraw_permission_asks(tx, caller))
    assert len(await read_asks(server, caller)) == 1  # the agent created this ask itself
