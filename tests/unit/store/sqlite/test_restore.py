"""A restore checks the backup before it changes any data, and keeps the earlier data."""

from __future__ import annotations

import io
import stat
import tarfile
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from maestro.core import errors
from maestro.store.archive import pack_archive
from maestro.store.blobs import Blobs
from maestro.store.layout import BLOBS, DATABASE, MARK
from maestro.store.mark import Mark
from maestro.store.sqlite.connection import connect_writer
from maestro.store.sqlite.migration_scripts import migration_scripts
from maestro.store.sqlite.restore import restore_backup

AT = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
LARGE = b"x" * 20_000
WriteArchive = Callable[..., Path]


@pytest.fixture
def write_archive(tmp_path: Path, write_database: Callable[..., Path]) -> WriteArchive:
    """Return a function that writes an archive of a database with 3 events and the name of a content file.

    The archive contains the given content for this file. Without a content the file is missing.
    """

    def write(*contents: bytes) -> Path:
        source = tmp_path / "source"
        source.mkdir()
        database = write_database(source, last_seq=3)
        blobs = Blobs(source / BLOBS)
        name = blobs.store_content(LARGE).sha256
        add_document(database, name)
        if contents:
            blobs.path_of(name).write_bytes(contents[0])
        else:
            blobs.path_of(name).unlink()
        pack_archive(tmp_path / "all.tar", database, blobs, [name])
        return tmp_path / "all.tar"

    return write


def add_document(database: Path, blob: str) -> None:
    connection = connect_writer(database)
    connection.execute("PRAGMA foreign_keys = OFF")
    connection.execute(
        "INSERT INTO documents (id, task_id, title, file_name, bytes, sha256, blob, by, created_at) "
        "VALUES ('doc_1', 'tsk_1', 't', 'f', 1, ?, ?, 'dana', 1)",
        (blob, blob),
    )
    connection.close()


def write_tar(path: Path, members: dict[str, bytes]) -> Path:
    with tarfile.open(path, "w") as packed:
        for name, data in members.items():
            member = tarfile.TarInfo(name)
            member.size = len(data)
            packed.addfile(member, io.BytesIO(data))
    return path


def test_a_restore_into_an_empty_directory_keeps_no_earlier_data(home: Path, write_archive: WriteArchive) -> None:
    result = restore_backup(home, write_archive(LARGE), at=AT)
    assert result.aside is None and result.files.missing == result.files.damaged == []
    assert sorted(file.name for file in home.iterdir()) == [BLOBS, DATABASE, MARK]
    (file,) = Blobs(home / BLOBS).all_files()
    assert file.read_bytes() == LARGE
    assert Mark(home / MARK).read() == 3
    assert stat.S_IMODE((home / DATABASE).stat().st_mode) == stat.S_IMODE(file.stat().st_mode) == 0o600


def test_two_restores_within_a_second_keep_the_earlier_data_in_two_folders(
    home: Path, write_archive: WriteArchive
) -> None:
    archive = write_archive(LARGE)
    restore_backup(home, archive, at=AT)
    kept = [restore_backup(home, archive, at=AT).aside for _ in range(2)]
    assert [folder.name for folder in kept if folder] == [
        "before-restore-20260102-030405",
        "before-restore-20260102-030405-2",
    ]
    assert all(folder and (folder / DATABASE).exists() for folder in kept)


@pytest.mark.parametrize(
    ("contents", "error"), [((), errors.FileMissing), ((b"changed",), errors.FileDamaged)], ids=["missing", "damaged"]
)
def test_a_backup_with_missing_or_damaged_files_is_refused_without_allow_missing(
    home: Path, write_archive: WriteArchive, contents: tuple[bytes, ...], error: type[errors.MaestroError]
) -> None:
    archive = write_archive(*contents)
    (home / DATABASE).write_text("old")
    with pytest.raises(error):
        restore_backup(home, archive, at=AT)
    assert [(file.name, file.read_text()) for file in home.iterdir()] == [(DATABASE, "old")]
    result = restore_backup(home, archive, at=AT, allow_missing=True)
    assert len(result.files.missing) + len(result.files.damaged) == 1
    assert result.aside is not None and (result.aside / DATABASE).read_text() == "old"


def test_a_missing_archive_is_refused(home: Path, tmp_path: Path) -> None:
    with pytest.raises(errors.NotFound):
        restore_backup(home, tmp_path / "absent.tar", at=AT)
    assert list(home.iterdir()) == []


@pytest.mark.parametrize(
    ("members", "message"),
    [
        ({}, "holds no Maestro database"),
        ({"other.db": b"x"}, "holds no Maestro database"),
        ({f"../{DATABASE}": b"x"}, "holds no Maestro database"),
        ({DATABASE: b"not a database " * 100}, "damaged"),
    ],
    ids=["empty", "other", "outside", "damaged"],
)
def test_an_archive_without_a_sound_database_is_refused(
    home: Path, tmp_path: Path, members: dict[str, bytes], message: str
) -> None:
    archive = write_tar(tmp_path / "all.tar", members)
    with pytest.raises(errors.Invalid, match=message):
        restore_backup(home, archive, at=AT)
    assert list(home.iterdir()) == []


def test_a_file_that_is_not_an_archive_is_refused(home: Path, tmp_path: Path) -> None:
    (tmp_path / "all.tar").write_text("not an archive" * 1000)
    with pytest.raises(errors.Invalid, match="not a backup"):
        restore_backup(home, tmp_path / "all.tar", at=AT)


def test_a_folder_in_the_place_of_an_archive_is_reported_as_a_storage_fault(home: Path, tmp_path: Path) -> None:
    with pytest.raises(errors.StorageFailed, match="cannot be unpacked"):
        restore_backup(home, tmp_path, at=AT)


def test_a_backup_of_a_newer_maestro_is_refused(
    home: Path, tmp_path: Path, write_database: Callable[..., Path]
) -> None:
    database = write_database(tmp_path)
    connection = connect_writer(database)
    connection.execute(f"PRAGMA user_version = {len(migration_scripts()) + 1}")
    connection.close()
    with pytest.raises(errors.StorageTooNew):
        restore_backup(home, write_tar(tmp_path / "all.tar", {DATABASE: database.read_bytes()}), at=AT)
    assert list(home.iterdir()) == []


def test_unexpected_files_of_an_archive_are_skipped(
    home: Path, tmp_path: Path, write_database: Callable[..., Path]
) -> None:
    members = {
        DATABASE: write_database(tmp_path).read_bytes(),
        "config.toml": b"x",
        f"{BLOBS}/../../escaped": b"x",
        f"{BLOBS}/aa/short": b"x",
    }
    restore_backup(home, write_tar(tmp_path / "all.tar", members), at=AT)
    assert sorted(file.name for file in home.iterdir()) == [BLOBS, DATABASE, MARK]
    assert list((home / BLOBS).iterdir()) == [] and not (tmp_path / "escaped").exists()
