"""The log-size job moves the newest lines of a log that is too large to the old log, and empties the log in place."""

from __future__ import annotations

import os
from datetime import timedelta
from pathlib import Path

from maestro.core import limits
from maestro.services.housekeeping.log_sizes import LogSizeJob, bound_log
from maestro.testing.clock import FakeClock


async def test_the_job_bounds_logs_while_processes_write_to_the_logs(tmp_path: Path, clock: FakeClock) -> None:
    runs = tmp_path / "runs"
    (runs / "ses_1").mkdir(parents=True)
    logs = [tmp_path / "server.log", runs / "ses_1" / "runner.log"]
    writers = [os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT) for log in logs]
    job = LogSizeJob(tmp_path, runs, clock=clock)
    try:
        for number in range(5):
            for log, writer in zip(logs, writers, strict=True):
                os.write(
                    writer, f"begin {number}\n".encode() + b"x" * limits.log_bytes_max + f"\nend {number}\n".encode()
                )
                clock.advance(3600)
                await job.run_once()
                os.write(writer, b"after\n")
                old = log.with_name(f"{log.name}.1")
                assert log.read_text() == "after\n"
                assert old.stat().st_size <= limits.log_bytes_max
                assert old.read_bytes().endswith(f"end {number}\n".encode()), "the newest lines are kept"
                os.ftruncate(writer, 0)
    finally:
        for writer in writers:
            os.close(writer)


def test_a_log_of_the_largest_allowed_size_is_not_changed(tmp_path: Path) -> None:
    log = tmp_path / "server.log"
    log.write_bytes(b"x" * limits.log_bytes_max)
    bound_log(log)
    assert log.stat().st_size == limits.log_bytes_max and not (tmp_path / "server.log.1").exists()


def test_the_old_log_holds_the_end_of_the_log(tmp_path: Path) -> None:
    log, old = tmp_path / "server.log", tmp_path / "server.log.1"
    old.write_text("older\n")
    log.write_bytes(b"begin" + b"x" * limits.log_bytes_max + b"end")
    bound_log(log)
    assert log.read_bytes() == b"" and old.read_bytes() == b"x" * (limits.log_bytes_max // 2 - 3) + b"end"


async def test_the_job_runs_every_minute_also_without_logs(tmp_path: Path, clock: FakeClock) -> None:
    job = LogSizeJob(tmp_path, tmp_path / "runs", clock=clock)
    assert await job.run_once() == clock.now() + timedelta(minutes=1)
