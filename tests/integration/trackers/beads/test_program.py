"""Calls of `bd` have limits of time and output, and faults of a call are reported. The programs are real."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from maestro.core import limits
from maestro.testing.beads import BeadsUser, put_on_path
from maestro.testing.supervised import wait_until
from maestro.trackers.base import TrackerRefused, TrackerUnreachable
from maestro.trackers.beads.program import BeadsProgram
from maestro.trackers.beads.tracker import BeadsTracker

STANDIN = Path(__file__).parents[3] / "standins" / "bd.py"


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """Return a checkout with the folder of Beads."""
    BeadsUser(tmp_path).init()
    return tmp_path


def shell_program(checkout: Path, script: str, *, seconds_max: float = 30) -> BeadsProgram:
    """Return a `bd` that runs a shell script."""
    program = checkout / "bd"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    return BeadsProgram(str(checkout), program=str(program), seconds_max=seconds_max)


async def test_a_call_runs_in_the_checkout_and_returns_code_and_both_outputs(checkout: Path) -> None:
    program = shell_program(checkout, 'echo "$PWD $1 $BEADS_DIR $BD_ACTOR"; echo problem >&2; exit 3')
    printed = await program.run_command(["list"], actor="keeper")
    assert (printed.code, printed.err) == (3, "problem\n")
    assert printed.out == f"{checkout} list {checkout / '.beads'} keeper\n"


async def test_output_that_is_not_text_is_replaced(checkout: Path) -> None:
    printed = await shell_program(checkout, r"printf 'a\377b'").run_command(["list"])
    assert printed.out == "a\ufffdb"


async def test_a_call_over_its_time_limit_is_killed(checkout: Path) -> None:
    program = shell_program(checkout, "exec sleep 600", seconds_max=0.2)
    with pytest.raises(TrackerUnreachable, match=r"`bd list` has not answered within 0\.2 s"):
        await program.run_command(["list"])
    assert processes_with(checkout) == []


async def test_a_child_process_of_bd_ends_with_the_call(checkout: Path) -> None:
    program = shell_program(checkout, "sleep 600 >/dev/null 2>&1 &\necho done")
    assert (await program.run_command(["list"])).out == "done\n"
    await asyncio.to_thread(wait_until, lambda: processes_with(checkout) == [])


async def test_a_call_that_prints_too_much_is_ended(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "tracker_output_bytes_max", 1024**2)
    with pytest.raises(TrackerUnreachable, match="printed more than 1 MiB"):
        await shell_program(checkout, "exec cat /dev/zero").run_command(["list"])
    assert processes_with(checkout) == []


async def test_a_cancelled_call_leaves_no_process(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = put_on_path(checkout / "bin", STANDIN)
    monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")
    user = BeadsUser(checkout)
    user.misbehave("hang")
    patient = BeadsTracker(BeadsProgram(str(checkout), program="bd", seconds_max=60))
    call = asyncio.ensure_future(patient.list_issues())
    await asyncio.to_thread(wait_until, user.calls)
    call.cancel()
    await asyncio.gather(call, return_exceptions=True)
    user.stop_misbehaving("hang")
    assert processes_with(checkout) == []


async def test_a_checkout_without_the_folder_of_beads_is_unreachable(tmp_path: Path) -> None:
    with pytest.raises(TrackerUnreachable, match=r"has no folder \.beads"):
        await BeadsTracker(BeadsProgram(str(tmp_path), program="bd", seconds_max=5)).read_version()


async def test_a_missing_bd_program_is_unreachable(checkout: Path) -> None:
    missing = str(checkout / "no-bd")
    with pytest.raises(TrackerUnreachable, match="cannot be started"):
        await BeadsTracker(BeadsProgram(str(checkout), program=missing, seconds_max=5)).read_version()


async def test_a_text_with_a_null_byte_is_refused(checkout: Path) -> None:
    tracker = BeadsTracker(BeadsProgram(str(checkout), program="echo", seconds_max=5))
    with pytest.raises(TrackerRefused, match="cannot be an argument"):
        await tracker.add_comment("x", "a\0b", actor="a")


def processes_with(checkout: Path) -> list[Path]:
    """Return the processes that have the checkout in their environment."""
    return [environ for environ in Path("/proc").glob("[0-9]*/environ") if _names_checkout(environ, checkout)]


def _names_checkout(environ: Path, checkout: Path) -> bool:
    try:
        return f"BEADS_DIR={checkout}".encode() in environ.read_bytes()
    except OSError:
        return False
