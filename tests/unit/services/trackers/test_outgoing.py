"""Test the changes that Maestro writes to a tracker."""

from __future__ import annotations

from datetime import timedelta

import msgspec
import pytest
from tests.unit.services.conftest import OTHER
from tests.unit.services.trackers.conftest import Tracked

from maestro.core import limits
from maestro.domain.trackers import IssueStanding, IssueState, issue_reference, marked_message_id
from maestro.operations import issues as ops
from maestro.operations import task_shapes
from maestro.services.issues import moves as issue_moves
from maestro.services.tasks import editing
from maestro.services.trackers.outgoing import OutgoingChanges
from maestro.trackers.base import TrackerUnreachable


async def test_an_opened_issue_is_created_once_in_the_tracker_with_its_reference(tracked: Tracked) -> None:
    issue = await tracked.open_issue()
    await tracked.synchronise()
    await tracked.synchronise()
    (created,) = tracked.tracker.issues.values()
    assert (created.title, created.outside_ref) == ("Crash", issue_reference(issue.id))
    assert "The parser crashes." in created.description and "of vc" in created.description
    mirror = await tracked.mirror(issue)
    assert (mirror.ref, mirror.state, mirror.dirty) == (created.ref, IssueState.OPEN, False)
    assert not mirror.is_being_created and not tracked.tracker.comments[created.ref]


async def test_a_creation_in_the_tracker_without_a_result_is_recorded_as_uncertain(tracked: Tracked) -> None:
    issue = await tracked.open_issue()
    tracked.tracker.fault = TrackerUnreachable("too slow")
    with pytest.raises(TrackerUnreachable):
        await tracked.synchronise(whole=False)
    mirror = await tracked.mirror(issue)
    assert mirror.is_being_created and mirror.ref is None and mirror.dirty


async def test_a_reply_becomes_one_comment_in_the_tracker_under_the_name_of_the_author(tracked: Tracked) -> None:
    issue = await tracked.open_issue()
    await tracked.synchronise()
    sent = await tracked.reply(issue, "Which version?")
    await tracked.synchronise()
    await tracked.synchronise()
    (comment,) = tracked.tracker.comments["bd-1"]
    assert comment.author == "keeper" and marked_message_id(comment.text) == sent.id
    assert (await tracked.mirror(issue)).last_message_seq > 0


async def test_a_claim_and_a_close_in_maestro_change_the_issue_in_the_tracker(tracked: Tracked) -> None:
    issue = await tracked.open_issue()
    await tracked.synchronise()
    await tracked.claim(issue)
    await tracked.synchronise()
    assert tracked.tracker.issues["bd-1"].standing == IssueStanding(IssueState.STARTED, "keeper")
    await tracked.world.do(issue_moves.close_issue, ops.CloseIssue(id=issue.id, message="Fixed."), by=tracked.keeper)
    await tracked.synchronise()
    closed = tracked.tracker.issues["bd-1"]
    assert (closed.standing.state, closed.reason) == (IssueState.CLOSED, f"Done ({issue.ref} in Maestro)")
    assert (await tracked.mirror(issue)).state_being_written == ""


async def test_the_state_being_written_is_stored_before_the_call_to_the_tracker(tracked: Tracked) -> None:
    issue = await tracked.open_issue()
    await tracked.synchronise()
    await tracked.claim(issue)
    tracked.tracker.fault = TrackerUnreachable("gone")
    outgoing = OutgoingChanges(tracked.world.store, tracked.tracker, OTHER)
    with pytest.raises(TrackerUnreachable):
        await outgoing.write_issue(issue.id)
    assert (await tracked.mirror(issue)).state_being_written == "started:keeper"


async def test_a_changed_title_of_a_task_is_written_to_the_tracker(tracked: Tracked) -> None:
    issue = await tracked.open_issue()
    await tracked.synchronise()
    await tracked.world.do(editing.edit_task, task_shapes.EditTask(id=issue.id, title="Crash at start"))
    await tracked.synchronise()
    assert tracked.tracker.issues["bd-1"].title == "Crash at start"


async def test_a_claim_of_a_tracker_user_replaces_a_simultaneous_claim_of_a_session(tracked: Tracked) -> None:
    issue = await tracked.open_issue()
    await tracked.synchronise()
    await tracked.claim(issue)
    tracked.tracker.edit("bd-1", standing=IssueStanding(IssueState.OPEN, "alice"))
    await OutgoingChanges(tracked.world.store, tracked.tracker, OTHER).write_issue(issue.id)
    assert (await tracked.mirror(issue)).assignee == "alice"
    assert (await tracked.task(issue)).holder != tracked.keeper.name


async def test_an_issue_that_the_tracker_refuses_is_written_again_after_increasing_pauses(tracked: Tracked) -> None:
    issue, other = await tracked.open_issue("Refused"), await tracked.open_issue("Accepted")
    tracked.tracker.refused = {"Refused"}
    await tracked.synchronise()
    mirror, now = await tracked.mirror(issue), tracked.world.clock.now()
    first = timedelta(seconds=limits.tracker_retry_seconds_min)
    assert (mirror.failures, mirror.problem, mirror.retry_at) == (1, "Refused is refused.", now + first)
    assert (await tracked.mirror(other)).ref == "bd-1"
    tracked.world.clock.advance(first.total_seconds())
    await tracked.synchronise()
    again = await tracked.mirror(issue)
    assert (again.failures, again.retry_at) == (2, now + 3 * first)


async def test_a_refused_issue_that_the_tracker_accepts_later_has_no_problem(tracked: Tracked) -> None:
    issue = await tracked.open_issue("Refused")
    tracked.tracker.refused = {"Refused"}
    await tracked.synchronise()
    tracked.tracker.refused = set()
    tracked.world.clock.advance(limits.tracker_retry_seconds_min)
    await tracked.synchronise()
    mirror = await tracked.mirror(issue)
    assert (mirror.ref, mirror.problem, mirror.failures, mirror.retry_at) == ("bd-1", "", 0, None)


async def test_many_refusals_in_a_round_count_as_a_fault_of_the_tracker(tracked: Tracked) -> None:
    for number in range(limits.tracker_refusals_max):
        tracked.tracker.refused.add(f"Refused {number}")
        await tracked.open_issue(f"Refused {number}")
    with pytest.raises(TrackerUnreachable, match=f"refused {limits.tracker_refusals_max} issues"):
        await tracked.synchronise()


async def test_an_issue_whose_task_was_deleted_is_no_longer_written_to_the_tracker(tracked: Tracked) -> None:
    issue = await tracked.open_issue()
    await tracked.synchronise()
    await tracked.put_mirror(
        msgspec.structs.replace(await tracked.mirror(issue), task_id="tsk_deleted", ref="bd-9", dirty=True)
    )
    calls = list(tracked.tracker.calls)
    await OutgoingChanges(tracked.world.store, tracked.tracker, OTHER).write_issue("tsk_deleted")
    stored = await tracked.world.store.read(lambda tx: tx.trackers.get_mirror("tsk_deleted"))
    assert stored is not None and not stored.dirty and tracked.tracker.calls == calls
