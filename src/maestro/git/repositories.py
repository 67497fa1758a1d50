"""Find and check the repository of a checkout by its files alone. Starts no program and does not block.

`RECORDS` holds the git directory that each checkout had when Maestro recorded the checkout, and the programs that the
settings of its repository named at the time. The server fills `RECORDS` from the store; git runs with these records.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

import msgspec

from maestro.core import limits
from maestro.core.errors import Conflict, Invalid, NotFound, TooLarge
from maestro.domain import git_config, git_programs
from maestro.domain.git_config import GitSetting
from maestro.git import fingerprint

_Stat = tuple[str, int, int, int, int]


class Repository(msgspec.Struct, frozen=True, kw_only=True):
    """The directories of a checkout and its repository. Every path is absolute and without symbolic links."""

    top: str
    git_dir: str
    common_dir: str

    @property
    def is_linked(self) -> bool:
        """Return whether the checkout is a linked worktree (`git worktree add`)."""
        return self.git_dir != self.common_dir


class CheckoutRecords:
    """The recorded checkouts, and the recorded programs of their repositories."""

    def __init__(self) -> None:
        self._checkouts: dict[str, Repository] = {}
        self._programs: dict[str, frozenset[str]] = {}

    def add_checkout(self, checkout: Repository, programs: frozenset[str]) -> None:
        """Add a checkout. The programs of all checkouts of a repository add up."""
        self._checkouts[checkout.top] = checkout
        self._programs[checkout.common_dir] = self._programs.get(checkout.common_dir, frozenset()) | programs

    def drop_checkout(self, path: str) -> None:
        """Drop a checkout that was removed."""
        self._checkouts.pop(path, None)

    def find_checkout(self, path: str) -> Repository | None:
        """Return a checkout as it was recorded."""
        return self._checkouts.get(path)

    def accepts(self, common_dir: str, setting: GitSetting) -> bool:
        """Return whether a repository named the program of a setting when the repository was recorded."""
        return git_programs.fingerprint_setting(setting) in self._programs.get(common_dir, ())


RECORDS = CheckoutRecords()


def find_repository(directory: str) -> Repository | None:
    """Return the repository around a directory; None outside of any repository."""
    directories = None if "\0" in directory else fingerprint.find_directories(os.path.realpath(directory))
    if directories is None:
        return None
    top, git_dir, common_dir = map(os.path.realpath, directories)
    return Repository(top=top, git_dir=git_dir, common_dir=common_dir)


def repository_at(directory: str) -> Repository:
    """Return the repository around a directory. Refuse a checkout that no longer leads to its recorded one."""
    recorded = RECORDS.find_checkout(os.path.realpath(directory))
    if recorded is not None:
        _check_git_file(recorded)
        return recorded
    repository = find_repository(directory)
    if repository is not None:
        return repository
    if not Path(directory).is_dir():
        raise NotFound(f"There is no directory {directory}.", hint="The directory may have been moved or deleted.")
    raise NotFound(f"{directory} is not a git repository and does not lie in one.")


def common_dir(directory: str) -> str:
    """Return the git directory that the repository around a directory shares with all its worktrees."""
    return repository_at(directory).common_dir


def worktree_git_dir(worktree: str) -> str:
    """Return the git directory of a worktree. Refuse a folder that is not the top of a worktree.

    Without the check, a folder that lost its `.git` file would lead to the checkout around the folder.
    """
    repository = repository_at(worktree)
    if repository.top != os.path.realpath(worktree):
        raise NotFound(
            f"{worktree} is not the top of a worktree.", hint="The worktree may have been removed or moved."
        )
    return repository.git_dir


def named_programs(repository: Repository) -> list[GitSetting]:
    """Return the settings of a repository that name programs. Included configuration files count too."""
    return _read_settings(repository).programs


def is_bare(repository: Repository) -> bool:
    """Return whether a repository has no checkout of its own."""
    return not repository.is_linked and _read_settings(repository).is_bare


def neutral_settings(repository: Repository) -> tuple[str, ...]:
    """Return settings that keep git from running programs that were not recorded for the repository."""
    unrecorded = [
        setting for setting in named_programs(repository) if not RECORDS.accepts(repository.common_dir, setting)
    ]
    return git_programs.neutral_settings(unrecorded)


def read_config(path: str) -> list[GitSetting]:
    """Return the settings of a configuration file; an empty list for a missing file. Never waits for a pipe."""
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
    return git_config.parse_settings(os.fsdecode(data))


def _check_git_file(recorded: Repository) -> None:
    link = f"{recorded.top}/.git"
    try:
        mode = os.lstat(link).st_mode
    except OSError:
        if recorded.git_dir == recorded.top and Path(recorded.git_dir).is_dir():
            return  # a bare repository
        raise NotFound(
            f"{recorded.top} is no longer a checkout: {link} is missing.",
            hint="Put the file back, or remove the folder.",
        ) from None
    if stat.S_ISDIR(mode) and recorded.git_dir == link:
        return
    if stat.S_ISREG(mode) and fingerprint.read_git_file(recorded.top) == recorded.git_dir:
        return
    raise Conflict(
        f"{link} has changed since Maestro recorded the checkout: it no longer leads to {recorded.git_dir}.",
        hint=f"If the change is intended: run `maestro init` in the checkout. If not, put the line back into {link}: "
        f"gitdir: {recorded.git_dir}",
    )


class _RepositorySettings(msgspec.Struct, frozen=True):
    stats: tuple[_Stat, ...]
    programs: list[GitSetting]
    is_bare: bool


_cache: dict[tuple[str, str], _RepositorySettings] = {}


def _read_settings(repository: Repository) -> _RepositorySettings:
    """Return the settings of a repository. Read the files again only if one of the files has changed."""
    key = (repository.git_dir, repository.common_dir)
    cached = _cache.get(key)
    if cached is not None and all(_stat_file(stat_before[0]) == stat_before for stat_before in cached.stats):
        return cached
    if len(_cache) >= limits.git_config_cached_max:
        _cache.clear()
    _cache[key] = settings = _read_config_files(repository)
    return settings


def _read_config_files(repository: Repository) -> _RepositorySettings:
    own_files = (f"{repository.common_dir}/config", f"{repository.git_dir}/config.worktree")
    files, settings = list(dict.fromkeys(own_files)), []
    stats = []
    for number, file in enumerate(files):  # the list grows during the loop
        if number >= limits.git_config_files_max:
            raise TooLarge(f"The git configuration of {repository.common_dir} includes too many files.")
        stats.append(_stat_file(file))  # before the read: a file that changes in between is read again later
        file_settings = read_config(file)
        settings += file_settings
        files += [path for setting in file_settings if (path := _included_file(setting, file)) and path not in files]
    bare = [setting.is_true for setting in settings if setting.key == "core.bare"]
    return _RepositorySettings(tuple(stats), git_programs.program_settings(settings), bool(bare) and bare[-1])


def _included_file(setting: GitSetting, file: str) -> str:
    """Return the file that a setting includes under any condition; an empty text for other settings."""
    if setting.section not in {"include", "includeif"} or setting.name != "path" or not setting.value:
        return ""
    if setting.value.startswith("%(prefix)"):
        raise Invalid(f"The git configuration {file} includes {setting.value}, which only git itself can find.")
    return os.path.join(os.path.dirname(file), os.path.expanduser(setting.value))  # noqa: PTH111, PTH118, PTH120


def _stat_file(path: str) -> _Stat:
    try:
        status = os.stat(path)  # noqa: PTH116 with every git command
    except (OSError, ValueError):
        return path, 0, 0, 0, 0
    return path, status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino
