"""A new branch with a worktree of its own: both, or neither. No other checkout is touched."""

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


class Created(msgspec.Struct, frozen=True):
    """A worktree that was made. Its submodules are empty folders: the set-up command may fill them."""

    path: str
    branch: str
    base_commit: str
    submodules: tuple[str, ...] = ()


async def create(
    repository: str, *, path: str, branch: str, base: str | None = None, commit: str | None = None
) -> Created:
    """Make `branch` at `base` (a commit or branch; HEAD for None) and a worktree for it at `path`.

    `commit`: what that is, for whoever has just looked it up.
    """
    _check_path(path)
    commit = commit or await branches.known_commit(repository, base)
    await _check_unregistered(repository, path)
    async with contextlib.AsyncExitStack() as undo:
        undo.callback(_drop_folders, _claim(path))
        await branches.make(repository, branch, at=commit)
        undo.push_async_callback(_drop_branch, repository, branch, commit)
        undo.push_async_callback(folders.take_away, repository, path)
        await folders.add(repository, path, branch)
        await folders.fill(path)
        records.write(await repositories.git_dir(path), records.Record(base=commit))
        submodules = await _submodules(repository, commit) if Path(path, ".gitmodules").exists() else ()
        undo.pop_all()
    return Created(os.path.realpath(path), branch, commit, submodules)


def _check_path(path: str) -> None:
    if not os.path.isabs(path) or "\n" in path or "\0" in path:  # noqa: PTH117 no Path before its text is checked
        raise Invalid("The path of a worktree must be absolute and without line breaks.", data={"path": path})


async def _check_unregistered(repository: str, path: str) -> None:
    registered = Path(await repositories.common_dir(repository), "worktrees")
    if not await asyncio.to_thread(_is_registered, registered, path):
        return
    known = await listing.at_path(repository, path)
    if known is not None and known.is_prunable:
        raise Conflict(
            f"git still knows a worktree at {path}, whose folder is gone.",
            hint="If it is gone for good: git worktree prune",
        )


def _is_registered(folder: Path, path: str) -> bool:
    """Whether git has a worktree noted there, also one whose folder is gone."""
    return any(_leads_to(one, path) for one in folder.glob("*"))


def _leads_to(registered: Path, path: str) -> bool:
    noted = small_files.read_small(str(registered / "gitdir")) or b""
    return os.path.realpath(Path(os.fsdecode(noted.rstrip(b"\n"))).parent) == os.path.realpath(path)


def _claim(path: str) -> list[Path]:
    """Make the folder, which nobody had before, and its parents: all that was made, the innermost first."""
    folder = Path(path)
    missing = [parent for parent in folder.parents if not parent.exists()]
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        folder.mkdir()
        for made in (folder, *missing):
            made.chmod(umasks.person_mode(0o777))
    except OSError as error:
        _drop_folders(missing)
        if isinstance(error, FileExistsError):
            raise NameTaken(f"There is something at {path} already.", hint="Choose another path.") from None
        raise errors.storage_fault(error, f"The folder {path} cannot be made") from error
    return [folder, *missing]


def _drop_folders(folders_made: list[Path]) -> None:
    for folder in folders_made:
        with contextlib.suppress(OSError):  # it was never made, or others have put something there
            folder.rmdir()


async def _drop_branch(repository: str, branch: str, commit: str) -> None:
    with contextlib.suppress(MaestroError):
        await branches.delete(repository, branch, at=commit)


async def _submodules(repository: str, commit: str) -> tuple[str, ...]:
    wanted = ("-z", "--blob", f"{commit}:.gitmodules", "--get-regexp", r"^submodule\..*\.path$")
    try:
        printed = await commands.run("config", *wanted, cwd=repository)
    except MaestroError:
        return ()  # there are none, or nobody can read which
    paths = [entry.partition("\n")[2] for entry in printed.split("\0") if entry]
    return tuple(commands.shown(path) for path in paths[: limits.worktree_names_max])
