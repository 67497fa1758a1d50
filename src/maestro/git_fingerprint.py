"""Whether git's facts about a directory may have changed, from file stats alone: a key to cache `git.checkout_at` by.

Starts no process. Not seen: files that a configuration includes, git's own system file where it is not /etc, a new
first commit in a repository that already had one, and the first commit of one that keeps its refs in a reftable.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

import msgspec

Stat = tuple[str, int, int, int]  # path, mtime_ns, size, inode; zeros when there is no such file
_config_bytes_max = 8192


class Fingerprint(msgspec.Struct, frozen=True):
    """Equal fingerprints of one directory mean equal facts."""

    toplevel: str
    stats: tuple[Stat, ...]
    has_branches: bool


def fingerprint(directory: str) -> Fingerprint | None:
    """The fingerprint of the checkout around `directory`; None when no repository is seen there."""
    found = _find(os.path.realpath(directory))
    if found is None:
        return None
    toplevel, git_dir, common_dir = found
    watched = [
        f"{common_dir}/config",
        f"{git_dir}/config.worktree",
        f"{common_dir}/shallow",
        *_user_files(os.environ),
    ]
    stats = tuple([_stat(path) for path in watched])
    return Fingerprint(toplevel, stats, _has_branches(common_dir))


def _find(directory: str) -> tuple[str, str, str] | None:
    """toplevel, git directory, common directory: the nearest upwards, as git looks for it."""
    while True:
        try:
            os.stat(f"{directory}/.git/HEAD")  # noqa: PTH116  (Path costs more than the call)
            return directory, f"{directory}/.git", f"{directory}/.git"
        except NotADirectoryError:
            return _by_git_file(directory)
        except OSError:
            pass
        if _is_git_dir(directory):
            toplevel = os.path.dirname(directory) if directory.endswith("/.git") else directory
            return toplevel, directory, directory
        if directory == "/":
            return None
        directory = os.path.dirname(directory)


def _is_git_dir(directory: str) -> bool:
    return _stat(f"{directory}/HEAD")[3] != 0 and _stat(f"{directory}/objects")[3] != 0
