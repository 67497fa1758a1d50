"""Who is there: online, away, offline, and what each works on."""

from __future__ import annotations

from tests.unit.services.conftest import DAVE, OTHER, World

from maestro.domain.presence import Agent, Presence
from maestro.operations import agents as ops
from maestro.services.sessions.agents import AgentViews


async def listed(world: World, **fields: object) -> ops.AgentList:
    request = ops.ListAgents(**{"project": "vc", **fields})  # type: ignore[arg-type]
    found: ops.AgentList = await world.do(AgentViews(world.presence).list_page, request)
    return found


async def only(world: World, **fields: object) -> Agent:
    (found,) = (await listed(world, **fields)).agents
    return found


async def test_a_checkout_where_nobody_ever_was(world: World) -> None:
    found = await only(world)
    assert (found.address, found.presence, found.last_seen) == ("dave/vc", Presence.OFFLINE, None)


async def test_from_its_first_word_to_its_end(world: World) -> None:
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


async def test_whoever_waits_is_online_however_long(world: World) -> None:
    dave = await world.join("dave", path=DAVE.path)
    with world.presence.keep_connected(dave.name):
        world.clock.advance(3000)
        assert (await only(world)).presence is Presence.ONLINE


async def test_is_anyone_there(world: World) -> None:
    nobody = await listed(world, online=True)
    assert (nobody.agents, nobody.online, nobody.reached) == ([], 0, False)
    await world.join("loose")
    found = await listed(world, online=True)
    assert ([one.name for one in found.agents], found.online, found.reached) == (["loose"], 1, True)
    assert (await listed(world)).reached


async def test_in_all_projects(world: World) -> None:
    await world.join("here")
    await world.join("there", project=OTHER.id)
    found = (await listed(world, everywhere=True)).agents
    assert [one.name for one in found if one.name] == ["there", "here"]
    assert [one.name for one in (await listed(world, limit=1)).agents] == ["here"]
