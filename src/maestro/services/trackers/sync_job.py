"""Call trackers: one asyncio task per project, started when a round is due, and never two at once for a project."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from datetime import datetime, timedelta

import msgspec

from maestro.core import limits
from maestro.core.clock import Clock
from maestro.domain.trackers import ProjectTracker
from maestro.services.trackers.sync_round import TrackerRound, is_behind
from maestro.store.base import Store, Tx
from maestro.trackers.base import Tracker, TrackerFault

log = logging.getLogger(__name__)


class TrackerSyncJob:
    """A job that decides which trackers are due. A tracker that hangs does not delay other trackers."""

    name = "tracker-sync"

    def __init__(
        self, store: Store, make_tracker: Callable[[ProjectTracker], Tracker], *, clock: Clock, seconds: int
    ) -> None:
        self._store = store
        self._make = make_tracker
        self._clock = clock
        self._every = timedelta(seconds=seconds)
        self._under_way: dict[str, asyncio.Task[None]] = {}
        self._asked: set[str] = set()  # projects whose tracker a caller wants to be read now, whatever is due
        self._turns: dict[str, int] = {}  # by project: the number of rounds so far
        self._broken: dict[str, datetime] = {}  # by project: until when to pause after a fault in Maestro's own code
        self._room = asyncio.Semaphore(limits.trackers_at_once_max)
        self.on_done: Callable[[], None] = lambda: None

    def request_round(self, project_id: str) -> None:
        """Read the tracker of the project in the next round: a caller reports news."""
        self._asked.add(project_id)

    def is_busy(self, project_id: str) -> bool:
        return project_id in self._under_way

    async def run_once(self) -> datetime | None:
        all_trackers, now = await self._store.read(lambda tx: (self._all_due_states(tx), tx.at), quick=True)
        idle = [state for state in all_trackers if state[0].project_id not in self._under_way]
        times: list[datetime] = []
        for choice, is_due, whole, at in idle:
            if is_due or choice.project_id in self._asked:
                whole = whole or choice.project_id in self._asked
                self._asked.discard(choice.project_id)
                self._start_round(choice, whole=whole)
            else:
                times.append(max(at, now))
        return min(times, default=None)

    async def close(self) -> None:
        for task in list(self._under_way.values()):
            task.cancel()
        await asyncio.gather(*self._under_way.values(), return_exceptions=True)

    def _all_due_states(self, tx: Tx) -> list[tuple[ProjectTracker, bool, bool, datetime]]:
        """Return for each tracker whether it is due, whether to read all issues, and when it is due otherwise."""
        return [
            (choice, *self._due_state(tx, choice)) for choice in tx.trackers.list_all(limit=limits.page_items_max)
        ]

    def _due_state(self, tx: Tx, choice: ProjectTracker) -> tuple[bool, bool, datetime]:
        next_read = choice.read_at + self._every if choice.read_at else tx.at
        if (until := self._broken.get(choice.project_id)) is not None and until > tx.at:
            return False, False, until
        if choice.due_at is not None and choice.due_at > tx.at:
            return False, next_read <= tx.at, choice.due_at
        waiting, refused, retry_at = tx.trackers.count_waiting(choice.project_id)
        has_changes = is_behind(tx, choice) or waiting > refused or (retry_at is not None and retry_at <= tx.at)
        at = min(next_read, retry_at) if retry_at else next_read
        return has_changes or next_read <= tx.at, next_read <= tx.at, at

    def _start_round(self, choice: ProjectTracker, *, whole: bool) -> None:
        project_id = choice.project_id

        def handle_end(work: asyncio.Task[None]) -> None:
            if not work.cancelled() and (error := work.exception()) is not None:
                # A fault in Maestro's own code: it must be logged, and must not be repeated without a pause.
                log.warning("the round with the tracker of %s failed: %s", project_id, error, exc_info=error)
                self._broken[project_id] = self._clock.now() + timedelta(seconds=limits.tracker_retry_seconds_max)
            self._under_way.pop(project_id, None)
            self.on_done()

        work = asyncio.create_task(self._run_round_in_turn(choice, whole=whole), name=f"tracker-{project_id}")
        self._under_way[project_id] = work
        work.add_done_callback(handle_end)

    async def _run_round_in_turn(self, choice: ProjectTracker, *, whole: bool) -> None:
        async with self._room:
            await self._run_round(choice, whole=whole)

    async def _run_round(self, choice: ProjectTracker, *, whole: bool) -> None:
        project = await self._store.read(lambda tx: tx.projects.get(choice.project_id), quick=True)
        if project is None:
            return
        tracker, started_at = self._make(choice), self._clock.now()
        turn = self._turns[project.id] = self._turns.get(project.id, -1) + 1
        sync = TrackerRound(self._store, tracker, project, turn=turn)
        has_more = await sync.collect_changes()
        try:
            version = await tracker.read_version() if whole or not choice.version else choice.version
            has_more = await sync.run_round(whole=whole) or has_more
        except TrackerFault as fault:
            await self._postpone(project.id, str(fault))
            return
        if has_more:
            started_at = started_at - self._every  # the next round is due at once
        changes = {
            "version": version,
            "failures": 0,
            "problem": sync.note,
            "due_at": None,
            "succeeded_at": self._clock.now(),
        }
        if whole:
            changes["read_at"] = started_at
        await self._update_choice(project.id, **changes)

    async def _postpone(self, project_id: str, why: str) -> None:
        """Postpone the next round, longer after each failure. Untold changes stay in the log and on the issues."""

        def postpone(tx: Tx) -> None:
            choice = tx.trackers.get(project_id)
            if choice is None:
                return
            wait = min(limits.tracker_retry_seconds_min * 2**choice.failures, limits.tracker_retry_seconds_max)
            due_at, failures = tx.at + timedelta(seconds=wait), min(choice.failures + 1, 30)
            tx.trackers.put(msgspec.structs.replace(choice, due_at=due_at, failures=failures, problem=why))

        log.warning("the tracker of %s failed: %s", project_id, why)
        await self._store.write(postpone)

    async def _update_choice(self, project_id: str, **changes: object) -> None:
        def put(tx: Tx) -> None:
            choice = tx.trackers.get(project_id)
            if choice is not None:
                tx.trackers.put(msgspec.structs.replace(choice, **changes))

        await self._store.write(put, quick=True)
