"""Find files of a checkout by pattern. Follows no link, never leaves the checkout, and visits a bounded number."""

from __future__ import annotations

import fnmatch
import os
from collections.abc import Iterator
from pathlib import PurePosixPath

from maestro.core import limits
from maestro.core.errors import TooLarge


class PatternSearch:
    """A search for patterns below a folder. All searches together visit a bounded number of entries."""

    def __init__(self, top: str) -> None:
        self._top = top
        self._visited_count = 0

    def find_matches(self, pattern: str) -> Iterator[tuple[str, os.DirEntry[str]]]:
        """Yield the entries of any kind that match a pattern, with their names relative to the top folder."""
        yield from self._match_below("", PurePosixPath(pattern).parts)

    def _match_below(self, folder: str, parts: tuple[str, ...]) -> Iterator[tuple[str, os.DirEntry[str]]]:
        first, rest = parts[0], parts[1:]
        if first == "**" and rest:
            yield from self._match_below(folder, rest)  # `**` stands for no folder
        for entry in self._list_entries(folder):
            name = folder + entry.name
            is_folder = entry.is_dir(follow_symlinks=False)
            if first == "**":
                if is_folder:
                    yield from self._match_below(name + "/", parts)
                elif not rest:
                    yield name, entry
            elif fnmatch.fnmatchcase(entry.name, first):
                if not rest:
                    yield name, entry
                elif is_folder:
                    yield from self._match_below(name + "/", rest)

    def _list_entries(self, folder: str) -> list[os.DirEntry[str]]:
        try:
            with os.scandir(f"{self._top}/{folder}") as scanned:
                entries = sorted((entry for entry in scanned if entry.name != ".git"), key=lambda entry: entry.name)
        except OSError:
            return []  # the folder is not readable, or was just deleted
        self._visited_count += len(entries)
        if self._visited_count > limits.worktree_walk_entries_max:
            raise TooLarge(
                f"A pattern of [worktree] copy makes Maestro search more than {limits.worktree_walk_entries_max} "
                f"files in {self._top}.",
                hint="Write a narrower pattern into [worktree] copy.",
            )
        return entries
