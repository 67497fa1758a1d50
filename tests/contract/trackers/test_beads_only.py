"""What a tracker beside Maestro must do besides: carry our reference, and say so when it cannot be asked."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from maestro.domain.tasks import Priority
from maestro.testing.beads import GENERATIONS, Hand, generations
from maestro.testing.supervised import until
from maestro.trackers.base import NewIssue, Refused, Unreachable
from maestro.trackers.beads.program import Program
from maestro.trackers.beads.tracker import Beads

from .conftest import beads

NEW = NewIssue(title="Crash", description="", priority=Priority.LOW, actor="finder", outside_ref="maestro:tsk_1")


@pytest.mark.parametrize("generation", generations())
async def test_an_issue_carries_our_reference(
    generation: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tracker = beads(generation, tmp_path, monkeypatch)
    made = await tracker.create(NEW)
    assert [(one.ref, one.outside_ref) for one in await tracker.issues()] == [(made.ref, "maestro:tsk_1")]
    await tracker.close(made.ref, reason="", actor="a")
    assert [one.outside_ref for one in await tracker.issues(closed=True)] == ["maestro:tsk_1"]


@pytest.mark.parametrize("generation", GENERATIONS)
async def test_each_way_in_which_it_cannot_be_asked(
    generation: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tracker = beads(generation, tmp_path, monkeypatch)
    made = await tracker.create(NEW)
    hand = Hand(tmp_path / "checkout")
    hand.tell("schema", "99")
    with pytest.raises(Unreachable, match="newer than this bd"):
        await tracker.issues()
    with pytest.raises(Unreachable, match="newer than this bd"):
        await tracker.look([made.ref])
    with pytest.raises(Refused, match="newer than this bd"):
        await tracker.comment(made.ref, "x", actor="a")
    hand.untell("schema")
    hand.tell("fail", "database is locked")
    with pytest.raises(Unreachable, match="database is locked"):
        await tracker.issues()
    hand.untell("fail")
    hand.tell("hang")
    hasty = Beads(Program(str(tmp_path / "checkout"), program="bd", seconds_max=0.2))
    with pytest.raises(Unreachable, match="has not answered within"):
        await hasty.issues()
    hand.untell("hang")
    assert len(await tracker.issues()) == 1


async def test_a_call_that_is_given_up_leaves_nothing_running(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    beads("1.0.5", tmp_path, monkeypatch)
    hand = Hand(tmp_path / "checkout")
    hand.tell("hang")
    hasty = Beads(Program(str(tmp_path / "checkout"), program="bd", seconds_max=60))
    asking = asyncio.ensure_future(hasty.issues())
    await asyncio.to_thread(until, hand.calls)
    asking.cancel()
    await asyncio.gather(asking, return_exceptions=True)
    hand.untell("hang")
    holders = [one for one in Path("/proc").glob("[0-9]*/environ") if _is_of(one, tmp_path)]
    assert holders == []


async def test_no_program_no_folder_no_sense(tmp_path: Path) -> None:
    with pytest.raises(Unreachable, match=r"has no folder \.beads"):
        await Beads(Program(str(tmp_path), program="bd", seconds_max=5)).version()
    (tmp_path / ".beads").mkdir()
    with pytest.raises(Unreachable, match="cannot be started"):
        await Beads(Program(str(tmp_path), program=str(tmp_path / "no-bd"), seconds_max=5)).version()
    with pytest.raises(Unreachable, match="does not say which version"):
        await Beads(Program(str(tmp_path), program="true", seconds_max=5)).version()
    with pytest.raises(Unreachable, match="printed no output"):
        await Beads(Program(str(tmp_path), program="true", seconds_max=5)).issues()
    with pytest.raises(Unreachable, match="does not understand"):
        await Beads(Program(str(tmp_path), program="echo", seconds_max=5)).issues()
    with pytest.raises(Refused, match="cannot be an argument"):
        await Beads(Program(str(tmp_path), program="echo", seconds_max=5)).comment("x", "a\0b", actor="a")


def _is_of(environ: Path, folder: Path) -> bool:
    try:
        return f"BEADS_DIR={folder}".encode() in environ.read_bytes()
    except OSError:
        return False
