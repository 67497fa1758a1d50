"""The server records the time of the last firing and the last failure of each hook."""

from __future__ import annotations

from typing import Any

from maestro.core import limits
from maestro.operations.hooks import HookList, ListHooks
from maestro.services.hooks.firings import HookFirings

World = Any


async def listed(world: World, firings: HookFirings) -> HookList:
    await firings.close()
    found: HookList = await world.store.read(lambda tx: firings.list_all(tx, world.dana, ListHooks()))
    return found


async def test_the_last_firing_is_listed_at_once_and_stored_at_intervals(world: World) -> None:
    firings = HookFirings(world.store, world.clock)
    firings.record_firing("claude", "Stop")
    first = world.clock.now()
    world.clock.advance(limits.hook_firing_seconds - 1)
    firings.record_firing("claude", "Stop")
    (known,) = (await listed(world, firings)).hooks
    assert known.fired_at == world.clock.now()
    (stored,) = (await listed(world, HookFirings(world.store, world.clock))).hooks
    assert stored.fired_at == first
    world.clock.advance(1)
    firings.record_firing("claude", "Stop")
    await firings.close()
    (stored,) = (await listed(world, HookFirings(world.store, world.clock))).hooks
    assert stored.fired_at == world.clock.now()


async def test_the_failure_of_a_hook_is_listed_with_the_last_firing_of_the_hook(world: World) -> None:
    firings = HookFirings(world.store, world.clock)
    firings.record_failure("gemini", "AfterTool", "x" * 1_000)
    firings.record_firing("gemini", "AfterTool")
    firings.record_firing("codex", "Stop")
    codex, gemini = (await listed(world, firings)).hooks
    assert (codex.tool, codex.problem) == ("codex", "")
    assert gemini.problem == "x" * limits.hook_problem_chars_max
    assert gemini.problem_at == gemini.fired_at == world.clock.now()
