"""A backup replaces a store, the old store is kept aside, and an interrupted replacement is finished later."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from maestro.core import errors
from maestro.store.layout import BLOBS, DATABASE, HEALTH, MARK, REPLACEMENT
from maestro.store.sqlite.replacement import (
    finish_replacement,
    refuse_unfinished_replacement,
    replace_store,
)


def write_files(folder: Path, text: str, *names: str) -> Path:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


def read_files(folder: Path) -> dict[str, str]:
    return {str(file.relative_to(folder)): file.read_text() for file in sorted(folder.rglob("*")) if file.is_file()}


@pytest.fixture
def unpacked(home: Path) -> Path:
    """Return an unpacked backup in a data directory with an old store."""
    write_files(home, "old", DATABASE, f"{DATABASE}-wal", MARK, HEALTH, f"{BLOBS}/aa/old", "config.toml")
    return write_files(home / "restore-1", "new", DATABASE, MARK, f"{BLOBS}/bb/new")


NEW_STORE = {DATABASE: "new", MARK: "new", f"{BLOBS}/bb/new": "new", "config.toml": "old"}
OLD_STORE = {DATABASE: "old", f"{DATABASE}-wal": "old", MARK: "old", HEALTH: "old", f"{BLOBS}/aa/old": "old"}


def write_note(home: Path) -> None:
    (home / "aside").mkdir(exist_ok=True)
    (home / REPLACEMENT).write_text(json.dumps({"unpacked": "restore-1", "aside": "aside"}))


def require_replaced(home: Path) -> None:
    assert read_files(home / "aside") == OLD_STORE
    present = {name: text for name, text in read_files(home).items() if not name.startswith("aside/")}
    assert present == NEW_STORE
    assert not (home / "restore-1").exists()


def test_the_new_store_replaces_the_old_store_and_the_old_store_is_kept_aside(home: Path, unpacked: Path) -> None:
    replace_store(home, unpacked, home / "aside")
    require_replaced(home)


def test_the_old_content_files_are_moved_aside_if_the_backup_has_no_content_files(home: Path, unpacked: Path) -> None:
    (unpacked / BLOBS / "bb" / "new").unlink()
    (unpacked / BLOBS / "bb").rmdir()
    (unpacked / BLOBS).rmdir()
    replace_store(home, unpacked, home / "aside")
    assert read_files(home / "aside") == OLD_STORE
    assert list((home / BLOBS).iterdir()) == []


@pytest.mark.parametrize("steps", range(8))
def test_a_replacement_is_finished_from_every_interrupted_step(home: Path, unpacked: Path, steps: int) -> None:
    write_note(home)
    old = [DATABASE, f"{DATABASE}-wal", HEALTH, BLOBS, MARK]
    moves = [(home / name, home / "aside" / name) for name in old]
    moves += [(unpacked / name, home / name) for name in (BLOBS, MARK, DATABASE)]
    for source, target in moves[: steps + 1]:
        source.rename(target)
    finish_replacement(home)
    require_replaced(home)


def test_an_unpacked_backup_without_a_note_is_removed(home: Path, unpacked: Path) -> None:
    finish_replacement(home)
    assert not unpacked.exists()
    assert read_files(home) == {**OLD_STORE, "config.toml": "old"}


def test_a_data_directory_with_a_note_is_refused_until_the_replacement_is_finished(
    home: Path, unpacked: Path
) -> None:
    refuse_unfinished_replacement(home)
    write_note(home)
    with pytest.raises(errors.Conflict, match="interrupted"):
        refuse_unfinished_replacement(home)
    finish_replacement(home)
    refuse_unfinished_replacement(home)


@pytest.mark.parametrize("note", ["", "{}", '{"unpacked": "a", "aside": "b", "more": 1}'])
def test_an_unreadable_note_is_refused_and_no_file_is_changed(home: Path, unpacked: Path, note: str) -> None:
    (home / REPLACEMENT).write_text(note)
    before = read_files(home)
    with pytest.raises(errors.StorageFailed, match=REPLACEMENT):
        finish_replacement(home)
    assert read_files(home) == before
