"""Reading and following the log, with a snapshot for whoever comes too late."""

from __future__ import annotations

from collections.abc import AsyncIterator

from maestro.core import limits
from maestro.domain.callers import Caller
from maestro.domain.events import Event, Kind
from maestro.domain.tasks import Task
from maestro.events.feed import Feed, PastHorizon
from maestro.operations import server as ops
from maestro.services.scope import readable_project
from maestro.store.base import Store, Tx

_ENDS = frozenset({Kind.SESSION_ENDED.value, Kind.SESSION_LOST.value})
_ELSEWHERE = "What you asked of another one can be waited for: maestro task wait beads#12"


class EventLog:
    """The log, to callers."""

    def __init__(self, store: Store, feed: Feed) -> None:
        self._store = store
        self._feed = feed

    async def page(self, caller: Caller, request: ops.ReadEvents) -> ops.EventList:
        """One page of the log."""
        project = await self._project(caller, request)
        kinds = frozenset(kind.value for kind in request.kind)
        try:
            events, cursor, more = await self._feed.read(
                since=request.since or 0, project=project, kinds=kinds, limit=request.limit or limits.page_items_max
            )
        except PastHorizon as past:
            resync = await self._resync(project, past.horizon)
            return ops.EventList(events=[], resync=resync, cursor=str(resync.seq))
        return ops.EventList(events=events, cursor=str(cursor) if more else None)

    async def stream(self, caller: Caller, request: ops.ReadEvents) -> AsyncIterator[Event | ops.Resync]:
        """The log from a place on; with `follow`, for as long as the caller listens."""
        project = await self._project(caller, request)
        wanted = frozenset(kind.value for kind in request.kind)
        # A session's stream ends with the session, so that is always listened for.
        kinds = wanted | _ENDS if wanted and caller.is_session else wanted
        since = await self._start(request)
        left = request.limit
        while True:
            try:
                async for event in self._events(request.follow, since, project, kinds):
                    since = event.seq
                    if not wanted or event.kind in wanted:
                        yield event
                        left = left - 1 if left is not None else None
                    if left == 0:
                        return
                    if event.kind in _ENDS and event.subject == caller.session_id and not await self._lives(caller):
                        return
                return
            except PastHorizon as past:
                resync = await self._resync(project, past.horizon)
                since = resync.seq
                yield resync

    async def _events(
        self, follow: bool, since: int, project: str | None, kinds: frozenset[str]
    ) -> AsyncIterator[Event]:
        if follow:
            async for event in self._feed.follow(since=since, project=project, kinds=kinds):
                yield event
            return
        more = True
        while more:
            events, since, more = await self._feed.read(
                since=since, project=project, kinds=kinds, limit=limits.feed_page_events_max
            )
            for event in events:
                yield event

    async def _lives(self, caller: Caller) -> bool:
        """An end may be long ago: who was taken for lost comes back, who has ended is started again."""
        return await self._store.read(lambda tx: tx.sessions.is_live(caller.name), quick=True)

    async def _start(self, request: ops.ReadEvents) -> int:
        """From the beginning; whoever only follows begins now."""
        if request.since is not None:
            return request.since
        return await self._store.read(lambda tx: tx.events.last(), quick=True) if request.follow else 0

    async def _project(self, caller: Caller, request: ops.ReadEvents) -> str | None:
        """A session hears its own project; the person hears all, or the one they name."""
        if not caller.is_session and (request.everywhere or not request.project):
            return None
        found = await self._store.read(
            lambda tx: readable_project(tx, caller, request.project, what="reads the log", hint=_ELSEWHERE)
        )
        return found.id

    async def _resync(self, project: str | None, horizon: int) -> ops.Resync:
        """The state as of one place in the log, to go on from there."""

        def snapshot(tx: Tx) -> ops.Resync:
            many = limits.snapshot_tasks_max
            projects = [project] if project else [p.id for p in tx.projects.page(after="", limit=many)]
            tasks: list[Task] = []
            for found in projects:
                tasks += tx.tasks.open(found, limit=many + 1 - len(tasks)) if len(tasks) <= many else []
            shown = [
                {
                    "id": task.id,
                    "ref": task.ref,
                    "status": task.status,
                    "ready": task.ready,
                    "title": task.title,
                }
                for task in tasks[:many]
            ]
            return ops.Resync(seq=tx.events.last(), horizon=horizon, tasks=shown, complete=len(tasks) <= many)

        return await self._store.read(snapshot)
