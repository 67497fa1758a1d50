"""Files whose rows are not written yet: who keeps one holds it, and nobody removes a file that is held.

Two requests may keep the same content at the same moment. When one of them is refused, the file stays for the other.
"""

from __future__ import annotations

import contextlib
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Self

from maestro.domain.documents import Content

Keep = Callable[[bytes], Content]


class Holds:
    """Who holds which files, counted across threads."""

    def __init__(self) -> None:
        self._holders: Counter[str] = Counter()
        self._lock = threading.Lock()

    def take(self, digest: str) -> None:
        with self._lock:
            self._holders[digest] += 1

    def let_go(self, digests: list[str]) -> None:
        with self._lock:
            for digest in digests:
                self._holders[digest] -= 1
                if not self._holders[digest]:
                    del self._holders[digest]

    @contextlib.contextmanager
    def free_of(self, digests: Iterable[str]) -> Iterator[list[str]]:
        """Yield those files that nobody holds. Until the block ends, whoever wants to hold a file waits."""
        with self._lock:
            yield [digest for digest in digests if digest not in self._holders]


class Hold:
    """The files that one request keeps, held until its rows are written or refused."""

    def __init__(self, holds: Holds, keep: Callable[[bytes, Hold], Content]) -> None:
        self._holds = holds
        self._keep = keep
        self._taken: list[str] = []  # once for each time it was kept

    @property
    def digests(self) -> set[str]:
        return set(self._taken)

    def keep(self, data: bytes) -> Content:
        """Keep a content and hold its file."""
        return self._keep(data, self)

    def take(self, digest: str) -> None:
        """Hold a file, from before it is looked for on the disk."""
        self._holds.take(digest)
        self._taken.append(digest)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._holds.let_go(self._taken)
