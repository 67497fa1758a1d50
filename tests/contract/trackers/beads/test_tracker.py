"""Tests of Beads as a tracker: Maestro's reference, faults of `bd`, and differences in the output of its versions."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest
from tests.contract.trackers.conftest import beads_tracker

from maestro.core import limits
from maestro.domain.priorities import Priority
from maestro.testing.beads import GENERATIONS, BeadsUser, generations
from maestro.trackers.base import IssueTaken, NewIssue, TrackerRefused, TrackerUnreachable
from maestro.trackers.beads.program import BeadsProgram
from maestro.trackers.beads.tracker import BeadsTracker

NEW = NewIssue(title="Crash", description="", priority=Priority.LOW, actor="finder", outside_ref="maestro:tsk_1")


@pytest.mark.parametrize("generation", generations())
async def test_an_issue_keeps_the_reference_of_maestro(
    generation: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tracker = beads_tracker(generation, tmp_path, monkeypatch)
    created = await tracker.create_issue(NEW)
    assert [(issue.ref, issue.outside_ref) for issue in await tracker.list_issues()] == [
        (created.ref, "maestro:tsk_1")
    ]
    await tracker.close_issue(created.ref, reason="", actor="a")
    assert [issue.outside_ref for issue in await tracker.list_issues(with_closed=True)] == ["maestro:tsk_1"]


@pytest.mark.parametrize("generation", GENERATIONS)
async def test_faults_of_bd_make_the_tracker_unreachable(
    generation: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tracker = beads_tracker(generation, tmp_path, monkeypatch)
    created = await tracker.create_issue(NEW)
    user = BeadsUser(tmp_path / "checkout")
    user.misbehave("schema", "99")
    with pytest.raises(TrackerUnreachable, match="newer than this bd"):
        await tracker.list_issues()
    with pytest.raises(TrackerUnreachable, match="newer than this bd"):
        await tracker.read_issues([created.ref])
    with pytest.raises(TrackerRefused, match="newer than this bd"):
        await tracker.add_comment(created.ref, "x", actor="a")
    user.stop_misbehaving("schema")
    user.misbehave("fail", "database is locked")
    with pytest.raises(TrackerUnreachable, match="database is locked"):
        await tracker.list_issues()
    user.stop_misbehaving("fail")
    user.misbehave("hang")
    hurried = BeadsTracker(BeadsProgram(str(tmp_path / "checkout"), program="bd", seconds_max=0.2))
    with pytest.raises(TrackerUnreachable, match="has not answered within"):
        await hurried.list_issues()
    user.stop_misbehaving("hang")
    assert len(await tracker.list_issues()) == 1


async def test_a_program_other_than_bd_is_an_unreachable_tracker(tmp_path: Path) -> None:
    BeadsUser(tmp_path).init()
    silent = BeadsTracker(BeadsProgram(str(tmp_path), program="true", seconds_max=5))
    with pytest.raises(TrackerUnreachable, match="does not say which version"):
        await silent.read_version()
    with pytest.raises(TrackerUnreachable, match="printed no output"):
        await silent.list_issues()
    with pytest.raises(TrackerUnreachable, match="does not understand"):
        await BeadsTracker(BeadsProgram(str(tmp_path), program="echo", seconds_max=5)).list_issues()


def scripted_tracker(folder: Path, script: str) -> BeadsTracker:
    """Return Beads with a shell script as `bd`. The script logs the arguments of each call."""
    BeadsUser(folder).init()
    program = folder / "bd"
    program.write_text(f'#!/bin/sh\necho "$@" >> {shlex.quote(str(folder / "calls"))}\n{script}\n')
    program.chmod(0o755)
    return BeadsTracker(BeadsProgram(str(folder), program=str(program), seconds_max=30))


def printed_issue(ref: str, **fields: object) -> str:
    """Return a shell command that prints an issue as JSON."""
    return f"echo {shlex.quote(json.dumps([{'id': ref, 'title': 't', 'status': 'open', **fields}]))}"


@pytest.mark.parametrize(
    ("version", "covers"), [("bd version 0.20.0", False), ("bd version 0.49.9", False), ("bd version 0.50.0", True)]
)
async def test_the_version_decides_whether_stamps_cover_comments(tmp_path: Path, version: str, covers: bool) -> None:
    tracker = scripted_tracker(tmp_path, f"echo {version}")
    assert await tracker.read_version() == version.rpartition(" ")[2]
    assert tracker.stamps_cover_comments is covers


async def test_an_old_version_is_unreachable_and_names_the_oldest_version(tmp_path: Path) -> None:
    with pytest.raises(TrackerUnreachable, match=r"bd 0\.19\.9 is too old: install bd 0\.20 or newer"):
        await scripted_tracker(tmp_path, "echo bd version 0.19.9").read_version()


async def test_a_version_that_is_printed_with_an_error_code_does_not_count(tmp_path: Path) -> None:
    with pytest.raises(TrackerUnreachable, match="does not say which version"):
        await scripted_tracker(tmp_path, "echo bd version 1.0.0; exit 1").read_version()


async def test_a_claim_that_bd_does_not_confirm_is_checked_by_reading_the_issue(tmp_path: Path) -> None:
    held = printed_issue("bd-1", status="in_progress", assignee="keeper")
    tracker = scripted_tracker(tmp_path, f'case "$1" in show) {held};; esac')
    assert (await tracker.claim_issue("bd-1", actor="keeper")).standing.assignee == "keeper"
    with pytest.raises(IssueTaken) as taken:
        await tracker.claim_issue("bd-1", actor="other")
    assert str(taken.value) == "keeper has claimed bd-1"


async def test_a_failed_claim_of_an_open_issue_is_refused_with_the_error_of_bd(tmp_path: Path) -> None:
    script = f'case "$1" in show) {printed_issue("bd-1")};; *) echo broken database >&2; exit 1;; esac'
    with pytest.raises(TrackerRefused, match="broken database"):
        await scripted_tracker(tmp_path, script).claim_issue("bd-1", actor="keeper")


async def test_a_claim_of_a_missing_issue_is_refused(tmp_path: Path) -> None:
    tracker = scripted_tracker(tmp_path, "echo no issue found >&2; exit 1")
    with pytest.raises(TrackerRefused, match="no issue found"):
        await tracker.claim_issue("bd-1", actor="keeper")


async def test_a_change_counts_only_if_the_issue_has_the_new_state(tmp_path: Path) -> None:
    tracker = scripted_tracker(tmp_path, f"{printed_issue('bd-1', status='open')}")
    assert (await tracker.reopen_issue("bd-1", actor="a")).ref == "bd-1"
    with pytest.raises(TrackerRefused):
        await tracker.close_issue("bd-1", reason="Done.", actor="a")


async def test_a_failed_rename_is_refused_although_the_issue_exists(tmp_path: Path) -> None:
    script = f'case "$1" in show) {printed_issue("bd-1")};; *) echo title too long >&2; exit 1;; esac'
    with pytest.raises(TrackerRefused, match="title too long"):
        await scripted_tracker(tmp_path, script).rename_issue("bd-1", "x", actor="a")


async def test_a_comment_is_refused_if_bd_prints_no_comment(tmp_path: Path) -> None:
    with pytest.raises(TrackerRefused):
        await scripted_tracker(tmp_path, "exit 0").add_comment("bd-1", "Hello", actor="a")


async def test_a_creation_that_bd_refuses_is_refused_with_the_error_of_bd(tmp_path: Path) -> None:
    with pytest.raises(TrackerRefused, match="read-only"):
        await scripted_tracker(tmp_path, "echo read-only >&2; exit 1").create_issue(NEW)


async def test_many_issues_are_read_in_several_calls(tmp_path: Path) -> None:
    refs = [f"bd-{number}" for number in range(limits.tracker_issues_per_call_max + 1)]
    await scripted_tracker(tmp_path, "echo '[]'").read_issues(refs)
    assert [len(call.split()) - 2 for call in (tmp_path / "calls").read_text().splitlines()] == [len(refs) - 1, 1]
