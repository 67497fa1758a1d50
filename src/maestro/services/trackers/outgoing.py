"""Telling a tracker what happened here, one issue after another, each step recorded before the next.

A step that was done and not recorded is found again: an issue by the reference it carries, a comment by its last
line, a stand by being there. So whenever this is ended in the middle, it goes on without doing anything twice.
"""

from __future__ import annotations

from datetime import timedelta

import msgspec

from maestro.core import limits
from maestro.domain.callers import SERVER
from maestro.domain.messages import Message, SenderKind
from maestro.domain.projects import Project
from maestro.domain.tasks import Task
from maestro.domain.trackers import Mirror, Stand, State, Step, next_step, one_line, outside_ref, told
from maestro.services.trackers import incoming, words
from maestro.services.trackers.names import actor_of, author_of
from maestro.store.base import Store, Tx
from maestro.trackers.base import Looked, NewIssue, Refused, Taken, Tracker, TrackerIssue, Unreachable

_STEPS_MAX = 4
_QUIET = (SenderKind.MAESTRO, SenderKind.TRACKER)  # whose words are not for the tracker, or come from there


class _Here(msgspec.Struct, frozen=True):
    """An issue as it is here."""

    mirror: Mirror
    task: Task
    project: Project
    actor: str
    opener: str
    asked_by: str
    first: Message | None
    said: list[Message]
    known: frozenset[str]  # messages that are comments there already


class Outgoing:
    """Tells one project's tracker."""

    def __init__(self, store: Store, tracker: Tracker, project: Project) -> None:
        self._store = store
        self._tracker = tracker
        self._project = project
        self._refusals = 0

    async def tell(self, task_id: str) -> None:
        """All that is to be told about one issue."""
        here = await self._store.read(lambda tx: _here(tx, self._project, task_id))
        if here is None:
            return await self._store.write(lambda tx: _forget(tx, task_id))
        try:
            mirror = here.mirror if here.mirror.ref else await self._create(here)
            mirror = await self._say(here, mirror)
            mirror = await self._move(here, mirror)
            if one_line(mirror.title) != here.task.title:
                mirror = await self._rename(here, mirror)
        except Taken as taken:
            issue = taken.issue
            if issue is None:
                raise
            await self._store.write(lambda tx: incoming.take_in(tx, self._project, Looked(issue=issue, comments=())))
            return None
        except Refused as refused:
            await self._refused(task_id, str(refused))
            return None
        # What has come since is in the log after our place in it, and makes it dirty again.
        done = len(here.said) < limits.tracker_steps_max
        await self._keep(mirror, dirty=not done, problem="", failures=0, retry_at=None)
        return None

    async def _create(self, here: _Here) -> Mirror:
        mirror = await self._keep(here.mirror, trying=True)
        new = NewIssue(
            title=here.task.title,
            description=words.description(here.task, here.first, opener=here.opener, project=here.asked_by),
            priority=here.task.priority,
            actor=here.opener,
            outside_ref=outside_ref(here.task.id),
        )
        made = await self._tracker.create(new)
        return await self._keep(incoming.seen(mirror, made), ref=made.ref, trying=False)

    async def _say(self, here: _Here, mirror: Mirror) -> Mirror:
        """Everything that was said, in its order. The first message is the issue's own text."""
        assert mirror.ref is not None
        for message in here.said:
            is_first = here.first is not None and message.id == here.first.id
            if not is_first and message.sender.kind not in _QUIET and message.id not in here.known:
                author = author_of(message.sender, here.project.name)
                await self._tracker.comment(mirror.ref, words.comment(message), actor=author)
            mirror = await self._keep(mirror, said_seq=message.seq)
        return mirror

    async def _move(self, here: _Here, mirror: Mirror) -> Mirror:
        for _ in range(_STEPS_MAX):
            assert mirror.ref is not None and mirror.state is not None
            step = next_step(here.task, Stand(mirror.state, mirror.who), actor=here.actor)
            if step is None:
                break
            ref, told_now = mirror.ref, told(_after(step, here.actor))
            mirror = await self._keep(mirror, telling=told_now)
            now = await self._do(step, ref, here)
            mirror = await self._keep(incoming.seen(mirror, now))
        return mirror

    async def _do(self, step: Step, ref: str, here: _Here) -> TrackerIssue:
        tracker, actor = self._tracker, here.actor
        match step:
            case Step.CLAIM:
                return await tracker.claim(ref, actor=actor)
            case Step.RELEASE:
                return await tracker.release(ref, actor=actor)
            case Step.BLOCK:
                return await tracker.block(ref, actor=actor)
            case Step.CLOSE:
                return await tracker.close(ref, reason=words.reason(here.task), actor=actor)
            case Step.REOPEN:
                return await tracker.reopen(ref, actor=actor)

    async def _rename(self, here: _Here, mirror: Mirror) -> Mirror:
        assert mirror.ref is not None
        now = await self._tracker.rename(mirror.ref, here.task.title, actor=SERVER)
        # Whatever it made of the title, it has been told.
        return await self._keep(incoming.seen(mirror, now))

    async def _refused(self, task_id: str, why: str) -> None:
        """One issue that the tracker does not take keeps no other back; several of them, and it is the tracker."""
        await self._store.write(lambda tx: _put_off(tx, task_id, why))
        self._refusals += 1
        if self._refusals >= limits.tracker_refusals_max:
            raise Unreachable(f"It refuses one thing after another: {why}")

    async def _keep(self, mirror: Mirror, **changes: object) -> Mirror:
        changed = msgspec.structs.replace(mirror, **changes)
        await self._store.write(lambda tx: tx.trackers.keep(changed), quick=True)
        return changed


def _here(tx: Tx, project: Project, task_id: str) -> _Here | None:
    mirror, task, issue = tx.trackers.mirror(task_id), tx.tasks.get(task_id), tx.issues.of_task(task_id)
    if mirror is None or task is None or issue is None:
        return None
    asked_by = tx.projects.get(task.from_project_id) if task.from_project_id else None
    first = tx.mail.get(issue.thread_id)
    return _Here(
        mirror=mirror,
        task=task,
        project=project,
        actor=actor_of(tx, task.holder),
        opener=author_of(first.sender, project.name) if first else actor_of(tx, issue.opener),
        asked_by=asked_by.name if asked_by else project.name,
        first=first,
        said=tx.mail.of_thread(issue.thread_id, after=mirror.said_seq, limit=limits.tracker_steps_max),
        known=frozenset(message_id for _, _, message_id in tx.trackers.comments(task_id)),
    )


def _after(step: Step, actor: str) -> Stand:
    """Where an issue stands after a step."""
    states = {Step.BLOCK: State.BLOCKED, Step.CLOSE: State.CLOSED}
    return Stand(State.STARTED, actor) if step is Step.CLAIM else Stand(states.get(step, State.OPEN))


def _forget(tx: Tx, task_id: str) -> None:
    """Its task was deleted: there is nothing to tell any more."""
    mirror = tx.trackers.mirror(task_id)
    if mirror is not None:
        tx.trackers.keep(msgspec.structs.replace(mirror, dirty=False, problem="", failures=0, retry_at=None))


def _put_off(tx: Tx, task_id: str, why: str) -> None:
    mirror = tx.trackers.mirror(task_id)
    if mirror is None:
        return
    seconds = min(limits.tracker_retry_seconds_min * 2**mirror.failures, limits.tracker_retry_seconds_max)
    failures = min(mirror.failures + 1, 30)
    retry_at = tx.at + timedelta(seconds=seconds)
    tx.trackers.keep(msgspec.structs.replace(mirror, problem=why, failures=failures, retry_at=retry_at))
