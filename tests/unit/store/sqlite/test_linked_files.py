"""The store notices when the files of its open database are removed or replaced in the data directory."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from maestro.core import errors
from maestro.store.sqlite.linked_files import LinkedFiles


@pytest.fixture
def database(tmp_path: Path) -> Path:
    for name in ("a.db", "a.db-wal"):
        (tmp_path / name).touch()
    return tmp_path / "a.db"


def replace_file(file: Path) -> None:
    new = file.with_name("new")
    new.touch()
    new.rename(file)


def test_database_files_with_changed_content_are_accepted(database: Path) -> None:
    files = LinkedFiles(database)
    database.write_text("changed")
    files.require_unchanged()


@pytest.mark.parametrize("name", ["a.db", "a.db-wal"])
@pytest.mark.parametrize("change", [Path.unlink, replace_file], ids=["removed", "replaced"])
def test_a_removed_or_replaced_database_file_is_refused(
    database: Path, name: str, change: Callable[[Path], None]
) -> None:
    files = LinkedFiles(database)
    change(database.with_name(name))
    with pytest.raises(errors.StorageGone, match=str(database)):
        files.require_unchanged()


def test_a_database_file_that_was_moved_away_and_back_is_still_refused(database: Path) -> None:
    files = LinkedFiles(database)
    aside = database.rename(database.with_name("aside"))
    with pytest.raises(errors.StorageGone):
        files.require_unchanged()
    aside.rename(database)
    with pytest.raises(errors.StorageGone):
        files.require_unchanged()


def test_database_files_that_were_always_missing_are_refused(tmp_path: Path) -> None:
    with pytest.raises(errors.StorageGone):
        LinkedFiles(tmp_path / "absent.db").require_unchanged()


def test_a_relative_path_keeps_its_meaning_after_a_change_of_directory(
    database: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(database.parent)
    files = LinkedFiles(Path(database.name))
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    files.require_unchanged()
