"""Test `python -m maestro.server` as a process: its options and exit codes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from maestro.testing.live import LiveServer


def run_server(home: Path, *options: str, ready: bool = False) -> tuple[int, str, str, str]:
    """Run the module. Return the exit code, standard output, standard error and the report on the ready pipe."""
    reading, writing = os.pipe()
    environment = os.environ | ({"MAESTRO_READY_FD": str(writing)} if ready else {})
    command = [sys.executable, "-m", "maestro.server", "--home", str(home), "--port", "0", *options]
    done = subprocess.run(
        command, capture_output=True, text=True, env=environment, pass_fds=(writing,), timeout=60, check=False
    )
    os.close(writing)
    with os.fdopen(reading) as pipe:
        return done.returncode, done.stdout, done.stderr, pipe.read()


@pytest.fixture
def used_home(live: LiveServer) -> Path:
    """Return a data directory whose server has stopped."""
    live.stop()
    return live.home


def test_a_second_server_reports_that_the_directory_is_busy(live: LiveServer) -> None:
    code, _, err, report = run_server(live.home, ready=True)
    assert (code, report) == (5, "busy\n") and "Another process" in err


def test_a_restarted_server_creates_no_data_directory(tmp_path: Path) -> None:
    code, _, err, report = run_server(tmp_path / "gone", "--restart", ready=True)
    assert code == 6 and "no longer contains a database" in err and report == ""
    assert not (tmp_path / "gone").exists()


def test_invalid_settings_are_reported(tmp_path: Path) -> None:
    tmp_path.chmod(0o700)
    (tmp_path / "config.toml").write_text("port = 'x'\n")
    code, _, err, report = run_server(tmp_path, ready=True)
    assert code == 1 and report.startswith("error: ") and "config.toml cannot be used" in report
    assert "Correct the file" in err


def test_a_directory_that_cannot_be_created_is_reported(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    code, _, err, report = run_server(tmp_path / "file" / "data", ready=True)
    assert code == 1 and report.startswith("error: ") and "cannot be created" in err


def test_a_check_prints_its_findings_as_json(used_home: Path) -> None:
    code, out, _, _ = run_server(used_home, "--check")
    assert code == 0 and json.loads(out) == {"findings": [], "files": 0}


def test_a_backup_is_written_and_restored_without_a_server(used_home: Path, tmp_path: Path) -> None:
    backup = tmp_path / "backup.tar"
    code, out, _, _ = run_server(used_home, "--backup", str(backup), "--json")
    assert code == 0 and backup.exists() and json.loads(out)
    code, out, _, _ = run_server(tmp_path / "other", "--restore", str(backup))
    assert code == 0 and out == f"Restored {backup} into {tmp_path / 'other'}.\n"
    code, out, _, _ = run_server(used_home, "--restore", str(backup))
    assert code == 0 and "The previous data is in " in out


def test_a_compacted_database_is_reported_with_its_sizes(used_home: Path) -> None:
    code, out, _, _ = run_server(used_home, "--compact")
    assert code == 0 and out.startswith("The database is compacted: ")
