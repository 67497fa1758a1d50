"""What a tracker beside Maestro must do besides: carry our reference, and say so when it cannot be asked."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from maestro.domain.tasks import Priority
from maestro.testing.beads import GENERATIONS, BeadsUser, generations
from maestro.testing.supervised import wait_until
from maestro.trackers.base import NewIssue, TrackerRefused, TrackerUnreachable
from maestro.trackers.beads.program import BeadsProgram
from maestro.trackers.beads.tracker import BeadsTracker

from .conftest import beads

NEW = NewIssue(title="Crash", description="", priority=Priority.LOW, actor="finder", outside_ref="maestro:tsk_1")


@pytest.mark.parametrize("generation", generations())
async def test_an_issue_carries_our_reference(
    generation: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tracker = beads(generation, tmp_path, monkeypatch)
    made = await tracker.create_issue(NEW)
    assert [(one.ref, one.outside_ref) for one in await tracker.list_issues()] == [(made.ref, "maestro:tsk_1")]
    await tracker.close_issue(made.ref, reason="", actor="a")
    assert [one.outside_ref for one in await tracker.list_issues(with_closed=True)] == ["maestro:tsk_1"]


@pytest.mark.parametrize("generation", GENERATIONS)
async def test_each_way_in_which_it_cannot_be_asked(
    generation: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tracker = beads(generation, tmp_path, monkeypatch)
    made = await tracker.create_issue(NEW)
    hand = BeadsUser(tmp_path / "checkout")
    hand.misbehave("schema", "99")
    with pytest.raises(TrackerUnreachable, match="newer than this bd"):
        await tracker.list_issues()
    with pytest.raises(TrackerUnreachable, match="newer than this bd"):
        await tracker.read_issues([made.ref])
    with pytest.raises(TrackerRefused, match="newer than this bd"):
        await tracker.add_comment(made.ref, "x", actor="a")
    hand.stop_misbehaving("schema")
    hand.misbehave("fail", "database is locked")
    with pytest.raises(TrackerUnreachable, match="database is locked"):
        await tracker.list_issues()
    hand.stop_misbehaving("fail")
    hand.misbehave("hang")
    hasty = BeadsTracker(BeadsProgram(str(tmp_path / "checkout"), program="bd", seconds_max=0.2))
    with pytest.raises(TrackerUnreachable, match="has not answered within"):
        await hasty.list_issues()
    hand.stop_misbehaving("hang")
    assert len(await tracker.list_issues()) == 1


async def test_a_call_that_is_given_up_leaves_nothing_running(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    beads("1.0.5", tmp_path, monkeypatch)
    hand = BeadsUser(tmp_path / "checkout")
    hand.misbehave("hang")
    hasty = BeadsTracker(BeadsProgram(str(tmp_path / "checkout"), program="bd", seconds_max=60))
    asking = asyncio.ensure_future(hasty.list_issues())
    await asyncio.to_thread(wait_until, hand.calls)
    asking.cancel()
    await asyncio.gather(asking, return_exceptions=True)
    hand.stop_misbehaving("hang")
    holders = [one for one in Path("/proc").glob("[0-9]*/environ") if _is_of(one, tmp_path)]
    assert holders == []


async def test_no_program_no_folder_no_sense(tmp_path: Path) -> None:
    with pytest.raises(TrackerUnreachable, match=r"has no folder \.beads"):
        await BeadsTracker(BeadsProgram(str(tmp_path), program="bd", seconds_max=5)).read_version()
    (tmp_path / ".beads").mkdir()
    with pytest.raises(TrackerUnreachable, match="cannot be started"):
        await BeadsTracker(BeadsProgram(str(tmp_path), program=str(tmp_path / "no-bd"), seconds_max=5)).read_version()
    with pytest.raises(TrackerUnreachable, match="does not say which version"):
        await BeadsTracker(BeadsProgram(str(tmp_path), program="true", seconds_max=5)).read_version()
    with pytest.raises(TrackerUnreachable, match="printed no output"):
        await BeadsTracker(BeadsProgram(str(tmp_path), program="true", seconds_max=5)).list_issues()
    with pytest.raises(TrackerUnreachable, match="does not understand"):
        await BeadsTracker(BeadsProgram(str(tmp_path), program="echo", seconds_max=5)).list_issues()
    with pytest.raises(TrackerRefused, match="cannot be an argument"):
        await BeadsTracker(BeadsProgram(str(tmp_path), program="echo", seconds_max=5)).add_comment(
            "x", "a\0b", actor="a"
        )


def _is_of(environ: Path, folder: Path) -> bool:
    try:
        return f"BEADS_DIR={folder}".encode() in environ.read_bytes()
    except OSError:
        return False
