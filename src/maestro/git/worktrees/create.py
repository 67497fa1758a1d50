"""Create worktrees: a worktree with its branch for a session, or a temporary worktree for a merge or a gate.

A branch and its worktree are created together, or not at all. No other checkout is changed.

A temporary worktree lies inside the repository's git directory, where no agent works, and is removed after its use. A
file lock, which the system releases when the process ends, tells a temporary worktree in use from the leftover of a
killed server.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
import shutil
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path

import msgspec

from maestro.core import errors, limits
from maestro.core.errors import Conflict, Invalid, MaestroError, NameTaken
from maestro.git import repositories
from maestro.git.worktrees import branches, commands, records
from maestro.system import small_files, umasks

_PREFIX = "maestro-merge-"
_TREE = "tree"
# Settings for every command in a worktree for a merge. Files of git-lfs stay pointers: a merge needs no contents.
MERGE_SETTINGS = ("filter.lfs.clean=", "filter.lfs.smudge=", "filter.lfs.process=", "filter.lfs.required=false")


class CreatedWorktree(msgspec.Struct, frozen=True):
    """A created worktree. Its submodules are empty folders: the set-up command may fill them."""

    path: str
    branch: str
    base_commit: str
    submodules: tuple[str, ...] = ()


async def create_worktree(
    repository: str, *, path: str, branch: str, base: str | None = None, commit: str | None = None
) -> CreatedWorktree:
    """Create `branch` at `base` (a commit or branch; HEAD for None), and a worktree of the branch at `path`.

    `commit`: the commit of `base`, if the caller knows the commit already.
    """
    _check_path(path)
    commit = commit or await branches.require_commit(repository, base)
    await _check_unregistered(repository, path)
    async with contextlib.AsyncExitStack() as undo:
        undo.callback(_remove_folders, _create_folders(path))
        await branches.create_branch(repository, branch, at=commit)
        undo.push_async_callback(_delete_branch, repository, branch, commit)
        undo.push_async_callback(remove_worktree_folder, repository, path)
        await register_worktree(repository, path, branch)
        await check_out_files(path)
        records.write_record(repositories.worktree_git_dir(path), records.WorktreeRecord(base=commit))
        submodules = await _find_submodules(repository, commit) if Path(path, ".gitmodules").exists() else ()
        undo.pop_all()
    return CreatedWorktree(os.path.realpath(path), branch, commit, submodules)


def _check_path(path: str) -> None:
    if not os.path.isabs(path) or "\n" in path or "\0" in path:  # noqa: PTH117 no Path before its text is checked
        raise Invalid("The path of a worktree must be absolute and without line breaks.", data={"path": path})


async def _check_unregistered(repository: str, path: str) -> None:
    registrations = Path(repositories.common_dir(repository), "worktrees")
    if not await asyncio.to_thread(_is_registered, registrations, path):
        return
    worktree = await branches.find_worktree(repository, path)
    if worktree is not None and worktree.is_prunable:
        raise Conflict(
            f"git still lists a worktree at {path}, but its folder is gone.",
            hint="If the folder is gone for good: git worktree prune",
        )


def _is_registered(registrations: Path, path: str) -> bool:
    """Return whether git has registered a worktree at a path, even if the folder is gone."""
    return any(_leads_to(registration, path) for registration in registrations.glob("*"))


def _leads_to(registration: Path, path: str) -> bool:
    git_file = small_files.read_small(str(registration / "gitdir")) or b""
    return os.path.realpath(Path(os.fsdecode(git_file.rstrip(b"\n"))).parent) == os.path.realpath(path)


def _create_folders(path: str) -> list[Path]:
    """Create the folder and its missing parents; return the created folders, the innermost first."""
    folder = Path(path)
    missing_parents = [parent for parent in folder.parents if not parent.exists()]
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        folder.mkdir()
        for created in (folder, *missing_parents):
            created.chmod(umasks.person_mode(0o777))
    except OSError as error:
        _remove_folders(missing_parents)
        if isinstance(error, FileExistsError):
            raise NameTaken(f"The path {path} exists already.", hint="Choose another path.") from None
        raise errors.storage_fault(error, f"The folder {path} cannot be created") from error
    return [folder, *missing_parents]


def _remove_folders(created: list[Path]) -> None:
    for folder in created:
        with contextlib.suppress(OSError):  # the folder was never created, or other files are in it
            folder.rmdir()


async def _delete_branch(repository: str, branch: str, commit: str) -> None:
    with contextlib.suppress(MaestroError):
        await branches.delete_branch(repository, branch, at=commit)


async def _find_submodules(repository: str, commit: str) -> tuple[str, ...]:
    options = ("-z", "--blob", f"{commit}:.gitmodules", "--get-regexp", r"^submodule\..*\.path$")
    try:
        printed = await commands.run_git("config", *options, cwd=repository)
    except MaestroError:
        return ()  # the file names no submodule, or cannot be parsed
    paths = [entry.partition("\n")[2] for entry in printed.split("\0") if entry]
    return tuple(commands.printable_name(path) for path in paths[: limits.worktree_names_max])


@contextlib.asynccontextmanager
async def temporary_worktree(
    repository: str, *, at: str, config: tuple[str, ...] = MERGE_SETTINGS
) -> AsyncIterator[str]:
    """Make a temporary worktree with a commit checked out, without a branch, and yield its path."""
    home = repositories.common_dir(repository)
    await remove_leftovers(repository)
    try:
        folder = tempfile.mkdtemp(prefix=_PREFIX, dir=home)
    except OSError as error:
        raise errors.storage_fault(error, f"A worktree for the merge cannot be made in {home}") from error
    lock = _lock_folder(folder)
    tree = str(Path(folder, _TREE))
    try:
        await register_worktree(repository, "--detach", tree, at)
        await check_out_files(tree, config=config)
        yield tree
    finally:
        await _remove_temporary(repository, folder)
        if lock is not None:
            os.close(lock)


@contextlib.asynccontextmanager
async def temporary_checkout(repository: str, *, at: str) -> AsyncIterator[str]:
    """Make a temporary worktree with all files of a commit, git-lfs files included, to run a command in it."""
    async with temporary_worktree(repository, at=at, config=()) as tree:
        yield tree


async def remove_leftovers(repository: str) -> int:
    """Remove the temporary worktrees of killed servers; return the number of removed worktrees."""
    home = Path(repositories.common_dir(repository))
    count = 0
    for folder in home.glob(f"{_PREFIX}*"):
        lock = _lock_folder(str(folder))
        if lock is not None:
            await _remove_temporary(repository, str(folder))
            os.close(lock)
            count += 1
    return count


async def _remove_temporary(repository: str, folder: str) -> None:
    await remove_worktree_folder(repository, str(Path(folder, _TREE)))
    await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)


def _lock_folder(folder: str) -> int | None:
    """Lock a folder and return a descriptor that holds the lock; None if another process holds the lock."""
    try:
        # No link: a link with the name could lead to a folder of the person, and the folder would be deleted.
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        return None
    return descriptor


async def register_worktree(repository: str, *arguments: str) -> None:
    """Run `git worktree add` without checking out files."""
    await commands.run_git_worktree("add", "--no-checkout", *arguments, cwd=repository)


async def check_out_files(path: str, *, config: tuple[str, ...] = ()) -> None:
    """Check out the files. A step of its own, so that a long checkout does not lock git's list of worktrees."""
    seconds = limits.worktree_checkout_seconds_max
    await commands.run_git("reset", "--hard", "--quiet", cwd=path, seconds=seconds, config=config)


async def remove_worktree_folder(repository: str, path: str) -> None:
    """Remove a worktree and its folder, also a worktree that is only partly registered or filled."""
    with contextlib.suppress(MaestroError):
        # --force twice: git locks a worktree while adding it, and an interrupted git leaves the lock.
        seconds = limits.worktree_checkout_seconds_max
        await commands.run_git_worktree("remove", "--force", "--force", path, cwd=repository, seconds=seconds)
    await asyncio.to_thread(shutil.rmtree, path, ignore_errors=True)
