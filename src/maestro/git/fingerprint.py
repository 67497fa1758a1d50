"""Compute a fingerprint of a checkout from file stats alone: a key for the cache of git's facts about the checkout.

Starts no process. A fingerprint does not notice a change of: a file that a configuration includes, a system
configuration outside /etc, a rewritten first commit, the first commit of a repository with refs in a reftable.
"""

# This code runs for every command of the person, and creating a Path costs more than the system call.
# ruff: noqa: PTH111, PTH116, PTH118, PTH120
from __future__ import annotations

import os
from collections.abc import Mapping

import msgspec

from maestro.system.small_files import read_small

FileStamp = tuple[str, int, int, int]  # path, mtime_ns, size, inode; zeros for a missing file

_git_file_bytes_max = 8192


class Fingerprint(msgspec.Struct, frozen=True):
    """A fingerprint of a checkout: equal fingerprints mean equal facts. Take the fingerprint before running git."""

    toplevel: str
    stats: tuple[FileStamp, ...]
    has_branch: bool  # a repository without a remote changes its identity with its first commit


def take_fingerprint(directory: str) -> Fingerprint | None:
    """Return the fingerprint of the checkout around `directory`; None if no sound repository is found."""
    directories = None if "\0" in directory else find_directories(os.path.realpath(directory))
    if directories is None:
        return None
    toplevel, git_dir, common_dir = directories
    own_files = (f"{common_dir}/config", f"{git_dir}/config.worktree", f"{common_dir}/shallow")
    stats = tuple([_stat_file(path) for path in (*own_files, *_shared_files(os.environ))])
    return Fingerprint(toplevel, stats, _has_branch(common_dir))


def find_directories(directory: str) -> tuple[str, str, str] | None:
    """Return toplevel, git directory and common directory of the nearest repository upwards, as git searches."""
    while True:
        try:
            # One call distinguishes three cases: a repository, no repository, or (not a directory) a .git file.
            os.stat(f"{directory}/.git/HEAD")
            return directory, f"{directory}/.git", f"{directory}/.git"
        except NotADirectoryError:
            return _follow_git_file(directory)
        except OSError:
            pass
        if _is_git_dir(directory):
            toplevel = os.path.dirname(directory) if directory.endswith("/.git") else directory
            return toplevel, directory, directory
        if directory == "/":
            return None
        directory = os.path.dirname(directory)


def _is_git_dir(directory: str) -> bool:
    return _stat_file(f"{directory}/HEAD")[3] != 0 and _stat_file(f"{directory}/objects")[3] != 0


def _follow_git_file(directory: str) -> tuple[str, str, str] | None:
    """Return the directories of a linked worktree or a submodule, whose `.git` file names the git directory."""
    git_dir = read_git_file(directory, is_real=False)
    if not git_dir:
        return None
    shared_dir = _first_line(f"{git_dir}/commondir")
    common_dir = os.path.normpath(os.path.join(git_dir, shared_dir)) if shared_dir else git_dir
    return directory, git_dir, common_dir


def read_git_file(directory: str, *, is_real: bool = True) -> str:
    """Return the git directory that a checkout's `.git` file names; an empty text if there is no such file."""
    line = _first_line(f"{directory}/.git")
    if not line.startswith("gitdir:"):
        return ""
    git_dir = os.path.normpath(os.path.join(directory, line.removeprefix("gitdir:").strip()))
    return os.path.realpath(git_dir) if is_real else git_dir


def _first_line(path: str) -> str:
    return os.fsdecode((read_small(path) or b"")[:_git_file_bytes_max]).partition("\n")[0]


def _shared_files(environment: Mapping[str, str]) -> list[str]:
    """Return the configuration files outside of the repository that can change the addresses of its remotes."""
    home = environment.get("HOME") or os.path.expanduser("~")
    only_global = environment.get("GIT_CONFIG_GLOBAL")
    xdg = environment.get("XDG_CONFIG_HOME") or f"{home}/.config"
    files = [only_global] if only_global is not None else [f"{home}/.gitconfig", f"{xdg}/git/config"]
    return [*files, environment.get("GIT_CONFIG_SYSTEM") or "/etc/gitconfig", f"{home}/.ssh/config"]


def _has_branch(common_dir: str) -> bool:
    try:
        with os.scandir(f"{common_dir}/refs/heads") as entries:
            # A lock file is not a branch yet. If it counted, the fingerprint would miss the new branch.
            if any(not entry.name.endswith(".lock") for entry in entries):
                return True
    except OSError:
        pass
    return _stat_file(f"{common_dir}/packed-refs")[3] != 0


def _stat_file(path: str) -> FileStamp:
    try:
        status = os.stat(path)
    except (OSError, ValueError):
        return path, 0, 0, 0
    return path, status.st_mtime_ns, status.st_size, status.st_ino
