"""When hooks fired: known at once, stored every so often, and what went wrong with them."""

from __future__ import annotations

from typing import Any

from maestro.core import limits
from maestro.operations.hooks import HookList, ListHooks
from maestro.services.hooks.firings import Firings

World = Any


async def listed(world: World, firings: Firings) -> HookList:
    await firings.close()
    found: HookList = await world.store.read(lambda tx: firings.list_all(tx, world.dana, ListHooks()))
    return found


async def test_the_last_firing_is_known_and_the_stored_one_not_much_older(world: World) -> None:
    firings = Firings(world.store, world.clock)
    firings.fired("claude", "Stop")
    first = world.clock.now()
    world.clock.advance(limits.hook_firing_seconds - 1)
    firings.fired("claude", "Stop")
    (known,) = (await listed(world, firings)).hooks
    assert known.fired_at == world.clock.now()
    (stored,) = (await listed(world, Firings(world.store, world.clock))).hooks
    assert stored.fired_at == first
    world.clock.advance(1)
    firings.fired("claude", "Stop")
    await firings.close()
    (stored,) = (await listed(world, Firings(world.store, world.clock))).hooks
    assert stored.fired_at == world.clock.now()


async def test_what_went_wrong_stands_beside_it(world: World) -> None:
    firings = Firings(world.store, world.clock)
    firings.failed("gemini", "AfterTool", "x" * 1_000)
    firings.fired("gemini", "AfterTool")
    firings.fired("codex", "Stop")
    codex, gemini = (await listed(world, firings)).hooks
    assert (codex.tool, codex.problem) == ("codex", "")
    assert gemini.problem == "x" * limits.hook_problem_chars_max
    assert gemini.problem_at == gemini.fired_at == world.clock.now()
