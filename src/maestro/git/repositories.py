"""The repository of a checkout, found and checked by files alone: no program runs, and nothing here waits.

`RECORDS` holds what the store knows: the git directory that each checkout had when Maestro recorded the checkout, and
the programs that the settings of its repository named then. The server fills it; git is run by it.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

import msgspec

from maestro.core import limits
from maestro.core.errors import Conflict, Invalid, NotFound, TooLarge
from maestro.domain import git_config, git_programs
from maestro.domain.git_config import Setting
from maestro.git import fingerprint

_Stat = tuple[str, int, int, int, int]


class Repository(msgspec.Struct, frozen=True, kw_only=True):
    """Where a checkout and its repository lie. Every path is absolute and free of links."""

    top: str
    git_dir: str
    common_dir: str

    @property
    def is_linked(self) -> bool:
        """Whether the checkout is one of `git worktree`."""
        return self.git_dir != self.common_dir


class Records:
    """The checkouts and programs that the store knows."""

    def __init__(self) -> None:
        self._checkouts: dict[str, Repository] = {}
        self._programs: dict[str, frozenset[str]] = {}

    def add(self, checkout: Repository, programs: frozenset[str]) -> None:
        """Remember a checkout. Programs of several checkouts of one repository add up."""
        self._checkouts[checkout.top] = checkout
        self._programs[checkout.common_dir] = self._programs.get(checkout.common_dir, frozenset()) | programs

    def drop(self, path: str) -> None:
        """Forget a checkout that was removed."""
        self._checkouts.pop(path, None)

    def checkout(self, path: str) -> Repository | None:
        """Return a checkout as it was recorded."""
        return self._checkouts.get(path)

    def accepts(self, common_dir: str, setting: Setting) -> bool:
        """Tell whether a repository named this program when it was recorded."""
        return git_programs.fingerprint(setting) in self._programs.get(common_dir, ())


RECORDS = Records()


def find_repository(directory: str) -> Repository | None:
    """Return the repository around a directory; None where there is none."""
    found = None if "\0" in directory else fingerprint.find(os.path.realpath(directory))
    if found is None:
        return None
    top, git_dir, common_dir = map(os.path.realpath, found)
    return Repository(top=top, git_dir=git_dir, common_dir=common_dir)


def repository_at(directory: str) -> Repository:
    """Return the repository around a directory. Refuse a checkout that no longer leads to its recorded repository."""
    recorded = RECORDS.checkout(os.path.realpath(directory))
    if recorded is not None:
        _check_git_file(recorded)
        return recorded
    found = find_repository(directory)
    if found is not None:
        return found
    if not Path(directory).is_dir():
        raise NotFound(f"There is no directory {directory}.", hint="It may have been moved or deleted.")
    raise NotFound(f"{directory} does not lie in a git repository, and is not a git repository itself.")


def named_programs(repository: Repository) -> list[Setting]:
    """Return the settings of a repository that name programs, also those of files that its settings include."""
    return _settings(repository).programs


def is_bare(repository: Repository) -> bool:
    """Tell whether a repository has no checkout of its own."""
    return not repository.is_linked and _settings(repository).is_bare


def neutral_settings(repository: Repository) -> tuple[str, ...]:
    """Return settings with which git runs no program that the repository did not name when it was recorded."""
    new = [one for one in named_programs(repository) if not RECORDS.accepts(repository.common_dir, one)]
    return git_programs.neutral_settings(new)


def read_config(path: str) -> list[Setting]:
    """Return the settings of one file; none where there is no file. Wait for no pipe."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError, ValueError):
        return []
    except OSError as error:
        raise Invalid(f"The git configuration {path} cannot be read: {error.strerror}.") from error
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise Invalid(f"The git configuration {path} is not a regular file.", hint="Put the file back.")
        data = file.read(limits.git_config_bytes_max + 1)
    if len(data) > limits.git_config_bytes_max:
        raise TooLarge(f"The git configuration {path} is larger than {limits.git_config_bytes_max} bytes.")
    return git_config.parse(os.fsdecode(data))


def _check_git_file(recorded: Repository) -> None:
    link = f"{recorded.top}/.git"
    try:
        mode = os.lstat(link).st_mode
    except OSError:
        if recorded.git_dir == recorded.top and Path(recorded.git_dir).is_dir():
            return  # a bare repository
        raise NotFound(f"{recorded.top} is no checkout any more: there is no {link}.") from None
    if stat.S_ISDIR(mode) and recorded.git_dir == link:
        return
    if stat.S_ISREG(mode) and fingerprint.git_dir_in(recorded.top) == recorded.git_dir:
        return
    raise Conflict(
        f"{link} is not what Maestro recorded: the checkout no longer leads to {recorded.git_dir}.",
        hint=f"If this was meant: run `maestro init` there. Else put back the file: gitdir: {recorded.git_dir}",
    )


class _Settings(msgspec.Struct, frozen=True):
    stats: tuple[_Stat, ...]
    programs: list[Setting]
    is_bare: bool


_cache: dict[tuple[str, str], _Settings] = {}


def _settings(repository: Repository) -> _Settings:
    """Read the configuration again only if one of its files changed."""
    key = (repository.git_dir, repository.common_dir)
    known = _cache.get(key)
    if known is not None and all(_stat(one[0]) == one for one in known.stats):
        return known
    if len(_cache) >= limits.git_config_cached_max:
        _cache.clear()
    _cache[key] = found = _read_all(repository)
    return found


def _read_all(repository: Repository) -> _Settings:
    own = (f"{repository.common_dir}/config", f"{repository.git_dir}/config.worktree")
    files, settings = list(dict.fromkeys(own)), []
    stats = []
    for number, file in enumerate(files):  # grows while it is walked
        if number >= limits.git_config_files_max:
            raise TooLarge(f"The git configuration of {repository.common_dir} includes too many files.")
        stats.append(_stat(file))  # before the reading: what changes in between is read again
        read = read_config(file)
        settings += read
        files += [path for one in read if (path := _included(one, file)) and path not in files]
    bare = [one.is_true for one in settings if one.key == "core.bare"]
    return _Settings(tuple(stats), git_programs.named_programs(settings), bool(bare) and bare[-1])


def _included(setting: Setting, file: str) -> str:
    """Return the file that a setting includes, whatever its condition says; an empty text for other settings."""
    if setting.section not in {"include", "includeif"} or setting.name != "path" or not setting.value:
        return ""
    if setting.value.startswith("%(prefix)"):
        raise Invalid(f"The git configuration {file} includes {setting.value}, which only git itself can find.")
    return os.path.join(os.path.dirname(file), os.path.expanduser(setting.value))  # noqa: PTH111, PTH118, PTH120


def _stat(path: str) -> _Stat:
    try:
        found = os.stat(path)  # noqa: PTH116 with every git command
    except (OSError, ValueError):
        return path, 0, 0, 0, 0
    return path, found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino
