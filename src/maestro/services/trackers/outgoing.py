"""Write the changes of issues from Maestro to a tracker, issue by issue. Each step is recorded before the next.

A step that was done and not recorded is recognised: an issue by the reference that it carries, a comment by its last
line, a state by its presence. Therefore an interrupted round continues later and does no step twice.
"""

from __future__ import annotations

from datetime import timedelta

import msgspec

from maestro.core import limits
from maestro.domain.callers import SERVER_NAME
from maestro.domain.messages import Message, SenderKind
from maestro.domain.projects import Project
from maestro.domain.tasks import Task
from maestro.domain.trackers import (
    IssueStanding,
    IssueState,
    MirroredIssue,
    TrackerStep,
    encode_standing,
    issue_reference,
    next_tracker_step,
    title_of_issue,
)
from maestro.services.trackers import incoming, texts
from maestro.services.trackers.people import actor_of, author_of
from maestro.store.base import Store, Tx
from maestro.trackers.base import (
    IssueTaken,
    IssueWithComments,
    NewIssue,
    Tracker,
    TrackerIssue,
    TrackerRefused,
    TrackerUnreachable,
)

_STEPS_MAX = 4
_NOT_COMMENTED = (SenderKind.MAESTRO, SenderKind.TRACKER)  # notices, and messages that came from the tracker


class _LocalIssue(msgspec.Struct, frozen=True):
    """An issue as stored in Maestro."""

    mirror: MirroredIssue
    task: Task
    project: Project
    actor: str
    opener: str
    asked_by: str  # the asking project
    first: Message | None
    unsent: list[Message]
    known: frozenset[str]  # ids of messages that are comments in the tracker already


class OutgoingChanges:
    """Writes changes to the tracker of one project."""

    def __init__(self, store: Store, tracker: Tracker, project: Project) -> None:
        self._store = store
        self._tracker = tracker
        self._project = project
        self._refusals = 0

    async def write_issue(self, task_id: str) -> None:
        """Write all changes of one issue to the tracker."""
        issue = await self._store.read(lambda tx: _local_issue(tx, self._project, task_id))
        if issue is None:
            return await self._store.write(lambda tx: _forget_issue(tx, task_id))
        try:
            mirror = issue.mirror if issue.mirror.ref else await self._create_issue(issue)
            mirror = await self._send_comments(issue, mirror)
            mirror = await self._move_issue(issue, mirror)
            if title_of_issue(mirror.title) != issue.task.title:
                mirror = await self._rename_issue(issue, mirror)
        except IssueTaken as taken:
            present = taken.issue
            if present is None:
                raise
            news = IssueWithComments(issue=present, comments=())
            await self._store.write(lambda tx: incoming.apply_issue(tx, self._project, news))
            return None
        except TrackerRefused as refused:
            await self._handle_refusal(task_id, str(refused))
            return None
        # Later changes stand in the log after our cursor, and mark the issue as dirty again.
        is_done = len(issue.unsent) < limits.tracker_writes_per_round_max
        await self._keep_mirror(mirror, dirty=not is_done, problem="", failures=0, retry_at=None)
        return None

    async def _create_issue(self, issue: _LocalIssue) -> MirroredIssue:
        mirror = await self._keep_mirror(issue.mirror, is_being_created=True)
        new = NewIssue(
            title=issue.task.title,
            description=texts.issue_description(issue.task, issue.first, opener=issue.opener, project=issue.asked_by),
            priority=issue.task.priority,
            actor=issue.opener,
            outside_ref=issue_reference(issue.task.id),
        )
        created = await self._tracker.create_issue(new)
        created_mirror = incoming.update_mirror(mirror, created)
        return await self._keep_mirror(created_mirror, ref=created.ref, is_being_created=False)

    async def _send_comments(self, issue: _LocalIssue, mirror: MirroredIssue) -> MirroredIssue:
        """Write the unsent messages as comments, in their order. The first message is the issue's description."""
        assert mirror.ref is not None
        for message in issue.unsent:
            is_first = issue.first is not None and message.id == issue.first.id
            if not is_first and message.sender.kind not in _NOT_COMMENTED and message.id not in issue.known:
                author = author_of(message.sender, issue.project.name)
                await self._tracker.add_comment(mirror.ref, texts.comment_text(message), actor=author)
            mirror = await self._keep_mirror(mirror, last_message_seq=message.seq)
        return mirror

    async def _move_issue(self, issue: _LocalIssue, mirror: MirroredIssue) -> MirroredIssue:
        """Move the issue step by step to the state of its task. Each step is announced in the mirror first."""
        for _ in range(_STEPS_MAX):
            assert mirror.ref is not None and mirror.state is not None
            step = next_tracker_step(issue.task, IssueStanding(mirror.state, mirror.assignee), actor=issue.actor)
            if step is None:
                break
            ref, announced = mirror.ref, encode_standing(_stand_after(step, issue.actor))
            mirror = await self._keep_mirror(mirror, state_being_written=announced)
            now = await self._take_step(step, ref, issue)
            mirror = await self._keep_mirror(incoming.update_mirror(mirror, now))
        return mirror

    async def _take_step(self, step: TrackerStep, ref: str, issue: _LocalIssue) -> TrackerIssue:
        tracker, actor = self._tracker, issue.actor
        match step:
            case TrackerStep.CLAIM:
                return await tracker.claim_issue(ref, actor=actor)
            case TrackerStep.RELEASE:
                return await tracker.release_issue(ref, actor=actor)
            case TrackerStep.BLOCK:
                return await tracker.block_issue(ref, actor=actor)
            case TrackerStep.CLOSE:
                return await tracker.close_issue(ref, reason=texts.close_reason(issue.task), actor=actor)
            case TrackerStep.REOPEN:
                return await tracker.reopen_issue(ref, actor=actor)

    async def _rename_issue(self, issue: _LocalIssue, mirror: MirroredIssue) -> MirroredIssue:
        assert mirror.ref is not None
        now = await self._tracker.rename_issue(mirror.ref, issue.task.title, actor=SERVER_NAME)
        # The tracker may have changed the title. The rename counts as done, so that it is not repeated.
        return await self._keep_mirror(incoming.update_mirror(mirror, now))

    async def _handle_refusal(self, task_id: str, why: str) -> None:
        """Postpone a refused issue and continue with the next. Several refusals count as a fault of the tracker."""
        await self._store.write(lambda tx: _postpone_issue(tx, task_id, why))
        self._refusals += 1
        if self._refusals >= limits.tracker_refusals_max:
            raise TrackerUnreachable(f"The tracker refused {self._refusals} issues in a row: {why}")

    async def _keep_mirror(self, mirror: MirroredIssue, **changes: object) -> MirroredIssue:
        changed = msgspec.structs.replace(mirror, **changes)
        await self._store.write(lambda tx: tx.trackers.put_mirror(changed), quick=True)
        return changed


