"""The list of agents shows which agents are online, away or offline, and the tasks of each agent."""

from __future__ import annotations

from datetime import timedelta

import pytest
from tests.unit.services.conftest import DAVE, OTHER, VC, World

from maestro.core import limits
from maestro.domain.presence import Agent, Presence
from maestro.domain.projects import Workspace
from maestro.operations import agents as ops
from maestro.services.sessions.agents import AgentViews


async def listed(world: World, **fields: object) -> ops.AgentList:
    request = ops.ListAgents(**{"project": "vc", **fields})  # type: ignore[arg-type]
    found: ops.AgentList = await world.do(AgentViews(world.presence).list_agents, request)
    return found


async def only(world: World, **fields: object) -> Agent:
    (found,) = (await listed(world, **fields)).agents
    return found


async def test_a_checkout_that_never_had_a_session_is_offline(world: World) -> None:
    found = await only(world)
    assert (found.address, found.presence, found.last_seen) == ("dave/vc", Presence.OFFLINE, None)


async def test_an_agent_is_online_then_away_after_silence_and_offline_after_its_end(world: World) -> None:
    dave = await world.join("dave", path=DAVE.path)
    task = await world.task(held_by=dave)
    found = await only(world)
    assert (found.address, found.presence, found.name) == ("dave/vc", Presence.ONLINE, "dave")
    assert [work.ref for work in found.works_on] == [task.ref] and found.human == "dana"
    world.clock.advance(300)
    assert (await only(world)).presence is Presence.AWAY
    world.presence.record_sign(dave.name)
    back = await only(world)
    assert (back.presence, back.last_seen) == (Presence.ONLINE, world.clock.now())
    await world.end(dave)
    gone = await only(world)
    assert (gone.address, gone.presence, gone.status) == ("dave/vc", Presence.OFFLINE, "stopped")


async def test_an_agent_with_an_open_connection_is_online(world: World) -> None:
    dave = await world.join("dave", path=DAVE.path)
    with world.presence.keep_connected(dave.name):
        world.clock.advance(3000)
        assert (await only(world)).presence is Presence.ONLINE


async def test_a_list_of_online_agents_tells_whether_any_agent_is_online(world: World) -> None:
    none = await listed(world, online=True)
    assert (none.agents, none.online, none.reached) == ([], 0, False)
    await world.join("loose")
    found = await listed(world, online=True)
    assert ([agent.name for agent in found.agents], found.online, found.reached) == (["loose"], 1, True)
    assert (await listed(world)).reached


async def test_agents_of_all_projects_are_listed_up_to_a_limit(world: World) -> None:
    await world.join("here")
    await world.join("there", project=OTHER.id)
    found = (await listed(world, everywhere=True)).agents
    assert [agent.name for agent in found if agent.name] == ["there", "here"]
    first = await listed(world, limit=1, everywhere=True)
    assert [agent.name for agent in first.agents] == ["there"] and first.truncated
    assert [agent.name for agent in (await listed(world, limit=1)).agents] == ["here"]


@pytest.mark.parametrize("kind", ["sessions", "workspaces", "projects"])
async def test_a_list_that_leaves_out_sessions_workspaces_or_projects_is_truncated(
    world: World, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    if kind == "sessions":
        await world.join("first")
        await world.join("second")
    elif kind == "workspaces":
        ada = Workspace("wsp_00000000000000000000000001", VC.id, "ada", "ada/vc", "/src/ada/vc", DAVE.created_at)
        await world.store.write(lambda tx: tx.projects.insert_workspace(ada))
    is_everywhere = kind == "projects"
    assert not (await listed(world, everywhere=is_everywhere)).truncated
    monkeypatch.setattr(limits, "page_items_max", 1)
    assert (await listed(world, everywhere=is_everywhere)).truncated


async def test_an_agent_is_listed_with_a_limited_number_of_held_tasks(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    dave = await world.join("dave", path=DAVE.path)
    first = await world.task(held_by=dave)
    await world.task(held_by=dave)
    assert len((await only(world)).works_on) == 2
    monkeypatch.setattr(limits, "agent_tasks_shown_max", 1)
    assert [work.ref for work in (await only(world)).works_on] == [first.ref]


async def test_online_agents_come_before_agents_that_are_away(world: World) -> None:
    await world.join("away")
    world.clock.advance(300)
    await world.join("online")
    listing = await listed(world)
    assert [agent.name for agent in listing.agents] == ["online", "away", None]
    assert listing.online == 1 and not listing.truncated


async def test_the_stored_sign_of_life_counts_if_the_server_has_no_sign_of_life_in_memory(world: World) -> None:
    """A new server has no signs of life in memory, so the time in the store counts."""
    await world.join("w", path=DAVE.path)
    world.clock.advance(60)
    assert (await only(world)).last_seen == world.clock.now() - timedelta(seconds=60)
