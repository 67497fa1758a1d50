"""A backup is verified: it names damage in the database or in a file beside the database, and fails."""

from __future__ import annotations

import base64
import contextlib
import io
import json
import os
import sqlite3
import subprocess
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from maestro.core import limits
from maestro.store.layout import BLOBS, DATABASE
from maestro.testing.live import LiveServer

PAGE = 4096


@pytest.fixture
def filled(live: LiveServer, connect: Any, init: Any) -> tuple[LiveServer, Path]:
    """Return a server with one document in a file beside the database, and the path of the file."""
    return live, add_document(connect(live), init)


def add_document(api: Any, init: Callable[[Any], str], name: str = "vc") -> Path:
    project = init(api)
    task = api.call("POST", "/api/tasks", project=project, title="t")["id"]
    content = base64.b64encode(os.urandom(limits.inline_bytes_max * 3)).decode()
    sha256 = api.call("POST", f"/api/tasks/{task}/documents", title="d", content=content)["sha256"]
    return Path(api.server.home) / BLOBS / sha256[:2] / sha256


def backup(live: LiveServer, target: Path, *options: str) -> Any:
    return live.run_command("backup", str(target), "--json", *options)


def change_file(file: Path) -> None:
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 0xFF
    file.write_bytes(data)


BLOB_DAMAGE = {"missing": Path.unlink, "damaged": change_file, "cut": lambda file: os.truncate(file, 100)}


@pytest.mark.parametrize("kind", BLOB_DAMAGE)
def test_a_backup_lists_files_that_are_missing_or_damaged(
    filled: tuple[LiveServer, Path], tmp_path: Path, kind: str
) -> None:
    live, file = filled
    BLOB_DAMAGE[kind](file)
    refused = backup(live, tmp_path / "all.tar")
    assert refused.returncode == 1
    told = json.loads(refused.stderr)
    assert told["code"] == ("file_missing" if kind == "missing" else "file_damaged"), told
    assert not told["retryable"] and file.name in told["message"] and "--allow-missing" in told["hint"]
    assert list(tmp_path.glob("*.tar")) + list(tmp_path.glob(".maestro*")) == []
    allowed = backup(live, tmp_path / "all.tar", "--allow-missing")
    assert allowed.returncode == 0, allowed.stderr
    named = json.loads(allowed.stdout)["missing" if kind == "missing" else "damaged"]
    assert named == [file.name]


def test_a_backup_reports_the_duration_of_its_verification(filled: tuple[LiveServer, Path], tmp_path: Path) -> None:
    live, _ = filled
    told = json.loads(backup(live, tmp_path / "all.tar").stdout)
    assert told["verification_ms"] > 0 and told["missing"] == told["damaged"] == [] and told["blobs"] == 1
    shown = live.run_command("backup", str(tmp_path / "again.tar"))
    assert b"verified in" in shown.stdout


def test_a_backup_of_a_damaged_database_fails(filled: tuple[LiveServer, Path], tmp_path: Path) -> None:
    live, _ = filled
    live.stop()
    with contextlib.closing(sqlite3.connect(live.home / DATABASE)) as database:
        # No background job of the server reads this index.
        (root,) = database.execute(
            "SELECT rootpage FROM sqlite_master WHERE name = 'gate_results_by_blob'"
        ).fetchone()
    with (live.home / DATABASE).open("r+b") as file:
        file.seek((root - 1) * PAGE)
        file.write(os.urandom(PAGE))
    live.start()
    for options in ((), ("--allow-missing",)):
        refused = backup(live, tmp_path / "all.tar", *options)
        assert refused.returncode == 1
        told = json.loads(refused.stderr)
        assert told["code"] == "storage_damaged" and not told["retryable"], told
        assert list(tmp_path.glob("*.tar")) == []


def rewrite(archive: Path, change: Callable[[str, bytes], bytes | None]) -> None:
    """Write an archive again, with each member changed or left out."""
    with tarfile.open(archive) as packed:
        members = [(one, packed.extractfile(one).read()) for one in packed]  # type: ignore[union-attr]
    with tarfile.open(archive, "w") as packed:
        for member, data in members:
            changed = change(member.name, data)
            if changed is not None:
                member.size = len(changed)
                packed.addfile(member, io.BytesIO(changed))


