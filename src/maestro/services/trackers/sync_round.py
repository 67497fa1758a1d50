"""Synchronise one project with its tracker: collect changed issues from the log, read the tracker, then write to it.

Reading comes before writing, because the tracker wins over Maestro, and because reading shows the steps that an
earlier round has done and could not record.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import msgspec

from maestro.core import limits
from maestro.domain.events import Event, EventKind
from maestro.domain.projects import Project
from maestro.domain.trackers import IssueState, MirroredIssue, ProjectTracker, is_tracker_person
from maestro.services.trackers import incoming
from maestro.services.trackers.outgoing import OutgoingChanges
from maestro.store.base import Store, Tx
from maestro.trackers.base import Tracker, TrackerIssue

_ISSUE_EVENTS = ("issue.", "task.")  # prefixes of events that may be about an issue
_ECHOES = (EventKind.ISSUE_OPENED, EventKind.ISSUE_COMMENTED, EventKind.TASK_CREATED, EventKind.TASK_READY)


class TrackerRound:
    """A round of one project. `turn` is the number of earlier rounds; it spreads the reading over all issues."""

    def __init__(self, store: Store, tracker: Tracker, project: Project, *, turn: int = 0) -> None:
        self._store = store
        self._tracker = tracker
        self._project = project
        self._turn = turn
        self.note = ""  # a note for the person about a round that succeeded

    async def collect_changes(self) -> bool:
        """Mark the issues that the log names as changed. Return whether the log has more events.

        The tracker is not needed, so issues that wait for an unreachable tracker are counted too.
        """
        return await self._store.write(self._collect_changed)

    async def run_round(self, *, whole: bool) -> bool:
        """Read changed issues and write the due ones. Return whether another round is needed at once.

        With `whole` the list of all issues of the tracker is read too.
        """
        wanted: list[str] = []
        is_unsure = await self._store.read(lambda tx: tx.trackers.has_uncertain_creation(self._project.id))
        if whole or is_unsure:
            wanted = await self._survey_tracker(closed=is_unsure)
        due = await self._store.read(self._due_mirrors)
        refs = list(
            dict.fromkeys(
                [*(mirror.ref for mirror in due if mirror.ref), *wanted[: limits.tracker_reads_per_round_max]]
            )
        )
        await self._read_issues(refs)
        outgoing = OutgoingChanges(self._store, self._tracker, self._project)
        for mirror in due:
            await outgoing.write_issue(mirror.task_id)
        return len(wanted) > limits.tracker_reads_per_round_max or len(due) == limits.tracker_writes_per_round_max

    def _due_mirrors(self, tx: Tx) -> list[MirroredIssue]:
        return tx.trackers.list_dirty(self._project.id, at=tx.at, limit=limits.tracker_writes_per_round_max)

    def _collect_changed(self, tx: Tx) -> bool:
        """Mark the issues of the events after our cursor as changed. Return whether the log has more events."""
        choice = tx.trackers.get(self._project.id)
        if choice is None:
            return False
        cursor, last = choice.cursor, tx.events.last_seq()
        if cursor < tx.events.retention_horizon() or cursor > last:
            # Unread events were deleted, or the log was restored from a backup: every issue may have changed.
            tx.trackers.mark_all_dirty(self._project.id)
            events, cursor = [], last
        else:
            page_size = limits.feed_page_events_max
            events = tx.events.list_after(cursor, limit=page_size, project=self._project.id)
            cursor = events[-1].seq if len(events) == page_size else last
        for task_id in dict.fromkeys(event.subject for event in events if _may_concern_tracker(event)):
            tx.trackers.mark_dirty(self._project.id, task_id)
        tx.trackers.put(msgspec.structs.replace(choice, cursor=cursor))
        return cursor < last

    async def _survey_tracker(self, *, closed: bool) -> list[str]:
        """Read the list of all issues once. Return the ids of the issues to read with their comments."""
        listed = await self._tracker.list_issues(with_closed=closed)
        if len(listed) > limits.tracker_issues_max:
            self.note = (
                f"The tracker has {len(listed)} issues; Maestro reads only {limits.tracker_issues_max} of them."
            )
            listed = listed[: limits.tracker_issues_max]
        mirrors = await self._mirrors()
        if any(mirror.ref is None for mirror in mirrors):
            await self._store.write(lambda tx: _adopt_all(tx, self._project.id, listed, surely=closed))
            mirrors = await self._mirrors()
        known = {mirror.ref: mirror for mirror in mirrors if mirror.ref}
        listed_refs = {issue.ref for issue in listed}
        changed = [issue.ref for issue in listed if _is_changed(issue, known.get(issue.ref))]
        gone = [
            ref for ref, mirror in known.items() if ref not in listed_refs and mirror.state is not IssueState.CLOSED
        ]
        return [*changed, *gone, *self._next_in_turn(known, {*changed, *gone})]

    async def _mirrors(self) -> list[MirroredIssue]:
        return await self._store.read(lambda tx: tx.trackers.mirrors_of_project(self._project.id, limit=_MIRRORS_MAX))

    def _next_in_turn(self, known: dict[str, MirroredIssue], already_wanted: set[str]) -> list[str]:
        """Return a share of the open issues, another share each round, if the list does not show new comments."""
        if self._tracker.stamps_cover_comments:
            return []
        unchanged = [
            ref
            for ref, mirror in known.items()
            if mirror.state is not IssueState.CLOSED and ref not in already_wanted
        ]
        count = max(0, limits.tracker_reads_per_round_max - len(already_wanted))
        start = self._turn * count % len(unchanged) if unchanged and len(unchanged) > count else 0
        return (unchanged[start:] + unchanged[:start])[:count]

    async def _read_issues(self, refs: Sequence[str]) -> None:
        """Read issues with their comments from the tracker, and apply them."""
        found = await self._tracker.read_issues(refs) if refs else []
        for issue in found:
            await self._store.write(partial(incoming.apply_issue, project=self._project, found=issue))
        for ref in set(refs) - {issue.issue.ref for issue in found}:
            await self._store.write(partial(_note_missing, project_id=self._project.id, ref=ref))


_MIRRORS_MAX = limits.tracker_issues_max


def is_behind(tx: Tx, choice: ProjectTracker) -> bool:
    """Return whether the log has events of the project after the cursor."""
    return bool(tx.events.list_after(choice.cursor, limit=1, project=choice.project_id))


def _may_concern_tracker(event: Event) -> bool:
    """Return whether an event may be about an issue, and is not an echo of an imported change."""
    return event.kind.startswith(_ISSUE_EVENTS) and not (is_tracker_person(event.actor) and event.kind in _ECHOES)


def _is_changed(issue: TrackerIssue, mirror: MirroredIssue | None) -> bool:
    if mirror is None:
        return issue.standing.state is not IssueState.CLOSED and issue.is_work
    return mirror.stamp != issue.stamp


def _adopt_all(tx: Tx, project_id: str, listed: Sequence[TrackerIssue], *, surely: bool) -> None:
    """Connect listed issues whose creation was not recorded to their tasks.

    `surely` means that all issues were listed: a creation that is not among them has not happened.
    """
    for issue in listed:
        if issue.outside_ref:
            incoming.adopt_issue(tx, project_id, issue)
    for mirror in tx.trackers.mirrors_of_project(project_id, limit=_MIRRORS_MAX) if surely else ():
        if mirror.is_being_created and mirror.ref is None:
            tx.trackers.put_mirror(msgspec.structs.replace(mirror, is_being_created=False))


def _note_missing(tx: Tx, project_id: str, ref: str) -> None:
    mirror = tx.trackers.mirror_of_ref(project_id, ref)
    if mirror is not None:
        incoming.note_missing_issue(tx, mirror)
