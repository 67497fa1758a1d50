"""Merge two commits without a checkout: git merges the trees directly, fast for any number of files.

Used only if the result equals that of a merge in a checkout and no file conflicts. Otherwise there is no result.
"""

from __future__ import annotations

from maestro.core.errors import MaestroError
from maestro.git.worktrees import commands

_ATTRIBUTES = ".gitattributes"


async def merge_trees(repository: str, *, old: str, new: str, base: str) -> str | None:
    """Return the name of the tree of `new` merged into `old`; None if the merge needs a checkout."""
    if base == old:
        return f"{new}^{{tree}}"
    try:
        if await _has_attributes(repository, old, new):
            return None
        # git ends with 1 if files conflict, and with a larger status if it is too old for `merge-tree --write-tree`.
        arguments = ("--write-tree", "--no-messages", old, new)
        return (await commands.run_git("merge-tree", *arguments, cwd=repository)).strip()
    except MaestroError as error:
        if commands.exit_code(error) is None:
            raise
        return None


async def make_commit(
    repository: str, tree: str, *, parents: tuple[str, ...], message: str, config: tuple[str, ...]
) -> str:
    """Make the merge commit of a tree and return its name. The commit is on no branch yet."""
    parent_options = [argument for parent in parents for argument in ("-p", parent)]
    arguments = (tree, *parent_options, "-m", _clean_message(message))
    printed = await commands.run_git("commit-tree", *arguments, cwd=repository, config=config)
    return printed.strip()


async def _has_attributes(repository: str, old: str, new: str) -> bool:
    """Return whether a .gitattributes file may define how files are merged.

    git reads the attributes from a checkout, and without one would read them from the checkout of another branch.
    """
    all_files = ("ls-tree", "-r", "-z", "--name-only", old)
    changed_files = ("diff-tree", "-r", "-z", "--name-only", old, new)
    for command in (all_files, changed_files):
        printed = await commands.run_git(*command, cwd=repository)
        if _ATTRIBUTES in printed and any(name.endswith(_ATTRIBUTES) for name in printed.split("\0")):
            return True
    return False


def _clean_message(message: str) -> str:
    """Return a message in the form that `git merge --cleanup=whitespace` would give it."""
    lines = [line.rstrip() for line in message.splitlines()]
    return "\n".join(line for before, line in zip(["", *lines], lines, strict=False) if line or before).rstrip()
