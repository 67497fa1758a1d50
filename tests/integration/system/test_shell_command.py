"""A shell command ends with all its processes, in time, and a bounded part of its output is kept."""

from __future__ import annotations

import asyncio
import os
import sys
import uuid
from pathlib import Path
from typing import Any

import pytest

from maestro.system.processes import find_process
from maestro.system.shell_command import CommandResult, run_command
from maestro.testing.supervised import wait_until

on_linux = pytest.mark.skipif(sys.platform != "linux", reason="processes are found by their environment in /proc")


async def run(command: str, directory: Path, **options: Any) -> CommandResult:
    options = {"environment": {"PATH": os.environ["PATH"]}, "seconds_max": 20, "bytes_max": 1000, **options}
    return await run_command(command, directory=str(directory), **options)


def has_ended(pid_file: Path) -> bool:
    found = find_process(int(pid_file.read_text()))
    return found is None or found.has_ended


async def wait_for(path: Path) -> None:
    await asyncio.to_thread(wait_until, lambda: path.exists() and path.read_text().endswith("\n"))


async def test_a_command_runs_in_its_directory_and_environment_and_both_streams_are_kept(tmp_path: Path) -> None:
    done = await run(
        "pwd; echo $GREETING >&2", tmp_path, environment={"PATH": os.environ["PATH"], "GREETING": "hello"}
    )
    assert done.output.decode().split() == [str(tmp_path), "hello"]
    assert done.has_passed and done.code == 0 and done.output_bytes == len(done.output)


@pytest.mark.parametrize(("command", "code"), [("exit 3", 3), ("kill -9 $$", -9), ("no-such-program", 127)])
async def test_a_failed_command_has_its_exit_code_or_signal(tmp_path: Path, command: str, code: int) -> None:
    done = await run(command, tmp_path)
    assert done.code == code and not done.has_passed and not done.is_timed_out


async def test_a_command_in_a_missing_directory_names_the_reason(tmp_path: Path) -> None:
    done = await run("true", tmp_path / "missing")
    assert done.code is None and not done.has_passed and not done.is_timed_out
    assert b"could not be started" in done.output and b"missing" in done.output


async def test_the_end_of_long_output_is_kept_and_the_whole_is_counted(tmp_path: Path) -> None:
    done = await run("i=0; while [ $i -lt 5000 ]; do echo line $i; i=$((i+1)); done", tmp_path)
    assert len(done.output) == 1000 and done.output.endswith(b"line 4999\n")
    assert done.output_bytes == sum(len(f"line {number}\n") for number in range(5000))


async def test_a_command_that_reads_gets_the_end_of_its_input(tmp_path: Path) -> None:
    assert (await run("cat && echo read", tmp_path)).output == b"read\n"


async def test_a_command_over_its_time_limit_may_clean_up_before_its_end(tmp_path: Path) -> None:
    done = await run("trap 'echo cleaned; exit 0' TERM; echo on; sleep 600 & wait", tmp_path, seconds_max=0.3)
    assert done.is_timed_out and not done.has_passed
    assert done.output == b"on\ncleaned\n"


@on_linux
async def test_processes_that_left_the_group_end_with_the_command(tmp_path: Path) -> None:
    script = "setsid sh -c 'echo $$ > pid; exec sleep 600' & while [ ! -s pid ]; do sleep 0.01; done"
    done = await run(script, tmp_path)
    assert done.has_passed and has_ended(tmp_path / "pid")


async def test_a_cancelled_command_ends_with_its_processes(tmp_path: Path) -> None:
    running = asyncio.create_task(run("sh -c 'echo $$ > pid; exec sleep 600' & wait", tmp_path))
    await wait_for(tmp_path / "pid")
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert has_ended(tmp_path / "pid")


@on_linux
async def test_a_command_ends_the_earlier_command_with_the_same_mark(tmp_path: Path) -> None:
    mark = uuid.uuid4().hex
    earlier = asyncio.create_task(run("echo $$ > pid; exec sleep 600", tmp_path, mark=mark))
    await wait_for(tmp_path / "pid")
    assert (await run("true", tmp_path, mark=uuid.uuid4().hex)).has_passed
    assert not earlier.done()
    assert (await run("true", tmp_path, mark=mark)).has_passed
    assert (await earlier).code == -9


async def test_the_shell_is_started_through_the_prefix(tmp_path: Path) -> None:
    done = await run("echo $INSIDE", tmp_path, prefix=["env", "INSIDE=yes"])
    assert done.output == b"yes\n"
