"""Programs that are started behind one's back: a few at a time, and what fails hurts nobody."""

from __future__ import annotations

import asyncio
from typing import Any

from maestro.core import errors
from maestro.services.supervision.background_starts import BackgroundStarts


class Launching:
    """Starts whoever is let go; what is called `broken` fails."""

    def __init__(self) -> None:
        self.begun: list[str] = []
        self.let_go = asyncio.Event()

    async def start_or_fail(self, session_id: str) -> list[str]:
        self.begun.append(session_id)
        await self.let_go.wait()
        if session_id == "broken":
            raise errors.Conflict("It cannot be.")
        return []


def starts(launching: Any, *, most: int) -> BackgroundStarts:
    return BackgroundStarts(launching, count_max=most)


async def test_there_is_room_again_when_one_is_done() -> None:
    launching, done = Launching(), []
    few = starts(launching, most=2)
    few.on_done = lambda: done.append(1)
    assert not await few.wait_for_one(seconds=10), "there is none to wait for"
    for name in ("one", "broken"):
        assert not few.is_full
        few.start_program(name)
    assert few.is_full and not await few.wait_for_one(seconds=0.01)
    launching.let_go.set()
    assert await few.wait_for_one(seconds=10)
    await asyncio.sleep(0)
    assert not few.is_full and done == [1, 1] and launching.begun == ["one", "broken"]


async def test_what_is_under_way_is_left_when_the_server_ends() -> None:
    launching = Launching()
    few = starts(launching, most=1)
    few.start_program("one")
    await asyncio.sleep(0)
    await few.close()
    assert launching.begun == ["one"] and not few.is_full
