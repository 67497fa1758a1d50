"""The scope of a broadcast and the sender decide which sessions get the broadcast."""

from __future__ import annotations

from typing import Any

import pytest

from maestro.core import errors
from maestro.domain.callers import Caller
from maestro.domain.messages import HUMAN_MAILBOX, BroadcastScope
from maestro.operations import mail_shapes as ops
from maestro.operations.teams import CreateTeam
from maestro.services.members import teams

World = Any
VC, OTHER = "prj_00000000000000000000000000", "prj_00000000000000000000000001"


class Tree:
    """Sessions: boss ── (a1, a2, deputy ── (d1, d2));  rival ── (r1, r2);  loner;  elsewhere (of another project).

    Team backend has the members ada (a1, d1, r1) and bob (a2, loner, boss). Member eve (d2, r2) is in no team.
    """

    def __init__(self, world: World) -> None:
        self.world = world
        self.who: dict[str, Caller] = {}

    async def grow(self) -> None:
        world = self.world
        for name in ("ada", "bob", "eve"):
            await world.member(name)
        await world.do(teams.create_team, CreateTeam(project=VC, name="backend", leader="ada", members=["bob"]))
        boss = await world.boss("boss", member="bob")
        deputy = await world.boss("deputy", under=boss)
        rival = await world.boss("rival")
        self.who = {"boss": boss, "deputy": deputy, "rival": rival}
        for name, above, member in (
            ("a1", boss, "ada"),
            ("a2", boss, "bob"),
            ("d1", deputy, "ada"),
            ("d2", deputy, "eve"),
            ("r1", rival, "ada"),
            ("r2", rival, "eve"),
            ("loner", None, "bob"),
        ):
            self.who[name] = await world.join(name, under=above, member=member)
        self.who["elsewhere"] = await world.boss("elsewhere", project=OTHER)

    async def broadcast(self, by: str, scope: BroadcastScope, **fields: Any) -> ops.SentMail:
        request = ops.BroadcastMail(scope=scope, subject="s", message="b", **fields)
        made: ops.SentMail = await self.world.do(
            self.world.sending.send_broadcast, request, by=self.who.get(by, self.world.dana)
        )
        return made

    async def reached(self, by: str, scope: BroadcastScope, **fields: Any) -> set[str]:
        """Send a broadcast and return the names of the sessions whose mailboxes got a delivery."""
        sent = await self.broadcast(by, scope, **fields)
        states = await self.world.states(sent)
        names = {caller.name: name for name, caller in self.who.items()}
        return {names[mailbox] for mailbox in states}


@pytest.fixture
async def tree(world: World) -> Tree:
    made = Tree(world)
    await made.grow()
    return made


EVERYONE = {"boss", "deputy", "rival", "a1", "a2", "d1", "d2", "r1", "r2", "loner"}


@pytest.mark.parametrize(
    ("by", "scope", "reached"),
    [
        ("boss", BroadcastScope.MY_WORKERS, {"a1", "a2", "deputy", "d1", "d2"}),
        ("deputy", BroadcastScope.MY_WORKERS, {"d1", "d2"}),
        ("rival", BroadcastScope.MY_WORKERS, {"r1", "r2"}),
        ("a1", BroadcastScope.SIBLINGS, {"a2", "deputy"}),
        ("deputy", BroadcastScope.SIBLINGS, {"a1", "a2"}),
        ("d1", BroadcastScope.SIBLINGS, {"d2"}),
        ("a1", BroadcastScope.TEAM, {"a2", "boss"}),
        ("d2", BroadcastScope.TEAM, set()),
        ("boss", BroadcastScope.TEAM, {"a1", "a2", "d1", "loner"}),
        ("r1", BroadcastScope.TEAM, set()),
        ("boss", BroadcastScope.ALL, EVERYONE - {"boss"}),
        ("rival", BroadcastScope.ALL, EVERYONE - {"rival"}),
    ],
)
async def test_a_broadcast_reaches_the_sessions_of_its_scope(
    tree: Tree, by: str, scope: BroadcastScope, reached: set[str]
) -> None:
    if reached:
        assert await tree.reached(by, scope) == reached
    else:
        with pytest.raises(errors.NotFound):
            await tree.broadcast(by, scope)


