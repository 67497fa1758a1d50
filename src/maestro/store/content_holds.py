"""Holds on content files whose rows are not written yet. Housekeeping removes no file that a request holds.

Two requests may store the same content at the same moment. If one request is refused, the file stays for the other.
"""

from __future__ import annotations

import contextlib
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Self

from maestro.domain.documents import StoredContent

StoreContent = Callable[[bytes], StoredContent]


class FileHolds:
    """The number of holds on each file, counted across threads."""

    def __init__(self) -> None:
        self._hold_counts: Counter[str] = Counter()
        self._lock = threading.Lock()

    def add_hold(self, digest: str) -> None:
        with self._lock:
            self._hold_counts[digest] += 1

    def release_holds(self, digests: list[str]) -> None:
        with self._lock:
            for digest in digests:
                self._hold_counts[digest] -= 1
                if not self._hold_counts[digest]:
                    del self._hold_counts[digest]

    @contextlib.contextmanager
    def lock_unheld_files(self, digests: Iterable[str]) -> Iterator[list[str]]:
        """Yield the files without a hold. Until the block ends, a request for a new hold waits."""
        with self._lock:
            yield [digest for digest in digests if digest not in self._hold_counts]


class FileHold:
    """The files that a request stores, held until the request's rows are written or refused."""

    def __init__(self, holds: FileHolds, store_content: Callable[[bytes, FileHold], StoredContent]) -> None:
        self._holds = holds
        self._keep = store_content
        self._held_digests: list[str] = []  # a digest stands in the list once for each time its content was stored

    @property
    def digests(self) -> set[str]:
        return set(self._held_digests)

    def store_content(self, data: bytes) -> StoredContent:
        """Store a content and hold its file."""
        return self._keep(data, self)

    def hold_file(self, digest: str) -> None:
        """Hold a file. The hold must begin before the caller looks for the file on the disk."""
        self._holds.add_hold(digest)
        self._held_digests.append(digest)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._holds.release_holds(self._held_digests)
