"""Create a branch together with its worktree: both, or neither. No other checkout is changed."""

from __future__ import annotations

import asyncio
import contextlib
import os
from pathlib import Path

import msgspec

from maestro.core import errors, limits
from maestro.core.errors import Conflict, Invalid, MaestroError, NameTaken
from maestro.git.worktrees import branches, commands, folders, listing, records, repositories
from maestro.system import small_files, umasks


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
        undo.push_async_callback(folders.remove_worktree_folder, repository, path)
        await folders.register_worktree(repository, path, branch)
        await folders.check_out_files(path)
        records.write_record(await repositories.git_dir(path), records.WorktreeRecord(base=commit))
        submodules = await _find_submodules(repository, commit) if Path(path, ".gitmodules").exists() else ()
        undo.pop_all()
    return CreatedWorktree(os.path.realpath(path), branch, commit, submodules)


def _check_path(path: str) -> None:
    if not os.path.isabs(path) or "\n" in path or "\0" in path:  # noqa: PTH117 no Path before its text is checked
        raise Invalid("The path of a worktree must be absolute and without line breaks.", data={"path": path})


async def _check_unregistered(repository: str, path: str) -> None:
    registrations = Path(await repositories.common_dir(repository), "worktrees")
    if not await asyncio.to_thread(_is_registered, registrations, path):
        return
    worktree = await listing.find_worktree(repository, path)
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