CHANGES: dict[str, Callable[[str, bytes], bytes | None]] = {
    "missing": lambda name, data: None if name.startswith(BLOBS) else data,
    "damaged": lambda name, data: b"x" + data[1:] if name.startswith(BLOBS) else data,
}


@pytest.mark.parametrize("kind", CHANGES)
def test_a_restore_lists_files_that_are_missing_or_damaged(
    filled: tuple[LiveServer, Path], tmp_path: Path, kind: str
) -> None:
    live, file = filled
    archive = tmp_path / "all.tar"
    assert backup(live, archive).returncode == 0
    rewrite(archive, CHANGES[kind])
    live.stop()
    before = (live.home / DATABASE).stat().st_ino
    refused = live.run_command("restore", str(archive))
    assert refused.returncode == 1
    assert file.name.encode() in refused.stderr and b"--allow-missing" in refused.stderr
    assert (live.home / DATABASE).stat().st_ino == before, "a refused restore changed the data"
    allowed = live.run_command("restore", str(archive), "--allow-missing")
    assert allowed.returncode == 0, allowed.stderr
    assert file.name.encode() in allowed.stdout


# Backups of a data directory that accepts no writes.


def mount(*words: str) -> None:
    done = subprocess.run(["mount", *words], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        pytest.skip(f"this machine does not permit a mount: {done.stderr.strip()}")


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "disk"
    folder.mkdir()
    mount("-t", "tmpfs", "-o", "size=4m,mode=700", "tmpfs", str(folder))
    yield folder
    subprocess.run(["umount", "--lazy", str(folder)], check=True)


def fill(disk: Path) -> None:
    with contextlib.suppress(OSError), (disk / "ballast").open("wb", buffering=0) as file:
        while file.write(bytes(PAGE)):
            pass


def restored_titles(archive: Path, home: Path, connect: Any) -> list[str]:
    with LiveServer(home) as other:
        other.stop()
        done = other.run_command("restore", str(archive))
        assert done.returncode == 0, done.stderr
        other.start()
        api = connect(other)
        (project,) = api.call("GET", "/api/projects")["projects"]
        return [task["title"] for task in api.tasks(project["id"])]


@pytest.mark.parametrize("runs", [True, False], ids=["server runs", "no server"])
def test_a_backup_to_another_disk_works_when_the_data_directory_is_full(
    small_disk: Path, tmp_path: Path, connect: Any, init: Any, runs: bool
) -> None:
    with LiveServer(small_disk / "home") as live:
        add_document(connect(live), init)
        if not runs:
            live.kill()
        fill(small_disk)
        done = backup(live, tmp_path / "all.tar")
        assert done.returncode == 0, done
        live.run_command("down")
    assert restored_titles(tmp_path / "all.tar", tmp_path / "other", connect) == ["t"]


@pytest.mark.parametrize("ended", ["kill", "stop"])
def test_a_backup_to_another_disk_works_when_the_data_directory_is_read_only(
    small_disk: Path, tmp_path: Path, connect: Any, init: Any, ended: str
) -> None:
    with LiveServer(small_disk / "home") as live:
        add_document(connect(live), init)
        getattr(live, ended)()
        mount("-o", "remount,ro", str(small_disk))
        done = backup(live, tmp_path / "all.tar")
        assert done.returncode == 0, done
        damaged = live.run_command("task", "list")
        assert damaged.returncode == 8 and b"read-only" in damaged.stderr.lower(), damaged
    assert restored_titles(tmp_path / "all.tar", tmp_path / "other", connect) == ["t"]


def test_a_backup_also_checks_the_constraints_of_rows(filled: tuple[LiveServer, Path], tmp_path: Path) -> None:
    """SQLite omits constraints from its check of a database that is open read-only."""
    live, _ = filled
    live.stop()
    with contextlib.closing(sqlite3.connect(live.home / DATABASE)) as database:
        database.execute("PRAGMA ignore_check_constraints = ON")
        database.execute("UPDATE tasks SET status = 'unheard of'")
        database.commit()
    refused = backup(live, tmp_path / "all.tar")
    live.run_command("down")
    assert refused.returncode == 1 and b"storage_damaged" in refused.stderr, refused
