"""Measure the disk space of a folder with a bounded walk."""

from __future__ import annotations

import os

from maestro.core import limits

_BLOCK_BYTES = 512  # the unit of st_blocks on every disk


def measure_folder(folder: str) -> tuple[int, bool]:
    """Return the bytes of a folder, and False if the count stopped at the limit of files. Follows no links."""
    size = visited_count = 0
    unvisited = [folder]
    while unvisited:
        try:
            with os.scandir(unvisited.pop()) as entries:
                for entry in entries:
                    visited_count += 1
                    if visited_count > limits.worktree_walk_entries_max:
                        return size, False
                    size += entry.stat(follow_symlinks=False).st_blocks * _BLOCK_BYTES
                    if entry.is_dir(follow_symlinks=False):
                        unvisited.append(entry.path)
        except OSError:
            continue  # the folder is not readable, or was deleted meanwhile
    return size, True
