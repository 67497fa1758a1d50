"""Look up, create, move and delete branches. A change happens only if the branch still points at the known commit."""

from __future__ import annotations

import contextlib
from pathlib import Path

import msgspec

from maestro.core.errors import Conflict, Invalid, MaestroError, NameTaken, NotFound
from maestro.git.worktrees import commands, repositories
from maestro.system import small_files

_HEADS = "refs/heads/"


async def ensure_branch(repository: str, name: str, at: str) -> str:
    """Return the commit of a branch. Create a missing branch at the commit or branch `at`."""
    existing = await branch_tip(repository, name)
    if existing is not None:
        return existing
    commit = await require_commit(repository, at)
    try:
        await create_branch(repository, name, at=commit)
    except NameTaken:
        existing = await branch_tip(repository, name)  # another process was faster
        if existing is None:
            raise
        return existing
    return commit


async def require_commit(repository: str, name: str | None) -> str:
    """Return the commit of a branch or of any other name; the commit of HEAD for None. Refuse an unknown name."""
    if name is None:
        commit = await _find_commit(repository, "HEAD")
        if commit is None:
            raise Conflict(
                f"The repository {repository} has no commit yet.",
                hint="Make a first commit (git add -A, git commit -m first); then try again.",
            )
        return commit
    # A branch comes before a tag of the same name.
    commit = await branch_tip(repository, name) or await _find_commit(repository, name)
    if commit is None:
        raise NotFound(f"There is no commit or branch {commands.printable_name(name)!r} in {repository}.")
    return commit


async def branch_tip(repository: str, branch: str) -> str | None:
    """Return the commit that a branch points at; None if the branch does not exist."""
    return await _find_commit(repository, _HEADS + branch)


async def branch_tips(repository: str, *names: str) -> dict[str, str]:
    """Return the commits of the existing branches among `names`, with a single git command."""
    if not names:
        return {}
    refs = [_HEADS + name for name in names]
    printed = await commands.run_git("for-each-ref", "--format=%(objectname) %(refname)", *refs, cwd=repository)
    commits = {ref: commit for commit, _, ref in (line.partition(" ") for line in printed.splitlines())}
    return {name: commits[_HEADS + name] for name in names if _HEADS + name in commits}


class MergeTips(msgspec.Struct, frozen=True):
    """The commits of the two branches of a merge, and whether the branch `into` is checked out in a worktree."""

    branch: str
    into: str
    is_checked_out: bool


async def merge_tips(repository: str, branch: str, into: str) -> MergeTips:
    """Return the commits of the two branches of a merge, with a single git command. Refuse a missing branch."""
    refs = [_HEADS + branch, _HEADS + into]
    arguments = ("--format=%(refname) %(objectname) %(worktreepath)", *refs)
    lines = (await commands.run_git("for-each-ref", *arguments, cwd=repository)).splitlines()
    facts_by_ref = {ref: facts.partition(" ") for ref, _, facts in (line.partition(" ") for line in lines)}
    for name in (branch, into):
        if _HEADS + name not in facts_by_ref:
            raise NotFound(f"There is no branch {commands.printable_name(name)!r} in {repository}.")
    (new, _, _), (old, _, worktree_path) = facts_by_ref[_HEADS + branch], facts_by_ref[_HEADS + into]
    return MergeTips(new, old, bool(worktree_path))


async def require_branch_tip(repository: str, branch: str) -> str:
    """Return the commit that a branch points at. Refuse a missing branch."""
    commit = await branch_tip(repository, branch)
    if commit is None:
        raise NotFound(f"There is no branch {commands.printable_name(branch)!r} in {repository}.")
    return commit


async def contains_commit(repository: str, *, commit: str, within: str) -> bool:
    """Return whether the commit `within` contains the commit `commit`."""
    return await commands.run_predicate("merge-base", "--is-ancestor", commit, within, cwd=repository)


async def create_branch(repository: str, name: str, *, at: str) -> None:
    """Create a branch at a commit. Refuse an invalid name, and a name that an existing branch makes impossible."""
    if name.startswith("-") or name == "HEAD" or "\0" in name:
        raise _invalid_name(name)
    try:
        # The empty old value means: the ref must not exist.
        await _update_ref(repository, "-m", "maestro: made", _HEADS + name, at, "")
    except MaestroError:
        existing = await _conflicting_branch(repository, _HEADS + name)
        if existing is None:
            await _check_name(repository, name)
            raise
        raise NameTaken(f"There is a branch {existing} already.", hint="Choose another name.") from None


async def move_branch(repository: str, name: str, *, to: str, old: str, reason: str) -> bool:
    """Move a branch to another commit. Return False, and change nothing, if the branch is no longer at `old`."""
    try:
        await _update_ref(repository, "-m", reason, _HEADS + name, to, old)
    except MaestroError:
        if await branch_tip(repository, name) == old:
            raise
        return False
    return True


async def delete_branch(repository: str, name: str, *, at: str) -> bool:
    """Delete a branch. Return False, and change nothing, if the branch is no longer at `at`."""
    try:
        await _update_ref(repository, "-d", _HEADS + name, at)
    except MaestroError:
        if await branch_tip(repository, name) == at:
            raise
        return False
    config = small_files.read_small(str(Path(await repositories.common_dir(repository), "config")))
    if config is None or b"[branch " in config:  # most repositories have no settings for a branch
        with contextlib.suppress(MaestroError):
            await commands.run_git("config", "--local", "--remove-section", f"branch.{name}", cwd=repository)
    return True


async def _find_commit(repository: str, name: str) -> str | None:
    if name.startswith("-") or "\0" in name:
        return None
    return await commands.read_line("rev-parse", "--verify", "--quiet", name + "^{commit}", cwd=repository)


async def _check_name(repository: str, name: str) -> None:
    if not await commands.run_predicate("check-ref-format", _HEADS + name, cwd=repository):
        raise _invalid_name(name)


def _invalid_name(name: str) -> Invalid:
    return Invalid(f"{commands.printable_name(name)!r} is not a valid name of a branch.")


async def _update_ref(repository: str, *arguments: str) -> None:
    await commands.run_git("update-ref", *arguments, cwd=repository)


async def _conflicting_branch(repository: str, ref: str) -> str | None:
    """Return the branch that prevents the creation of a ref: with the same name, above the name or below it."""
    parts = ref.split("/")
    prefixes = ["/".join(parts[:length]) for length in range(3, len(parts) + 1)]
    printed = await commands.run_git("for-each-ref", "--format=%(refname)", *prefixes, cwd=repository)
    for existing in printed.splitlines():
        if existing == ref or existing.startswith(ref + "/") or ref.startswith(existing + "/"):
            return commands.printable_name(existing.removeprefix(_HEADS))
    return None
