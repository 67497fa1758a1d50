"""One round with one tracker: what the log has to be told, what is new in the tracker, then the telling.

Reading comes before telling, because the tracker's word wins, and because it shows what an earlier round has done and
could not record.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from maestro.core import limits
from maestro.domain.events import Event, Kind
from maestro.domain.projects import Project
from maestro.domain.trackers import Choice, Mirror, State, is_outside
from maestro.services.trackers import incoming
from maestro.services.trackers.outgoing import Outgoing
from maestro.store.base import Store, Tx
from maestro.trackers.base import Tracker, TrackerIssue

_OURS = ("issue.", "task.")  # events that may be about an issue
_ECHOES = (Kind.ISSUE_OPENED, Kind.ISSUE_COMMENTED, Kind.TASK_CREATED, Kind.TASK_READY)


class Round:
    """Of one project. `turn`: how many there were before, so that all issues get looked at in theirs."""

    def __init__(self, store: Store, tracker: Tracker, project: Project, *, turn: int = 0) -> None:
        self._store = store
        self._tracker = tracker
        self._project = project
        self._turn = turn
        self.note = ""  # what the person should know of it, although all went well

    async def collect(self) -> bool:
        """Mark the issues that the log names. Return whether the log has more. Needs no tracker, so issues that wait
        for an unreachable tracker are counted too."""
        return await self._store.write(self._collect)

    async def run(self, *, whole: bool) -> bool:
        """`whole`: also read all issues of the tracker. Whether something is left for another round at once."""
        wanted: list[str] = []
        unsure = await self._store.read(lambda tx: tx.trackers.is_unsure(self._project.id))
        if whole or unsure:
            wanted = await self._survey(closed=unsure)
        due = await self._store.read(self._due)
        refs = list(dict.fromkeys([*(one.ref for one in due if one.ref), *wanted[: limits.tracker_looks_max]]))
        await self._look(refs)
        telling = Outgoing(self._store, self._tracker, self._project)
        for mirror in due:
            await telling.tell(mirror.task_id)
        return len(wanted) > limits.tracker_looks_max or len(due) == limits.tracker_steps_max

    def _due(self, tx: Tx) -> list[Mirror]:
        return tx.trackers.dirty(self._project.id, at=tx.at, limit=limits.tracker_steps_max)

    def _collect(self, tx: Tx) -> bool:
        """From our place in the log on: which issues something happened to. Whether there is more of it."""
        choice = tx.trackers.get(self._project.id)
        if choice is None:
            return False
        cursor, last = choice.cursor, tx.events.last()
        if cursor < tx.events.horizon() or cursor > last:
            # Lines were let go of that we had not read, or the log is another one: put back from a backup.
            tx.trackers.touch_all(self._project.id)
            found, cursor = [], last
        else:
            many = limits.feed_page_events_max
            found = tx.events.after(cursor, limit=many, project=self._project.id)
            cursor = found[-1].seq if len(found) == many else last
        for task_id in dict.fromkeys(event.subject for event in found if _may_be_told(event)):
            tx.trackers.touch(self._project.id, task_id)
        tx.trackers.put(msgspec.structs.replace(choice, cursor=cursor))
        return cursor < last

    async def _survey(self, *, closed: bool) -> list[str]:
        """Read the whole list, once; which of its issues to look at closely."""
        listed = await self._tracker.issues(closed=closed)
        if len(listed) > limits.tracker_issues_max:
            self.note = f"It has {len(listed)} issues; only {limits.tracker_issues_max} are looked at."
            listed = listed[: limits.tracker_issues_max]
        mirrors = await self._mirrors()
        if any(mirror.ref is None for mirror in mirrors):
            await self._store.write(lambda tx: _adopt_all(tx, self._project.id, listed, surely=closed))
            mirrors = await self._mirrors()
        known = {mirror.ref: mirror for mirror in mirrors if mirror.ref}
        there = {one.ref for one in listed}
        news = [one.ref for one in listed if _is_new(one, known.get(one.ref))]
        gone = [ref for ref, one in known.items() if ref not in there and one.state is not State.CLOSED]
        return [*news, *gone, *self._in_turn(known, {*news, *gone})]

    async def _mirrors(self) -> list[Mirror]:
        return await self._store.read(lambda tx: tx.trackers.of_project(self._project.id, limit=_MANY))

    def _in_turn(self, known: dict[str, Mirror], besides: set[str]) -> list[str]:
        """Where the list does not tell of comments, some of the open issues in each round."""
        if self._tracker.stamps_tell_comments:
            return []
        quiet = [ref for ref, one in known.items() if one.state is not State.CLOSED and ref not in besides]
        many = max(0, limits.tracker_looks_max - len(besides))
        at = self._turn * many % len(quiet) if quiet and len(quiet) > many else 0
        return (quiet[at:] + quiet[:at])[:many]

    async def _look(self, refs: Sequence[str]) -> None:
        found = await self._tracker.look(refs) if refs else []
        for one in found:
            await self._store.write(lambda tx, one=one: incoming.take_in(tx, self._project, one))  # type: ignore[misc]
        for ref in set(refs) - {one.issue.ref for one in found}:
            await self._store.write(lambda tx, ref=ref: _miss(tx, self._project.id, ref))  # type: ignore[misc]


_MANY = limits.tracker_issues_max


def is_behind(tx: Tx, choice: Choice) -> bool:
    """Whether the log has lines of the project that were not looked at."""
    return bool(tx.events.after(choice.cursor, limit=1, project=choice.project_id))


def _may_be_told(event: Event) -> bool:
    """Whether a line of the log may be about an issue, and not just about what we took in ourselves."""
    return event.kind.startswith(_OURS) and not (is_outside(event.actor) and event.kind in _ECHOES)


def _is_new(issue: TrackerIssue, mirror: Mirror | None) -> bool:
    if mirror is None:
        return issue.stand.state is not State.CLOSED and issue.is_work
    return mirror.stamp != issue.stamp


def _adopt_all(tx: Tx, project_id: str, listed: Sequence[TrackerIssue], *, surely: bool) -> None:
    """What was made and not recorded. `surely`: everything was listed, so what is not among it was not made."""
    for issue in listed:
        if issue.outside_ref:
            incoming.adopt(tx, project_id, issue)
    for mirror in tx.trackers.of_project(project_id, limit=_MANY) if surely else ():
        if mirror.trying and mirror.ref is None:
            tx.trackers.keep(msgspec.structs.replace(mirror, trying=False))


def _miss(tx: Tx, project_id: str, ref: str) -> None:
    mirror = tx.trackers.of_ref(project_id, ref)
    if mirror is not None:
        incoming.missing(tx, mirror)
