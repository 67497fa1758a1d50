"""Test the list of tools."""

from __future__ import annotations

from tests.unit.services.conftest import World

from maestro.operations import tools as ops
from maestro.services.supervision.tool_views import list_tools
from maestro.tools import registry


async def test_every_registered_tool_is_listed_with_its_drivers(world: World) -> None:
    listed = await world.do(list_tools, ops.ListTools())
    assert [tool.name for tool in listed.tools] == list(registry.TOOLS)
    for tool in listed.tools:
        known = registry.TOOLS[tool.name]
        assert (tool.aliases, tool.drivers) == (list(known.aliases), list(known.abilities.drivers))
        assert tool.unreachable_during_turn == list(known.abilities.unreachable_during_turn)


async def test_a_session_may_list_tools(world: World) -> None:
    worker = await world.join("worker")
    assert (await world.do(list_tools, ops.ListTools(), by=worker)).tools
