"""Large contents are stored as private files, checked against their hash, and removed when they are not needed."""

from __future__ import annotations

import hashlib
import os
import stat
from pathlib import Path

import msgspec
import pytest

from maestro.core import errors, limits
from maestro.domain.documents import StoredContent
from maestro.store.blobs import Blobs

LARGE = b"x" * (limits.inline_bytes_max + 1)
DIGEST = hashlib.sha256(LARGE).hexdigest()


@pytest.fixture
def blobs(tmp_path: Path) -> Blobs:
    return Blobs(tmp_path / "blobs")


def test_only_a_content_above_the_limit_becomes_a_file(blobs: Blobs) -> None:
    small = blobs.store_content(LARGE[:-1])
    assert (small.body, small.blob, small.size) == (LARGE[:-1], None, limits.inline_bytes_max)
    assert blobs.all_files() == []
    large = blobs.store_content(LARGE)
    assert (large.body, large.blob, large.size, large.sha256) == (None, DIGEST, len(LARGE), DIGEST)
    assert blobs.all_files() == [blobs.path_of(DIGEST)]
    assert blobs.load_content(small) == LARGE[:-1] and blobs.load_content(large) == LARGE


def test_content_files_and_their_folders_are_private(blobs: Blobs) -> None:
    blobs.store_content(LARGE)
    file = blobs.path_of(DIGEST)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700


def test_a_content_that_is_stored_again_keeps_its_file_with_a_new_time(blobs: Blobs) -> None:
    blobs.store_content(LARGE)
    file = blobs.path_of(DIGEST)
    os.utime(file, (0, 0))
    inode = file.stat().st_ino
    blobs.store_content(LARGE)
    assert file.stat().st_ino == inode and file.stat().st_mtime > 0


@pytest.mark.parametrize("data", [b"", LARGE[:-1], b"y" * len(LARGE)], ids=["empty", "cut", "changed"])
def test_a_damaged_file_is_refused_until_its_content_is_stored_again(blobs: Blobs, data: bytes) -> None:
    content = blobs.store_content(LARGE)
    assert blobs.load_content(content) == LARGE
    blobs.path_of(DIGEST).write_bytes(data)
    os.utime(blobs.path_of(DIGEST), (0, 0))
    for _ in range(2):
        with pytest.raises(errors.FileDamaged) as caught:
            blobs.load_content(content)
    assert caught.value.data == {"file": DIGEST}
    blobs.store_content(LARGE)
    assert blobs.load_content(content) == LARGE


def test_reading_a_missing_content_file_is_refused_with_its_name(blobs: Blobs) -> None:
    with pytest.raises(errors.FileMissing, match=DIGEST):
        blobs.read_file(DIGEST)


def test_a_content_file_that_cannot_be_read_is_reported_as_a_storage_fault(blobs: Blobs) -> None:
    blobs.path_of(DIGEST).mkdir(parents=True)
    with pytest.raises(errors.StorageFailed, match=DIGEST):
        blobs.read_file(DIGEST)


def test_a_content_folder_that_cannot_be_created_is_reported_as_a_storage_fault(tmp_path: Path) -> None:
    (tmp_path / "blobs").write_text("a file in place of the folder")
    with pytest.raises(errors.StorageFailed, match="cannot be stored"):
        Blobs(tmp_path / "blobs").store_content(LARGE)


def test_a_content_whose_file_has_another_size_is_refused(blobs: Blobs) -> None:
    content = blobs.store_content(LARGE)
    with pytest.raises(errors.FileDamaged):
        blobs.load_content(msgspec.structs.replace(content, size=len(LARGE) + 1))
    assert blobs.load_content(msgspec.structs.replace(content, size=0)) == LARGE, (
        "A row without a size, of an earlier version, is refused."
    )


def test_a_stored_content_that_does_not_match_its_hash_is_refused(blobs: Blobs) -> None:
    content = blobs.store_content(b"small")
    with pytest.raises(errors.StorageDamaged):
        blobs.load_content(msgspec.structs.replace(content, body=b"other"))
    assert blobs.load_content(StoredContent(b"without a hash", None, 0, "")) == b"without a hash"
    assert blobs.load_content(StoredContent(None, None, 0, "")) == b""


def test_a_failed_store_of_a_content_leaves_no_temporary_file(blobs: Blobs) -> None:
    blobs.path_of(DIGEST).mkdir(parents=True)  # a file cannot be renamed to a folder
    with pytest.raises(errors.StorageFailed):
        blobs.store_content(LARGE)
    assert list(blobs.path_of(DIGEST).parent.iterdir()) == [blobs.path_of(DIGEST)]


def test_unfinished_content_files_are_not_listed(blobs: Blobs) -> None:
    blobs.store_content(LARGE)
    blobs.path_of(DIGEST).with_name(f".{DIGEST}.1.abcd").touch()
    assert blobs.all_files() == [blobs.path_of(DIGEST)]


def test_no_content_file_is_removed_while_removal_is_prevented(blobs: Blobs) -> None:
    blobs.store_content(LARGE)
    with blobs.prevent_removal():
        with blobs.prevent_removal():
            pass
        assert not blobs.may_remove_files
        blobs.discard_unneeded([DIGEST], lambda digest: False)
        assert blobs.all_files()
    assert blobs.may_remove_files
    blobs.discard_unneeded([DIGEST, "0" * 64], lambda digest: False)
    assert blobs.all_files() == []
