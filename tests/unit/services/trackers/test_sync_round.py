"""Test a round with a tracker: which issues are read and written, and in which order."""

from __future__ import annotations

import msgspec
import pytest
from tests.unit.services.conftest import OTHER
from tests.unit.services.trackers.conftest import Tracked

from maestro.core import limits
from maestro.domain.trackers import IssueState, MirroredIssue, issue_reference
from maestro.services.trackers.sync_round import TrackerRound, is_behind


async def test_a_round_marks_the_issues_that_the_log_reports_as_changed(tracked: Tracked) -> None:
    issue = await tracked.open_issue()
    assert await tracked.world.store.read(lambda tx: is_behind(tx, tx.trackers.get(OTHER.id)))  # type: ignore[arg-type]
    sync = TrackerRound(tracked.world.store, tracked.tracker, OTHER)
    assert not await sync.collect_changes()
    assert (await tracked.mirror(issue)).dirty and tracked.tracker.calls == []
    choice = await tracked.choice()
    assert choice.cursor == await tracked.world.store.read(lambda tx: tx.events.last_seq())
    assert not await tracked.world.store.read(lambda tx: is_behind(tx, choice))


async def test_an_imported_change_is_not_written_back(tracked: Tracked) -> None:
    tracked.tracker.add_issue()
    await tracked.synchronise()
    calls = len(tracked.tracker.calls)
    await tracked.synchronise(whole=False)
    assert tracked.tracker.calls[calls:] == []


async def test_a_cursor_beyond_the_log_marks_every_issue_as_changed(tracked: Tracked) -> None:
    issue = await tracked.open_issue()
    await tracked.synchronise()
    await tracked.synchronise()
    assert not (await tracked.mirror(issue)).dirty
    choice = msgspec.structs.replace(await tracked.choice(), cursor=10_000)
    await tracked.world.store.write(lambda tx: tx.trackers.put(choice))
    await TrackerRound(tracked.world.store, tracked.tracker, OTHER).collect_changes()
    assert (await tracked.mirror(issue)).dirty
    assert (await tracked.choice()).cursor < 10_000


async def test_a_project_without_a_tracker_collects_no_changes(tracked: Tracked) -> None:
    await tracked.open_issue()
    await tracked.world.store.write(lambda tx: tx.trackers.drop(OTHER.id))
    assert not await TrackerRound(tracked.world.store, tracked.tracker, OTHER).collect_changes()


async def test_only_a_whole_round_reads_the_list_of_issues(tracked: Tracked) -> None:
    tracked.tracker.add_issue()
    await tracked.synchronise(whole=False)
    assert "list" not in tracked.tracker.calls
    await tracked.synchronise(whole=True)
    assert tracked.tracker.calls == ["list", "read bd-1"]


async def test_unchanged_issues_are_not_read_again(tracked: Tracked) -> None:
    tracked.tracker.add_issue()
    tracked.tracker.add_issue()
    await tracked.synchronise()
    tracked.tracker.edit("bd-2", title="Changed")
    await tracked.synchronise()
    assert tracked.tracker.calls[-1] == "read bd-2"


async def test_open_issues_are_read_in_turn_if_stamps_do_not_cover_comments(
    tracked: Tracked, monkeypatch: pytest.MonkeyPatch
) -> None:
    tracked.tracker.stamps_cover_comments = False
    for _ in range(3):
        tracked.tracker.add_issue()
    await tracked.synchronise()
    monkeypatch.setattr(limits, "tracker_reads_per_round_max", 2)
    for turn in range(2):
        await TrackerRound(tracked.world.store, tracked.tracker, OTHER, turn=turn).run_round(whole=True)
    _, first, second = [call.split()[1:] for call in tracked.tracker.calls if call.startswith("read")]
    assert (len(first), len(second)) == (2, 2)
    assert {*first, *second} == {"bd-1", "bd-2", "bd-3"}, "the second turn continues after the first turn"


async def test_an_uncertain_creation_that_happened_is_recognised_and_not_repeated(tracked: Tracked) -> None:
    issue = await tracked.open_issue()
    await tracked.put_mirror(MirroredIssue(issue.id, OTHER.id, is_being_created=True))
    tracked.tracker.add_issue("Crash", outside_ref=issue_reference(issue.id))
    await tracked.synchronise(whole=False)
    mirror = await tracked.mirror(issue)
    assert (mirror.ref, mirror.state, len(tracked.tracker.issues)) == ("bd-1", IssueState.OPEN, 1)


async def test_an_uncertain_creation_that_did_not_happen_is_repeated(tracked: Tracked) -> None:
    issue = await tracked.open_issue()
    await tracked.put_mirror(MirroredIssue(issue.id, OTHER.id, is_being_created=True))
    await tracked.synchronise(whole=False)
    assert (await tracked.mirror(issue)).ref == "bd-1" and len(tracked.tracker.issues) == 1


async def test_a_round_with_too_many_issues_in_the_tracker_has_a_note(
    tracked: Tracked, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "tracker_issues_max", 1)
    tracked.tracker.add_issue()
    assert (await tracked.synchronise()).note == ""
    tracked.tracker.add_issue()
    assert "2 issues; Maestro reads only 1" in (await tracked.synchronise()).note


async def test_a_round_that_leaves_issues_unread_asks_for_another_round(
    tracked: Tracked, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "tracker_reads_per_round_max", 1)
    tracked.tracker.add_issue()
    tracked.tracker.add_issue()
    sync = TrackerRound(tracked.world.store, tracked.tracker, OTHER)
    assert await sync.run_round(whole=True)
    assert not await sync.run_round(whole=True)
