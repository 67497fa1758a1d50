"""Whether git's facts about a directory may have changed, by file stats alone: a key to cache them by.

Starts no process. It does not see a file that a configuration includes, a system configuration outside
/etc, a rewritten first commit, or the first commit of a repository that keeps its refs in a reftable.
"""

# This runs with every command a person types, and a Path costs more than the call it makes.
# ruff: noqa: PTH111, PTH116, PTH118, PTH120
from __future__ import annotations

import os
from collections.abc import Mapping

import msgspec

from maestro.system.small_files import read_small

Stat = tuple[str, int, int, int]  # path, mtime_ns, size, inode; zeros where there is no such file

_git_file_bytes_max = 8192


class Fingerprint(msgspec.Struct, frozen=True):
    """Equal fingerprints of one directory mean equal facts. Take it before asking git, never after."""

    toplevel: str
    stats: tuple[Stat, ...]
    has_branch: bool  # a repository without a remote changes its identity with its first commit


def fingerprint(directory: str) -> Fingerprint | None:
    """The fingerprint of the checkout around `directory`; None when no sound repository is seen there."""
    found = None if "\0" in directory else find(os.path.realpath(directory))
    if found is None:
        return None
    toplevel, git_dir, common_dir = found
    own = (f"{common_dir}/config", f"{git_dir}/config.worktree", f"{common_dir}/shallow")
    stats = tuple([_stat(path) for path in (*own, *_shared_files(os.environ))])
    return Fingerprint(toplevel, stats, _has_branch(common_dir))


def find(directory: str) -> tuple[str, str, str] | None:
    """Toplevel, git directory and common directory of the nearest repository upwards, as git looks for it."""
    while True:
        try:
            # One call tells all three: a repository, nothing, or (not a directory) a .git file.
            os.stat(f"{directory}/.git/HEAD")
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


def _by_git_file(directory: str) -> tuple[str, str, str] | None:
    """A linked worktree or a submodule, whose `.git` is a file that says where the directory is."""
    git_dir = git_dir_in(directory, is_real=False)
    if not git_dir:
        return None
    shared = _first_line(f"{git_dir}/commondir")
    common_dir = os.path.normpath(os.path.join(git_dir, shared)) if shared else git_dir
    return directory, git_dir, common_dir


def git_dir_in(directory: str, *, is_real: bool = True) -> str:
    """Return the git directory that a checkout's `.git` file names; an empty text where there is no such file."""
    line = _first_line(f"{directory}/.git")
    if not line.startswith("gitdir:"):
        return ""
    found = os.path.normpath(os.path.join(directory, line.removeprefix("gitdir:").strip()))
    return os.path.realpath(found) if is_real else found


def _first_line(path: str) -> str:
    return os.fsdecode((read_small(path) or b"")[:_git_file_bytes_max]).partition("\n")[0]


def _shared_files(environment: Mapping[str, str]) -> list[str]:
    """The configuration outside of the repository that can change what its remotes mean."""
    home = environment.get("HOME") or os.path.expanduser("~")
    alone = environment.get("GIT_CONFIG_GLOBAL")
    xdg = environment.get("XDG_CONFIG_HOME") or f"{home}/.config"
    files = [alone] if alone is not None else [f"{home}/.gitconfig", f"{xdg}/git/config"]
    return [*files, environment.get("GIT_CONFIG_SYSTEM") or "/etc/gitconfig", f"{home}/.ssh/config"]


def _has_branch(common_dir: str) -> bool:
    try:
        with os.scandir(f"{common_dir}/refs/heads") as entries:
            # A lock is a branch that may yet come; counted now, its coming would go unseen.
            if any(not entry.name.endswith(".lock") for entry in entries):
                return True
    except OSError:
        pass
    return _stat(f"{common_dir}/packed-refs")[3] != 0


def _stat(path: str) -> Stat:
    try:
        found = os.stat(path)
    except (OSError, ValueError):
        return path, 0, 0, 0
    return path, found.st_mtime_ns, found.st_size, found.st_ino
