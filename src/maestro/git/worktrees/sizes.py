"""How much room a folder takes on disk, as far as a bounded walk gets."""

from __future__ import annotations

import os

from maestro.core import limits

_BLOCK_BYTES = 512  # what st_blocks counts in, whatever the disk does


def on_disk(folder: str) -> tuple[int, bool]:
    """Bytes, and whether that is all: beyond a number of files it stops counting. Links are not followed."""
    size = seen = 0
    waiting = [folder]
    while waiting:
        try:
            with os.scandir(waiting.pop()) as entries:
                for entry in entries:
                    seen += 1
                    if seen > limits.worktree_walk_entries_max:
                        return size, False
                    size += entry.stat(follow_symlinks=False).st_blocks * _BLOCK_BYTES
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(entry.path)
        except OSError:
            continue  # not ours to read, or deleted meanwhile
    return size, True
