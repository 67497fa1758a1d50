"""Merges without a checkout: git puts the two trees together by itself, however many files there are.

Only where that gives what a merge in a checkout gives, and nothing clashes; in all other cases it says nothing.
"""

from __future__ import annotations

from maestro.core.errors import MaestroError
from maestro.git.worktrees import commands

_ATTRIBUTES = ".gitattributes"


async def tree_of(repository: str, *, old: str, new: str, base: str) -> str | None:
    """What `new` merged into `old` is, as the name of a tree; None where it takes a checkout to know."""
    if base == old:
        return f"{new}^{{tree}}"
    try:
        if await _has_attributes(repository, old, new):
            return None
        # Ends with 1 where files clash, and with more where git is too old to know this.
        words = ("--write-tree", "--no-messages", old, new)
        return (await commands.run("merge-tree", *words, cwd=repository)).strip()
    except MaestroError as error:
        if commands.exit_code(error) is None:
            raise
        return None


async def commit(
    repository: str, tree: str, *, parents: tuple[str, ...], message: str, config: tuple[str, ...]
) -> str:
    """The commit of such a merge, on no branch yet."""
    words = [word for parent in parents for word in ("-p", parent)]
    printed = await commands.run(
        "commit-tree", tree, *words, "-m", _without_blanks(message), cwd=repository, config=config
    )
    return printed.strip()


async def _has_attributes(repository: str, old: str, new: str) -> bool:
    """Whether files say how they are to be merged: git reads that from a checkout, and here it would be another's."""
    for words in (("ls-tree", "-r", "-z", "--name-only", old), ("diff-tree", "-r", "-z", "--name-only", old, new)):
        printed = await commands.run(*words, cwd=repository)
        if _ATTRIBUTES in printed and any(name.endswith(_ATTRIBUTES) for name in printed.split("\0")):
            return True
    return False


def _without_blanks(message: str) -> str:
    """As `git merge --cleanup=whitespace` would have it."""
    lines = [line.rstrip() for line in message.splitlines()]
    return "\n".join(line for before, line in zip(["", *lines], lines, strict=False) if line or before).rstrip()