def _local_issue(tx: Tx, project: Project, task_id: str) -> _LocalIssue | None:
    mirror, task, issue = tx.trackers.get_mirror(task_id), tx.tasks.get(task_id), tx.issues.of_task(task_id)
    if mirror is None or task is None or issue is None:
        return None
    asked_by = tx.projects.get(task.from_project_id) if task.from_project_id else None
    first = tx.mail.get(issue.thread_id)
    return _LocalIssue(
        mirror=mirror,
        task=task,
        project=project,
        actor=actor_of(tx, task.holder),
        opener=author_of(first.sender, project.name) if first else actor_of(tx, issue.opener),
        asked_by=asked_by.name if asked_by else project.name,
        first=first,
        unsent=tx.mail.of_thread(
            issue.thread_id, after=mirror.last_message_seq, limit=limits.tracker_writes_per_round_max
        ),
        known=frozenset(comment.message_id for comment in tx.trackers.comments_of(task_id)),
    )


def _stand_after(step: TrackerStep, actor: str) -> IssueStanding:
    """Return the state and assignee of an issue after a step."""
    states = {TrackerStep.BLOCK: IssueState.BLOCKED, TrackerStep.CLOSE: IssueState.CLOSED}
    return (
        IssueStanding(IssueState.STARTED, actor)
        if step is TrackerStep.CLAIM
        else IssueStanding(states.get(step, IssueState.OPEN))
    )


def _forget_issue(tx: Tx, task_id: str) -> None:
    """Clear the mirror of an issue whose task was deleted: no change of it has to be written any more."""
    mirror = tx.trackers.get_mirror(task_id)
    if mirror is not None:
        tx.trackers.put_mirror(msgspec.structs.replace(mirror, dirty=False, problem="", failures=0, retry_at=None))


def _postpone_issue(tx: Tx, task_id: str, why: str) -> None:
    mirror = tx.trackers.get_mirror(task_id)
    if mirror is None:
        return
    seconds = min(limits.tracker_retry_seconds_min * 2**mirror.failures, limits.tracker_retry_seconds_max)
    failures = min(mirror.failures + 1, 30)
    retry_at = tx.at + timedelta(seconds=seconds)
    tx.trackers.put_mirror(msgspec.structs.replace(mirror, problem=why, failures=failures, retry_at=retry_at))
