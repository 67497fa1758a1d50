"""Test how Maestro applies changes of issues in a tracker to tasks."""

from __future__ import annotations

import msgspec
from tests.unit.services.conftest import OTHER, VC
from tests.unit.services.trackers.conftest import Tracked

from maestro.domain.messages import SenderKind
from maestro.domain.tasks import TaskStatus
from maestro.domain.trackers import IssueStanding, IssueState, MirroredIssue, issue_reference
from maestro.services.trackers import incoming


async def test_a_new_issue_of_the_tracker_becomes_a_task(tracked: Tracked) -> None:
    issue = tracked.tracker.add_issue("A  leak\nin the pipe", description="Drip.")
    await tracked.synchronise()
    task = await tracked.imported(issue.ref)
    assert (task.title, task.description, task.created_by) == ("A leak in the pipe", "Drip.", "tracker:alice")
    assert await tracked.world.subjects(tracked.keeper) == []


async def test_closed_and_internal_issues_are_not_imported(tracked: Tracked) -> None:
    tracked.tracker.add_issue("Closed", standing=IssueStanding(IssueState.CLOSED))
    tracked.tracker.add_issue("Internal", is_work=False)
    await tracked.synchronise()
    assert await tracked.world.store.read(lambda tx: tx.trackers.count_mirrors(OTHER.id)) == 0


async def test_a_claim_in_the_tracker_takes_the_task_from_the_session_that_holds_the_task(tracked: Tracked) -> None:
    issue = await tracked.open_issue()
    await tracked.claim(issue)
    await tracked.synchronise()
    tracked.tracker.edit("bd-1", standing=IssueStanding(IssueState.STARTED, "alice"))
    await tracked.synchronise()
    task = await tracked.task(issue)
    assert (task.status, task.holder, task.lease_until) == (TaskStatus.IN_PROGRESS, "tracker:alice", None)
    assert f"{issue.ref} is no longer yours" in await tracked.world.subjects(tracked.keeper)


async def test_a_claim_under_the_name_of_a_session_is_the_claim_of_the_session(tracked: Tracked) -> None:
    issue = await tracked.open_issue()
    await tracked.synchronise()
    tracked.tracker.edit("bd-1", standing=IssueStanding(IssueState.STARTED, "keeper"))
    await tracked.synchronise()
    task = await tracked.task(issue)
    assert task.holder == tracked.keeper.name and task.lease_until is not None


async def test_a_close_in_the_tracker_completes_the_task(tracked: Tracked) -> None:
    issue = await tracked.open_issue()
    await tracked.synchronise()
    tracked.tracker.edit("bd-1", standing=IssueStanding(IssueState.CLOSED))
    await tracked.synchronise()
    assert (await tracked.task(issue)).status is TaskStatus.COMPLETED


async def test_a_state_that_maestro_itself_wrote_does_not_move_the_task(tracked: Tracked) -> None:
    issue = await tracked.open_issue()
    await tracked.synchronise()
    await tracked.put_mirror(
        msgspec.structs.replace(await tracked.mirror(issue), state_being_written="started:alice")
    )
    tracked.tracker.edit("bd-1", standing=IssueStanding(IssueState.STARTED, "alice"))
    await tracked.synchronise()
    assert (await tracked.task(issue)).status is TaskStatus.TODO
    assert (await tracked.mirror(issue)).state_being_written == ""


async def test_a_new_title_in_the_tracker_renames_the_task(tracked: Tracked) -> None:
    issue = await tracked.open_issue()
    await tracked.synchronise()
    tracked.tracker.edit("bd-1", title="Crash at start")
    await tracked.synchronise()
    assert (await tracked.task(issue)).title == tracked.tracker.issues["bd-1"].title == "Crash at start"


async def test_a_comment_in_the_tracker_is_sent_to_the_opener_once(tracked: Tracked) -> None:
    issue = await tracked.open_issue()
    await tracked.synchronise()
    tracked.tracker.write_comment("bd-1", "alice", "Which version?")
    await tracked.synchronise()
    tracked.tracker.edit("bd-1")
    await tracked.synchronise()
    received = [message for message in await tracked.world.unread(tracked.finder) if message.body == "Which version?"]
    assert [message.sender.kind for message in received] == [SenderKind.TRACKER]
    assert (await tracked.thread(issue.id))[-1].sender.name == "alice"


async def test_two_equal_comments_in_the_tracker_become_two_messages(tracked: Tracked) -> None:
    issue = await tracked.open_issue()
    await tracked.synchronise()
    for _ in range(2):
        tracked.tracker.write_comment("bd-1", "alice", "Again.")
        await tracked.synchronise()
    assert [message.body for message in await tracked.thread(issue.id)][-2:] == ["Again.", "Again."]


async def test_a_comment_of_the_opener_in_the_tracker_is_not_sent_to_the_opener(tracked: Tracked) -> None:
    await tracked.open_issue()
    await tracked.synchronise()
    tracked.tracker.write_comment("bd-1", "finder", "More details.")
    await tracked.synchronise()
    assert "More details." not in [message.body for message in await tracked.world.unread(tracked.finder)]


async def test_a_comment_with_the_mark_of_a_message_of_another_thread_is_imported(tracked: Tracked) -> None:
    issue = await tracked.open_issue()
    foreign = await tracked.world.send(None, tracked.finder.name, subject="Other")
    await tracked.synchronise()
    tracked.tracker.write_comment("bd-1", "alice", f"Copied.\n\n[maestro:{foreign.id}]")
    await tracked.synchronise()
    assert (await tracked.thread(issue.id))[-1].body.startswith("Copied.")


async def test_an_issue_that_maestro_created_is_recognised_by_its_reference(tracked: Tracked) -> None:
    issue = await tracked.open_issue()
    await tracked.put_mirror(MirroredIssue(issue.id, OTHER.id, is_being_created=True))
    created = tracked.tracker.add_issue("Crash", outside_ref=issue_reference(issue.id))
    await tracked.world.store.write(lambda tx: incoming.adopt_issue(tx, VC.id, created))
    assert (await tracked.mirror(issue)).ref is None
    await tracked.world.store.write(lambda tx: incoming.adopt_issue(tx, OTHER.id, created))
    mirror = await tracked.mirror(issue)
    assert (mirror.ref, mirror.is_being_created, mirror.dirty) == (created.ref, False, True)


async def test_a_mirrored_issue_has_a_problem_while_the_tracker_lacks_the_issue(tracked: Tracked) -> None:
    issue = await tracked.open_issue()
    await tracked.synchronise()
    kept = tracked.tracker.issues.pop("bd-1")
    await tracked.synchronise()
    assert (await tracked.mirror(issue)).problem == "bd-1 is not in the tracker."
    assert (await tracked.task(issue)).status is TaskStatus.TODO
    tracked.tracker.issues["bd-1"] = msgspec.structs.replace(kept, stamp="9")
    await tracked.synchronise()
    assert (await tracked.mirror(issue)).problem == ""
