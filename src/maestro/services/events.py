"""Read and follow the event log. A caller whose position is no longer in the log gets a snapshot."""

from __future__ import annotations

from collections.abc import AsyncIterator

from maestro.core import limits
from maestro.domain.callers import Caller
from maestro.domain.events import Event, EventKind
from maestro.domain.tasks import Task
from maestro.events.feed import CursorNotInLog, Feed
from maestro.operations import server as ops
from maestro.services.access.scope import find_readable_project
from maestro.store.base import Store, Tx

_SESSION_ENDS = frozenset({EventKind.SESSION_ENDED.value, EventKind.SESSION_LOST.value})
_OTHER_PROJECT_HINT = "Wait for an issue in another project: maestro task wait beads#12"


class EventLog:
    """The event log for callers."""

    def __init__(self, store: Store, feed: Feed) -> None:
        self._store = store
        self._feed = feed

    async def read_page(self, caller: Caller, request: ops.ReadEvents) -> ops.EventList:
        """Return a page of the log."""
        project = await self._readable_project_id(caller, request)
        kinds = frozenset(kind.value for kind in request.kind)
        try:
            events, cursor, has_more = await self._feed.read_page(
                since=request.since or 0, project=project, kinds=kinds, limit=request.limit or limits.page_items_max
            )
        except CursorNotInLog as too_old:
            resync = await self._take_snapshot(project, too_old.horizon)
            return ops.EventList(events=[], resync=resync, cursor=str(resync.seq))
        return ops.EventList(events=events, cursor=str(cursor) if has_more else None)

    async def stream_events(self, caller: Caller, request: ops.ReadEvents) -> AsyncIterator[Event | ops.Resync]:
        """Yield the events after a sequence number; with `follow`, also new events while the caller listens."""
        project = await self._readable_project_id(caller, request)
        wanted_kinds = frozenset(kind.value for kind in request.kind)
        # A session's stream ends with the session, so the end of a session is always among the kinds.
        kinds = wanted_kinds | _SESSION_ENDS if wanted_kinds and caller.is_session else wanted_kinds
        since = await self._first_sequence_number(request)
        events_left = request.limit
        while True:
            try:
                async for event in self._read_or_follow(request.follow, since, project, kinds):
                    since = event.seq
                    if not wanted_kinds or event.kind in wanted_kinds:
                        yield event
                        events_left = events_left - 1 if events_left is not None else None
                    if events_left == 0:
                        return
                    if (
                        event.kind in _SESSION_ENDS
                        and event.subject == caller.session_id
                        and not await self._is_live(caller)
                    ):
                        return
                return
            except CursorNotInLog as too_old:
                resync = await self._take_snapshot(project, too_old.horizon)
                since = resync.seq
                yield resync

    async def _read_or_follow(
        self, follow: bool, since: int, project: str | None, kinds: frozenset[str]
    ) -> AsyncIterator[Event]:
        if follow:
            async for event in self._feed.follow_log(since=since, project=project, kinds=kinds):
                yield event
            return
        has_more = True
        while has_more:
            events, since, has_more = await self._feed.read_page(
                since=since, project=project, kinds=kinds, limit=limits.feed_page_events_max
            )
            for event in events:
                yield event

    async def _is_live(self, caller: Caller) -> bool:
        """Return whether the caller's session is live now.

        The end in the log may be old: a lost session can come back, and an ended session can be started again.
        """
        return await self._store.read(lambda tx: tx.sessions.is_live(caller.name), quick=True)

    async def _first_sequence_number(self, request: ops.ReadEvents) -> int:
        """Return the sequence number to start after: as requested, else the present end with `follow`, else 0."""
        if request.since is not None:
            return request.since
        return await self._store.read(lambda tx: tx.events.last_seq(), quick=True) if request.follow else 0

    async def _readable_project_id(self, caller: Caller, request: ops.ReadEvents) -> str | None:
        """Return the project whose events the caller reads; None for the person who reads all projects."""
        if not caller.is_session and (request.everywhere or not request.project):
            return None
        found = await self._store.read(
            lambda tx: find_readable_project(
                tx, caller, request.project, action="reads the log", hint=_OTHER_PROJECT_HINT
            )
        )
        return found.id

    async def _take_snapshot(self, project: str | None, horizon: int) -> ops.Resync:
        """Return the open tasks and the present sequence number, from which the caller can continue."""

        def snapshot(tx: Tx) -> ops.Resync:
            tasks_max = limits.snapshot_tasks_max
            projects = (
                [project] if project else [listed.id for listed in tx.projects.list_page(after="", limit=tasks_max)]
            )
            tasks: list[Task] = []
            for project_id in projects:
                tasks += (
                    tx.tasks.list_open(project_id, limit=tasks_max + 1 - len(tasks))
                    if len(tasks) <= tasks_max
                    else []
                )
            shown = [
                {
                    "id": task.id,
                    "ref": task.ref,
                    "status": task.status,
                    "ready": task.ready,
                    "title": task.title,
                }
                for task in tasks[:tasks_max]
            ]
            return ops.Resync(
                seq=tx.events.last_seq(), horizon=horizon, tasks=shown, complete=len(tasks) <= tasks_max
            )

        return await self._store.read(snapshot)
