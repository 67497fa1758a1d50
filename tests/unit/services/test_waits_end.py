"""The end of a session ends the waits of the session."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from maestro.core import errors
from maestro.operations import asks as ask_ops
from maestro.services.asks import asks
from maestro.services.asks.asks import AskWaits

World = Any
LONG = 60_000


async def for_an_answer(world: World, worker: Any) -> Any:
    asker = await world.join("asker")
    made = await world.do(asks.create_ask, ask_ops.CreateAsk(title="Which port?"), by=asker)
    waits = AskWaits(world.store, world.hub, world.presence)
    return waits.wait_for_answer(worker, ask_ops.WaitAsk(id=made.id, timeout=LONG))


@pytest.mark.parametrize("begin", [for_an_answer])
async def test_the_end_of_a_session_ends_the_wait_of_the_session(world: World, begin: Callable[..., Any]) -> None:
    worker = await world.join("w")
    waiting = asyncio.create_task(await begin(world, worker))
    await asyncio.sleep(0.05)
    assert not waiting.done()
    await world.end(worker)
    async with asyncio.timeout(5):
        with pytest.raises(errors.NotAuthenticated):
            await waiting
