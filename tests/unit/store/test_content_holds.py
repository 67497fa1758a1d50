"""A content file is not removed as long as a request holds the file."""

from __future__ import annotations

import threading
from pathlib import Path

from maestro.core import limits
from maestro.store.blobs import Blobs
from maestro.store.content_holds import FileHolds

LARGE = b"x" * (limits.inline_bytes_max + 1)


def test_a_content_file_is_removed_only_without_a_hold_and_without_a_row(tmp_path: Path) -> None:
    blobs = Blobs(tmp_path / "blobs")
    first, second = blobs.new_hold(), blobs.new_hold()
    with first:
        stored = first.store_content(LARGE)
        with second:
            second.store_content(LARGE)
            first.store_content(LARGE)
            blobs.discard_unneeded(first.digests, lambda digest: False)
            assert blobs.all_files()
        blobs.discard_unneeded(first.digests, lambda digest: False)
        assert blobs.all_files(), "The file was removed although the first hold still holds it."
    blobs.discard_unneeded(first.digests, lambda digest: True)
    assert blobs.load_content(stored) == LARGE
    blobs.discard_unneeded(second.digests, lambda digest: False)
    assert blobs.all_files() == []


def test_a_small_content_is_not_held(tmp_path: Path) -> None:
    with Blobs(tmp_path / "blobs").new_hold() as hold:
        hold.store_content(b"small")
    assert hold.digests == set()


def test_a_file_is_held_until_its_last_hold_is_released() -> None:
    holds = FileHolds()
    holds.add_hold("a")
    holds.add_hold("a")
    holds.release_holds(["a"])
    with holds.lock_unheld_files(["a", "b"]) as unheld:
        assert unheld == ["b"]
    holds.release_holds(["a"])
    with holds.lock_unheld_files(["a", "b"]) as unheld:
        assert unheld == ["a", "b"]


def test_a_new_hold_waits_while_files_are_removed() -> None:
    holds = FileHolds()
    is_held = threading.Event()

    def hold_file() -> None:
        holds.add_hold("a")
        is_held.set()

    thread = threading.Thread(target=hold_file)
    with holds.lock_unheld_files(["a"]) as unheld:
        thread.start()
        assert unheld == ["a"]
        assert not is_held.wait(0.05)
    assert is_held.wait(10)
    thread.join()