async def test_the_person_broadcasts_to_a_whole_project_only(tree: Tree) -> None:
    assert await tree.reached("dana", BroadcastScope.ALL, project="vc") == EVERYONE
    assert await tree.reached("dana", BroadcastScope.ALL, project="other") == {"elsewhere"}
    for scope in (BroadcastScope.MY_WORKERS, BroadcastScope.SIBLINGS, BroadcastScope.TEAM):
        with pytest.raises(errors.Invalid):
            await tree.broadcast("dana", scope, project="vc")
    with pytest.raises(errors.NotFound):
        await tree.broadcast("dana", BroadcastScope.ALL)


@pytest.mark.parametrize("by", ["deputy", "a1", "loner", "d2"])
async def test_a_session_that_is_no_top_coordinator_cannot_broadcast_to_all(tree: Tree, by: str) -> None:
    with pytest.raises(errors.NotPermitted) as refused:
        await tree.broadcast(by, BroadcastScope.ALL)
    assert refused.value.hint == "Use --scope my-workers, --scope siblings or --scope team."


async def test_a_broadcast_to_another_project_is_refused(tree: Tree) -> None:
    for by, scope in (("elsewhere", BroadcastScope.ALL), ("boss", BroadcastScope.MY_WORKERS)):
        project = "vc" if by == "elsewhere" else "other"
        with pytest.raises(errors.NotPermitted):
            await tree.broadcast(by, scope, project=project)


async def test_ended_sessions_get_no_broadcast_and_live_sessions_below_ended_sessions_do(tree: Tree) -> None:
    await tree.world.end(tree.who["deputy"])
    await tree.world.end(tree.who["a2"])
    assert await tree.reached("boss", BroadcastScope.MY_WORKERS) == {"a1", "d1", "d2"}
    assert await tree.reached("d1", BroadcastScope.SIBLINGS) == {"d2"}


async def test_the_team_scope_of_a_member_without_a_team_is_the_member_below_the_same_coordinator(tree: Tree) -> None:
    tree.who["d3"] = await tree.world.join("d3", under=tree.who["deputy"], member="eve")
    assert await tree.reached("d2", BroadcastScope.TEAM) == {"d3"}  # r2 has another coordinator
    tree.who["plain"] = await tree.world.join("plain")
    with pytest.raises(errors.Invalid):
        await tree.broadcast("plain", BroadcastScope.TEAM)


async def test_a_broadcast_without_recipients_is_refused(tree: Tree) -> None:
    for by, scope in (
        ("loner", BroadcastScope.SIBLINGS),
        ("a1", BroadcastScope.MY_WORKERS),
        ("boss", BroadcastScope.SIBLINGS),
    ):
        with pytest.raises(errors.NotFound):
            await tree.broadcast(by, scope)


async def test_a_broadcast_is_one_message_with_a_delivery_for_each_recipient(tree: Tree) -> None:
    sent = await tree.broadcast("boss", BroadcastScope.MY_WORKERS)
    (one,) = await tree.world.unread(tree.who["d1"])
    assert (one.id, one.scope, one.to) == (sent.id, BroadcastScope.MY_WORKERS, ["my-workers"])
    await tree.world.read(tree.who["d1"])
    states = await tree.world.states(sent)
    assert states[tree.who["d1"].name] == "read" and states[tree.who["d2"].name] == "sent"
    assert HUMAN_MAILBOX not in states and await tree.world.unread(tree.who["boss"]) == []
    events = [event for event in await tree.world.log() if event.kind == "mail.sent" and event.subject == sent.id]
    assert len(events) == 1 and len(events[0].data["to"]) == 5


async def test_an_answer_to_a_broadcast_goes_only_to_the_sender_of_the_broadcast(tree: Tree) -> None:
    sent = await tree.broadcast("boss", BroadcastScope.MY_WORKERS)
    answer = await tree.world.reply(tree.who["d1"], sent)
    assert await tree.world.states(answer) == {tree.who["boss"].name: "sent"}
    assert (await tree.world.states(sent))[tree.who["d1"].name] == "acknowledged"
