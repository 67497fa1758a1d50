"""The repository of trackers: the tracker of a project, the mirrors of issues and their comments."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import msgspec

from maestro.domain.issues import Issue
from maestro.domain.links import LinkSource
from maestro.domain.tasks import TaskStatus
from maestro.domain.trackers import IssueState, MirroredIssue, ProjectTracker, TrackerKind
from maestro.store.base import Store, Tx
from maestro.testing.clock import FakeClock
from maestro.testing.factories import make_task

VC, OTHER = "prj_00000000000000000000000000", "prj_00000000000000000000000001"


async def put_mirrors(store: Store, *mirrors: MirroredIssue) -> None:
    await store.write(lambda tx: [tx.trackers.put_mirror(mirror) for mirror in mirrors])


async def test_a_tracker_keeps_every_field_and_is_replaced(store: Store, clock: FakeClock) -> None:
    now = clock.now()
    bare = ProjectTracker(VC, TrackerKind.BUILTIN, "/src/vc", LinkSource.SERVER)
    full = ProjectTracker(
        VC,
        TrackerKind.BEADS,
        "/src ✓",
        LinkSource.CONFIG,
        7,
        "1.2",
        now,
        now + timedelta(1),
        now + timedelta(2),
        3,
        "no",
    )
    for choice in (bare, full):
        await store.write(lambda tx, choice=choice: tx.trackers.put(choice))
        assert await store.read(lambda tx: tx.trackers.get(VC)) == choice
    other = msgspec.structs.replace(bare, project_id=OTHER)
    await store.write(lambda tx: tx.trackers.put(other))
    assert await store.read(lambda tx: tx.trackers.list_all(limit=9)) == [full, other]
    assert await store.read(lambda tx: tx.trackers.list_all(limit=1)) == [full]
    await store.write(lambda tx: tx.trackers.drop(VC))
    assert await store.read(lambda tx: tx.trackers.get(VC)) is None


async def test_a_mirror_keeps_every_field_and_is_replaced(store: Store, clock: FakeClock) -> None:
    bare = MirroredIssue("tsk_1", VC)
    values: dict[str, Any] = {
        "ref": "bd-1",
        "state": IssueState.STARTED,
        "assignee": "eve",
        "title": "T ✓",
        "stamp": "s",
    }
    values |= {
        "dirty": False,
        "is_being_created": True,
        "state_being_written": "closed",
        "last_message_seq": 5,
        "problem": "p",
        "failures": 2,
    }
    full = MirroredIssue("tsk_1", VC, retry_at=clock.now(), **values)
    for mirror in (bare, full):
        await put_mirrors(store, mirror)
        assert await store.read(lambda tx: tx.trackers.get_mirror("tsk_1")) == mirror
    assert await store.read(lambda tx: tx.trackers.mirror_of_ref(VC, "bd-1")) == full
    assert await store.read(lambda tx: tx.trackers.mirror_of_ref(OTHER, "bd-1")) is None
    assert await store.read(lambda tx: tx.trackers.get_mirror("tsk_unknown")) is None


async def test_mirrors_are_listed_by_task(store: Store, clock: FakeClock) -> None:
    later = clock.now() + timedelta(seconds=5)
    clean = MirroredIssue("tsk_1", VC, ref="bd-1", dirty=False)
    dirty = MirroredIssue("tsk_2", VC)
    refused = MirroredIssue("tsk_3", VC, problem="no", failures=1, retry_at=later)
    await put_mirrors(store, refused, dirty, clean, MirroredIssue("tsk_4", OTHER, is_being_created=True))
    assert await store.read(lambda tx: tx.trackers.mirrors_of_project(VC, limit=9)) == [clean, dirty, refused]
    assert await store.read(lambda tx: tx.trackers.mirrors_of_project(VC, limit=1)) == [clean]
    assert await store.read(lambda tx: tx.trackers.list_dirty(VC, at=tx.at, limit=9)) == [dirty]
    assert await store.read(lambda tx: tx.trackers.list_dirty(VC, at=later, limit=9)) == [dirty, refused]
    assert await store.read(lambda tx: tx.trackers.list_refused(VC, limit=9)) == [refused]
    assert await store.read(lambda tx: tx.trackers.count_waiting(VC)) == (2, 1, later)
    assert await store.read(lambda tx: tx.trackers.count_waiting("prj_unknown")) == (0, 0, None)
    assert await store.read(lambda tx: tx.trackers.count_mirrors(VC)) == 1
    assert not await store.read(lambda tx: tx.trackers.has_uncertain_creation(VC))
    assert await store.read(lambda tx: tx.trackers.has_uncertain_creation(OTHER))


async def test_only_issues_of_the_project_become_dirty(store: Store) -> None:
    issue, done, task = [make_task(number=number, from_project_id=OTHER) for number in (1, 2, 3)]
    done = msgspec.structs.replace(done, status=TaskStatus.COMPLETED)

    def insert(tx: Tx) -> None:
        for inserted in (issue, done, task):
            tx.tasks.insert(inserted)
        for opened in (issue, done):
            tx.issues.insert(Issue(opened.id, f"msg_{opened.number}", "dana"))

    await store.write(insert)

    async def dirty() -> set[str]:
        found = await store.read(lambda tx: tx.trackers.list_dirty(VC, at=tx.at, limit=9))
        return {mirror.task_id for mirror in found}

    await store.write(lambda tx: tx.trackers.mark_dirty(OTHER, issue.id))
    await store.write(lambda tx: tx.trackers.mark_dirty(VC, task.id))
    assert await dirty() == set()
    await store.write(lambda tx: tx.trackers.mark_dirty(VC, issue.id))
    assert await dirty() == {issue.id}
    await put_mirrors(store, MirroredIssue(issue.id, VC, dirty=False))
    await store.write(lambda tx: tx.trackers.mark_all_dirty(VC))
    assert await dirty() == {issue.id}, "a closed issue that the tracker does not know stays clean"
    await put_mirrors(store, MirroredIssue(done.id, VC, ref="bd-2", dirty=False))
    await store.write(lambda tx: tx.trackers.mark_all_dirty(VC))
    assert await dirty() == {issue.id, done.id}


async def test_comments_are_recorded_by_fingerprint_and_number(store: Store) -> None:
    for number, message_id in enumerate(("msg_1", "msg_2")):
        await store.write(
            lambda tx, number=number, message_id=message_id: tx.trackers.put_comment("tsk_1", "f", number, message_id)
        )
    found = await store.read(lambda tx: tx.trackers.comments_of("tsk_1"))
    assert sorted(found) == [("f", 0, "msg_1"), ("f", 1, "msg_2")]
    assert [comment.message_id for comment in sorted(found)] == ["msg_1", "msg_2"]
    assert await store.read(lambda tx: tx.trackers.comments_of("tsk_2")) == []
