"""Branches by name: looked up, made, moved and deleted, each time only if they are what they were a moment ago."""

from __future__ import annotations

import contextlib
from pathlib import Path

import msgspec

from maestro.core.errors import Conflict, Invalid, MaestroError, NameTaken, NotFound
from maestro.git.worktrees import commands, repositories
from maestro.system import small_files

_HEADS = "refs/heads/"


async def ensure_branch(repository: str, name: str, at: str) -> str:
    """The commit of a branch, which is made at the commit or branch `at` if there is none."""
    present = await tip(repository, name)
    if present is not None:
        return present
    commit = await known_commit(repository, at)
    try:
        await make(repository, name, at=commit)
    except NameTaken:
        present = await tip(repository, name)  # someone else was faster
        if present is None:
            raise
        return present
    return commit


async def known_commit(repository: str, name: str | None) -> str:
    """The commit that a branch or any other name stands for; that of HEAD for None."""
    if name is None:
        commit = await _commit(repository, "HEAD")
        if commit is None:
            raise Conflict(
                "The repository has no commit yet.",
                hint="Make a first one (git add -A, git commit -m first); then try again.",
            )
        return commit
    # A branch comes before a tag of the same name.
    commit = await tip(repository, name) or await _commit(repository, name)
    if commit is None:
        raise NotFound(f"There is no commit or branch {commands.shown(name)!r} here.")
    return commit


async def tip(repository: str, branch: str) -> str | None:
    """The commit a branch points at; None when there is no such branch."""
    return await _commit(repository, _HEADS + branch)


async def tips(repository: str, *names: str) -> dict[str, str]:
    """The commits of several branches, as far as there are any, with one call."""
    if not names:
        return {}
    wanted = [_HEADS + name for name in names]
    printed = await commands.run("for-each-ref", "--format=%(objectname) %(refname)", *wanted, cwd=repository)
    found = {ref: commit for commit, _, ref in (line.partition(" ") for line in printed.splitlines())}
    return {name: found[_HEADS + name] for name in names if _HEADS + name in found}


class Both(msgspec.Struct, frozen=True):
    """The commits of two branches, and whether someone has the second one checked out."""

    branch: str
    into: str
    is_checked_out: bool


async def both(repository: str, branch: str, into: str) -> Both:
    """All that a merge has to know first, with one call."""
    wanted = [_HEADS + branch, _HEADS + into]
    words = ("--format=%(refname) %(objectname) %(worktreepath)", *wanted)
    lines = (await commands.run("for-each-ref", *words, cwd=repository)).splitlines()
    found = {ref: facts.partition(" ") for ref, _, facts in (line.partition(" ") for line in lines)}
    for name in (branch, into):
        if _HEADS + name not in found:
            raise NotFound(f"There is no branch {commands.shown(name)!r} here.")
    (new, _, _), (old, _, place) = found[_HEADS + branch], found[_HEADS + into]
    return Both(new, old, bool(place))


async def known_tip(repository: str, branch: str) -> str:
    """The commit a branch points at."""
    commit = await tip(repository, branch)
    if commit is None:
        raise NotFound(f"There is no branch {commands.shown(branch)!r} here.")
    return commit


async def contains(repository: str, *, commit: str, within: str) -> bool:
    """Whether everything of `commit` is in `within` too."""
    return await commands.says_yes("merge-base", "--is-ancestor", commit, within, cwd=repository)


async def make(repository: str, name: str, *, at: str) -> None:
    """A new branch."""
    if name.startswith("-") or name == "HEAD" or "\0" in name:
        raise _unfit(name)
    try:
        # The empty old value: there must be none.
        await _update(repository, "-m", "maestro: made", _HEADS + name, at, "")
    except MaestroError:
        taken = await _in_the_way(repository, _HEADS + name)
        if taken is None:
            await _check_name(repository, name)
            raise
        raise NameTaken(f"There is a branch {taken} already.", hint="Choose another name.") from None


async def move(repository: str, name: str, *, to: str, old: str, reason: str) -> bool:
    """Let a branch point elsewhere; False, and nothing is done, if it no longer points at `old`."""
    try:
        await _update(repository, "-m", reason, _HEADS + name, to, old)
    except MaestroError:
        if await tip(repository, name) == old:
            raise
        return False
    return True


async def delete(repository: str, name: str, *, at: str) -> bool:
    """Delete a branch; False, and nothing is done, if it no longer points at `at`."""
    try:
        await _update(repository, "-d", _HEADS + name, at)
    except MaestroError:
        if await tip(repository, name) == at:
            raise
        return False
    config = small_files.read_small(str(Path(await repositories.common_dir(repository), "config")))
    if config is None or b"[branch " in config:  # most branches have no settings of their own
        with contextlib.suppress(MaestroError):
            await commands.run("config", "--local", "--remove-section", f"branch.{name}", cwd=repository)
    return True


async def _commit(repository: str, name: str) -> str | None:
    if name.startswith("-") or "\0" in name:
        return None
    return await commands.line("rev-parse", "--verify", "--quiet", name + "^{commit}", cwd=repository)


async def _check_name(repository: str, name: str) -> None:
    if not await commands.says_yes("check-ref-format", _HEADS + name, cwd=repository):
        raise _unfit(name)


def _unfit(name: str) -> Invalid:
    return Invalid(f"{commands.shown(name)!r} cannot be the name of a branch.")


async def _update(repository: str, *words: str) -> None:
    await commands.run("update-ref", *words, cwd=repository)


async def _in_the_way(repository: str, ref: str) -> str | None:
    """The branch that keeps a new one from being made: of the same name, above it or below it."""
    parts = ref.split("/")
    above = ["/".join(parts[:length]) for length in range(3, len(parts) + 1)]
    printed = await commands.run("for-each-ref", "--format=%(refname)", *above, cwd=repository)
    for found in printed.splitlines():
        if found == ref or found.startswith(ref + "/") or ref.startswith(found + "/"):
            return commands.shown(found.removeprefix(_HEADS))
    return None
