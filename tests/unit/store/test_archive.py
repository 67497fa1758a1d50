"""An archive contains the database and its content files, and its verification finds missing and damaged files."""

from __future__ import annotations

import io
import stat
import tarfile
from pathlib import Path

import pytest

from maestro.core import errors, limits
from maestro.store.archive import ArchivedFiles, hash_file, pack_archive, verify_archive
from maestro.store.blobs import Blobs
from maestro.store.layout import BLOBS, DATABASE

LARGE = b"x" * (limits.inline_bytes_max + 1)
ABSENT = "0" * 64


@pytest.fixture
def blobs(tmp_path: Path) -> Blobs:
    return Blobs(tmp_path / BLOBS)


@pytest.fixture
def database(tmp_path: Path) -> Path:
    file = tmp_path / "copy.db"
    file.write_bytes(b"the database" * 100_000)
    return file


def test_an_archive_holds_the_database_and_the_named_files(tmp_path: Path, blobs: Blobs, database: Path) -> None:
    name = blobs.store_content(LARGE).sha256
    blobs.store_content(LARGE + b"not named")
    archive = tmp_path / "all.tar"
    files = pack_archive(archive, database, blobs, [name, ABSENT])
    assert files == ArchivedFiles(packed=1, missing=[ABSENT], damaged=[])
    with tarfile.open(archive) as packed:
        assert packed.getnames() == [DATABASE, f"{BLOBS}/{name[:2]}/{name}"]
    assert stat.S_IMODE(archive.stat().st_mode) == 0o600
    verify_archive(archive, database, files)
    assert files.damaged == []


def test_packing_an_archive_does_not_overwrite_an_existing_file(tmp_path: Path, blobs: Blobs, database: Path) -> None:
    archive = tmp_path / "all.tar"
    archive.write_text("precious")
    with pytest.raises(FileExistsError):
        pack_archive(archive, database, blobs, [])
    assert archive.read_text() == "precious"


def test_the_verification_of_an_archive_lists_damaged_files(tmp_path: Path, blobs: Blobs, database: Path) -> None:
    name = blobs.store_content(LARGE).sha256
    blobs.path_of(name).write_bytes(b"y")
    archive = tmp_path / "all.tar"
    files = pack_archive(archive, database, blobs, [name])
    verify_archive(archive, database, files)
    assert files.damaged == [name]


def test_the_verification_of_an_archive_refuses_another_database(
    tmp_path: Path, blobs: Blobs, database: Path
) -> None:
    archive = tmp_path / "all.tar"
    files = pack_archive(archive, database, blobs, [])
    database.write_bytes(b"changed")
    with pytest.raises(errors.StorageIOFailed, match="differs"):
        verify_archive(archive, database, files)


def test_an_archive_with_sound_files_is_accepted() -> None:
    ArchivedFiles(packed=2).require_all_sound()


@pytest.mark.parametrize(
    ("files", "error"),
    [
        (ArchivedFiles(missing=["m"]), errors.FileMissing),
        (ArchivedFiles(damaged=["d"]), errors.FileDamaged),
        (ArchivedFiles(missing=["m"], damaged=["d"]), errors.FileDamaged),
    ],
)
def test_an_archive_with_missing_or_damaged_files_is_refused_with_their_names(
    files: ArchivedFiles, error: type[errors.MaestroError]
) -> None:
    with pytest.raises(error) as caught:
        files.require_all_sound()
    assert type(caught.value) is error
    assert caught.value.data == {"missing": files.missing, "damaged": files.damaged}
    assert ("Missing: m." in caught.value.message) == bool(files.missing)
    assert ("Damaged: d." in caught.value.message) == bool(files.damaged)


def test_a_long_list_of_missing_files_is_cut_in_the_message() -> None:
    names = [f"file-{number}" for number in range(limits.names_in_message_max + 2)]
    with pytest.raises(errors.FileMissing) as caught:
        ArchivedFiles(missing=names).require_all_sound()
    assert f"{names[-3]} and 2 more." in caught.value.message and names[-2] not in caught.value.message
    with pytest.raises(errors.FileMissing) as caught:
        ArchivedFiles(missing=names[:-2]).require_all_sound()
    assert "more" not in caught.value.message


def test_the_hash_of_a_file_covers_the_whole_file() -> None:
    data = bytes(range(256)) * 10_000
    assert hash_file(io.BytesIO(data)) != hash_file(io.BytesIO(data[:-1]))
    assert hash_file(io.BytesIO(b"")) == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
