"""Test starts in the background: a limited number at once, and a failed start stops no other start."""

from __future__ import annotations

import asyncio
from typing import Any

from maestro.core import errors
from maestro.services.supervision.background_starts import BackgroundStarts


class Launcher:
    """A launcher whose starts end when `may_end` is set; the start of the session `broken` fails."""

    def __init__(self) -> None:
        self.started: list[str] = []
        self.may_end = asyncio.Event()

    async def start_or_fail(self, session_id: str) -> list[str]:
        self.started.append(session_id)
        await self.may_end.wait()
        if session_id == "broken":
            raise errors.Conflict("The program cannot be started.")
        return []


def make_starts(launcher: Any, *, count_max: int | None) -> BackgroundStarts:
    return BackgroundStarts(launcher, count_max=count_max)


async def test_ended_starts_and_failed_starts_make_room_for_other_starts() -> None:
    launcher, ends = Launcher(), []
    starts = make_starts(launcher, count_max=2)
    starts.on_room = lambda: ends.append(1)
    assert not await starts.wait_for_one(seconds=10), "no start is under way"
    for name in ("one", "broken"):
        assert not starts.is_full
        starts.start_program(name)
    assert starts.is_full and not await starts.wait_for_one(seconds=0.01)
    launcher.may_end.set()
    assert await starts.wait_for_one(seconds=10)
    await asyncio.sleep(0)
    assert not starts.is_full and ends == [1, 1] and launcher.started == ["one", "broken"]


async def test_a_close_cancels_the_starts_that_are_under_way() -> None:
    launcher = Launcher()
    starts = make_starts(launcher, count_max=1)
    starts.start_program("one")
    await asyncio.sleep(0)
    await starts.close()
    assert launcher.started == ["one"] and not starts.is_full


async def test_starts_without_a_maximum_are_never_full() -> None:
    launcher = Launcher()
    starts = make_starts(launcher, count_max=None)
    for number in range(20):
        starts.start_program(str(number))
    assert not starts.is_full
    await starts.close()
