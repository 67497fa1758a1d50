"""Files of a checkout by pattern, without ever leaving it: no link is followed, and a walk has an end."""

from __future__ import annotations

import fnmatch
import os
from collections.abc import Iterator
from pathlib import PurePosixPath

from maestro.core import limits
from maestro.core.errors import TooLarge


class Walk:
    """Looks patterns up below one folder, and counts how much it has looked at."""

    def __init__(self, top: str) -> None:
        self._top = top
        self._seen = 0

    def matches(self, pattern: str) -> Iterator[tuple[str, os.DirEntry[str]]]:
        """What fits a pattern, whatever it is, with its name relative to the top."""
        yield from self._below("", PurePosixPath(pattern).parts)

    def _below(self, folder: str, parts: tuple[str, ...]) -> Iterator[tuple[str, os.DirEntry[str]]]:
        first, rest = parts[0], parts[1:]
        if first == "**" and rest:
            yield from self._below(folder, rest)  # no folder between
        for entry in self._entries(folder):
            name = folder + entry.name
            is_folder = entry.is_dir(follow_symlinks=False)
            if first == "**":
                if is_folder:
                    yield from self._below(name + "/", parts)
                elif not rest:
                    yield name, entry
            elif fnmatch.fnmatchcase(entry.name, first):
                if not rest:
                    yield name, entry
                elif is_folder:
                    yield from self._below(name + "/", rest)

    def _entries(self, folder: str) -> list[os.DirEntry[str]]:
        try:
            with os.scandir(f"{self._top}/{folder}") as found:
                entries = sorted((entry for entry in found if entry.name != ".git"), key=lambda entry: entry.name)
        except OSError:
            return []  # not ours to read, or just deleted
        self._seen += len(entries)
        if self._seen > limits.worktree_walk_entries_max:
            raise TooLarge(
                f"There are more than {limits.worktree_walk_entries_max} files to look through in {self._top}.",
                hint="Write a narrower pattern into [worktree] copy.",
            )
        return entries
