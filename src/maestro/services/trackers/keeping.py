"""The one place from which trackers are asked: a task a project, started when something is due, never two at once."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from datetime import datetime, timedelta

import msgspec

from maestro.core import limits
from maestro.core.clock import Clock
from maestro.domain.trackers import Choice
from maestro.services.trackers.round import Round, is_behind
from maestro.store.base import Store, Tx
from maestro.trackers.base import Tracker, TrackerFault

log = logging.getLogger(__name__)


class Trackers:
    """Upkeep that only decides what is due; a tracker that hangs keeps nobody else waiting."""

    name = "trackers"

    def __init__(self, store: Store, make: Callable[[Choice], Tracker], *, clock: Clock, seconds: int) -> None:
        self._store = store
        self._make = make
        self._clock = clock
        self._every = timedelta(seconds=seconds)
        self._under_way: dict[str, asyncio.Task[None]] = {}
        self._asked: set[str] = set()  # projects whose tracker is to be read now, whatever is due
        self._turns: dict[str, int] = {}
        self._broken: dict[str, datetime] = {}  # projects whose round we could not go through, until when
        self._room = asyncio.Semaphore(limits.trackers_at_once_max)
        self.on_done: Callable[[], None] = lambda: None

    def ask(self, project_id: str) -> None:
        """Someone says that there is news."""
        self._asked.add(project_id)

    def is_busy(self, project_id: str) -> bool:
        return project_id in self._under_way

    async def run_once(self) -> datetime | None:
        found, now = await self._store.read(lambda tx: (self._all(tx), tx.at), quick=True)
        due = [one for one in found if one[0].project_id not in self._under_way]
        times: list[datetime] = []
        for choice, is_due, whole, at in due:
            if is_due or choice.project_id in self._asked:
                whole = whole or choice.project_id in self._asked
                self._asked.discard(choice.project_id)
                self._begin(choice, whole=whole)
            else:
                times.append(max(at, now))
        return min(times, default=None)

    async def close(self) -> None:
        for task in list(self._under_way.values()):
            task.cancel()
        await asyncio.gather(*self._under_way.values(), return_exceptions=True)

    def _all(self, tx: Tx) -> list[tuple[Choice, bool, bool, datetime]]:
        """Each tracker: whether it is due, whether to be read whole, and when it is due again otherwise."""
        return [(choice, *self._due(tx, choice)) for choice in tx.trackers.all(limit=limits.page_items_max)]

    def _due(self, tx: Tx, choice: Choice) -> tuple[bool, bool, datetime]:
        next_look = choice.looked_at + self._every if choice.looked_at else tx.at
        if (until := self._broken.get(choice.project_id)) is not None and until > tx.at:
            return False, False, until
        if choice.due_at is not None and choice.due_at > tx.at:
            return False, next_look <= tx.at, choice.due_at
        waiting, refused, retry_at = tx.trackers.waiting(choice.project_id)
        told = is_behind(tx, choice) or waiting > refused or (retry_at is not None and retry_at <= tx.at)
        at = min(next_look, retry_at) if retry_at else next_look
        return told or next_look <= tx.at, next_look <= tx.at, at

    def _begin(self, choice: Choice, *, whole: bool) -> None:
        project_id = choice.project_id

        def ended(work: asyncio.Task[None]) -> None:
            if not work.cancelled() and (error := work.exception()) is not None:
                # A fault of ours: it must neither be lost nor be repeated without end.
                log.warning("the tracker of %s: %s", project_id, error, exc_info=error)
                self._broken[project_id] = self._clock.now() + timedelta(seconds=limits.tracker_retry_seconds_max)
            self._under_way.pop(project_id, None)
            self.on_done()

        work = asyncio.create_task(self._round(choice, whole=whole), name=f"tracker-{project_id}")
        self._under_way[project_id] = work
        work.add_done_callback(ended)

    async def _round(self, choice: Choice, *, whole: bool) -> None:
        async with self._room:
            await self._take_turn(choice, whole=whole)

    async def _take_turn(self, choice: Choice, *, whole: bool) -> None:
        project = await self._store.read(lambda tx: tx.projects.get(choice.project_id), quick=True)
        if project is None:
            return
        tracker, began = self._make(choice), self._clock.now()
        turn = self._turns[project.id] = self._turns.get(project.id, -1) + 1
        one = Round(self._store, tracker, project, turn=turn)
        more = await one.collect()
        try:
            version = await tracker.version() if whole or not choice.version else choice.version
            more = await one.run(whole=whole) or more
        except TrackerFault as fault:
            await self._failed(project.id, str(fault))
            return
        if more:
            began = began - self._every  # at once
        changes = {"version": version, "failures": 0, "problem": one.note, "due_at": None, "ok_at": self._clock.now()}
        if whole:
            changes["looked_at"] = began
        await self._note(project.id, **changes)

    async def _failed(self, project_id: str, why: str) -> None:
        """It is tried again, later each time; what there is to tell stays in the log and on the issues."""

        def put_off(tx: Tx) -> None:
            choice = tx.trackers.get(project_id)
            if choice is None:
                return
            wait = min(limits.tracker_retry_seconds_min * 2**choice.failures, limits.tracker_retry_seconds_max)
            due_at, failures = tx.at + timedelta(seconds=wait), min(choice.failures + 1, 30)
            tx.trackers.put(msgspec.structs.replace(choice, due_at=due_at, failures=failures, problem=why))

        log.warning("the tracker of %s: %s", project_id, why)
        await self._store.write(put_off)

    async def _note(self, project_id: str, **changes: object) -> None:
        def put(tx: Tx) -> None:
            choice = tx.trackers.get(project_id)
            if choice is not None:
                tx.trackers.put(msgspec.structs.replace(choice, **changes))

        await self._store.write(put, quick=True)
