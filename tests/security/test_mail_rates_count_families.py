"""Tests that mail is counted by session, family and project, and that agents cannot stop another's work repeatedly.

Children give a sender no additional mail.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from maestro.core import errors, limits
from maestro.domain.callers import Caller
from maestro.domain.priorities import Priority
from maestro.operations import mail as mail_ops
from maestro.operations import mail_shapes
from maestro.operations import projects as project_ops
from maestro.operations import sessions as session_ops
from maestro.server.app import Server
from maestro.testing.clock import FakeClock
from maestro.tools.hook_dialect import HookEvent, HookMoment, HookReply, ReplyKind

Join = Callable[..., Any]
FAMILY_MAX, PROJECT_MAX = 1_200, 3_000


async def send(server: Server, sender: Caller, to: str, **fields: Any) -> mail_shapes.SentMail:
    values: dict[str, Any] = {"subject": "s", "message": "b"} | fields
    sent: mail_shapes.SentMail = await server.call(
        mail_ops.SEND, mail_shapes.SendMail(to=[to], **values), caller=sender
    )
    return sent


async def flood(server: Server, sender: Caller, to: str, *, most: int, **fields: Any) -> int:
    """Send until the server refuses, and return the number of sent messages."""
    for count in range(most):
        try:
            await send(server, sender, to, **fields)
        except errors.TooFast:
            return count
    return most


async def child_of(server: Server, parent: Caller, name: str) -> Caller:
    made = await server.call(session_ops.REGISTER, session_ops.RegisterSession(name=name), caller=parent)
    return await server.identify(token=made.token, peer=None)


async def test_a_worker_with_500_children_sends_no_more_mail_than_a_family_may(server: Server, join: Join) -> None:
    victim, worker = await join("victim"), await join("worker")
    children = []
    with contextlib.suppress(errors.LimitReached):
        for number in range(500):
            children.append(await child_of(server, worker, f"child-{number}"))
    sent = sum(await asyncio.gather(*(flood(server, child, victim.name, most=6) for child in children)))
    assert len(children) * 6 > FAMILY_MAX and sent <= FAMILY_MAX


async def test_a_chain_of_children_counts_as_one_family(server: Server, join: Join) -> None:
    victim, youngest = await join("victim"), await join("worker")
    sent = 0
    for number in range(limits.ancestry_depth_max + 6):
        youngest = await child_of(server, youngest, f"child-{number}")
        sent += await flood(server, youngest, victim.name, most=20)
    assert sent <= FAMILY_MAX


async def test_the_families_of_a_project_together_have_a_limit(server: Server, join: Join) -> None:
    victim = await join("victim")
    workers = [await join(f"worker-{number}") for number in range(30)]
    sent = sum(await asyncio.gather(*(flood(server, worker, victim.name, most=110) for worker in workers)))
    assert sent == PROJECT_MAX


async def test_50_workers_of_a_run_that_finish_together_are_not_refused(server: Server, join: Join) -> None:
    boss = await join("boss", mode="coordinate")
    workers = [await child_of(server, boss, f"worker-{number}") for number in range(50)]
    for worker in workers:
        assert await flood(server, worker, boss.name, most=20) == 20
        await server.call(session_ops.END, session_ops.EndSession(), caller=worker)


async def test_the_refusal_says_that_the_family_was_counted(server: Server, join: Join, dana: Caller) -> None:
    victim, worker = await join("victim"), await join("worker")
    with pytest.raises(errors.TooFast) as refused:
        for number in range(20):
            child = await child_of(server, worker, f"child-{number}")
            for _ in range(100):
                await send(server, child, victim.name)
    assert refused.value.data["counted"] == "family" and refused.value.data["per_minute"] == FAMILY_MAX


# Tests of critical mail


class Agent:
    """An agent whose hooks fire, and which receives every reply."""

    def __init__(self, server: Server, caller: Caller) -> None:
        self._desk = server.parts.hooks.handler
        self.caller = caller

    async def calls_a_tool(self, *, is_aside: bool = False) -> HookReply:
        happening = HookEvent(
            tool="claude", event="PreToolUse", moment=HookMoment.BEFORE_TOOL, is_from_subagent=is_aside
        )
        reply = await self._desk.answer_hook(self.caller, happening)
        await self._desk.settle_reply(self.caller, reply, is_delivered=True)
        return reply


@pytest.fixture
async def other(server: Server, dana: Caller, make_repo: Callable[..., Path]) -> str:
    """Register a second project and return its id."""
    request = project_ops.LocateProject(path=str(make_repo("other")))
    place = await server.call(project_ops.LOCATE, request, caller=dana)
    found: str = place.project.id
    return found


async def refusals(server: Server, agent: Agent, sender: Caller, *, calls: int = 12, is_aside: bool = False) -> int:
    """Send critical mail before each of several tool calls, and return the number of refused calls."""
    refused = 0
    for _ in range(calls):
        await send(server, sender, agent.caller.name, priority=Priority.CRITICAL)
        refused += (await agent.calls_a_tool(is_aside=is_aside)).kind is ReplyKind.REFUSE
    return refused


async def test_critical_mail_from_another_project_refuses_no_tool_call(
    server: Server, join: Join, other: str
) -> None:
    agent, stranger = Agent(server, await join("coder")), await join("stranger", project=other)
    assert await refusals(server, agent, stranger) == 0
    inbox = await server.call(mail_ops.INBOX, mail_shapes.ReadInbox(peek=True), caller=agent.caller)
    assert {message.priority for message in inbox.messages} == {Priority.HIGH}


async def test_a_critical_issue_from_another_project_refuses_no_tool_call(
    server: Server, join: Join, other: str
) -> None:
    agent, stranger = Agent(server, await join("coder")), await join("stranger", project=other)
    request = mail_shapes.SendMail(to=["vc"], subject="s", message="b", priority=Priority.CRITICAL)
    opened = await server.call(mail_ops.SEND, request, caller=stranger)
    assert opened.issue and (await agent.calls_a_tool()).kind is ReplyKind.NOTHING
    await send(server, stranger, opened.issue, priority=Priority.CRITICAL)
    assert (await agent.calls_a_tool()).kind is ReplyKind.NOTHING


@pytest.mark.parametrize("is_aside", [False, True])
async def test_critical_mail_from_agents_refuses_one_tool_call_per_minute(
    server: Server, join: Join, clock: FakeClock, is_aside: bool
) -> None:
    agent, sibling, another = Agent(server, await join("coder")), await join("sibling"), await join("another")
    assert await refusals(server, agent, sibling, is_aside=is_aside) == 1
    assert await refusals(server, agent, another, is_aside=is_aside) == 0  # the recipient counts
    clock.advance(61)
    assert await refusals(server, agent, sibling, is_aside=is_aside) == 1


async def test_critical_mail_from_the_person_refuses_every_tool_call(
    server: Server, join: Join, dana: Caller
) -> None:
    agent, sibling = Agent(server, await join("coder")), await join("sibling")
    assert await refusals(server, agent, sibling) == 1
    assert await refusals(server, agent, dana) == 12
