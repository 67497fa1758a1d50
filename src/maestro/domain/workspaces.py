"""The left half of an address such as `dave/vc`, from where the checkout lies. Pure: a path is only text."""

from __future__ import annotations

import posixpath
from collections.abc import Callable

from maestro.core import limits
from maestro.core.errors import NameTaken
from maestro.domain.identity import clean_name

MAIN = "main"
same_name_max = 1_000

# Folders that collect checkouts and so tell none from another. All in lower case.
COLLECTING = frozenset(
    {
        # what people call the folder with their code
        *("src", "source", "sources", "code", "coding", "programming", "development"),
        *("project", "projects", "repo", "repos", "repository", "repositories", "clones"),
        *("work", "workspace", "workspaces", "dev", "devel", "go", "vendor", "third_party", "submodules"),
        # forges
        *("git", "github", "github.com", "gitlab", "gitlab.com", "bitbucket", "bitbucket.org"),
        *("codeberg", "codeberg.org"),
        # what systems come with
        *("home", "root", "users", "documents", "desktop", "downloads", "library", "private", "volumes"),
        *("opt", "srv", "mnt", "media", "data", "var", "lib", "usr", "local", "share", "tmp", "temp", "www"),
    }
)
# Folders that hold one project's worktrees: there the checkout's own folder tells them apart.
_WORKTREES = frozenset({"worktrees", ".worktrees", "trees", ".trees"})


def workspace_name(toplevel: str, *, home: str, project: str, collecting: frozenset[str] = COLLECTING) -> str:
    """`~/src/dave/vc` is `dave`; a checkout straight below a collecting folder, or at home, is `main`."""
    path = posixpath.normpath(toplevel)
    parent, own = posixpath.split(path)
    folder = posixpath.basename(parent)
    if posixpath.normpath(home) in {path, parent} or folder in {"", "/"}:
        return MAIN
    if _holds_worktrees(folder, project):
        return MAIN if clean_name(own) == project else clean_name(own, fallback=MAIN)
    if folder in collecting or folder.lower() in collecting:
        return MAIN
    return clean_name(folder, fallback=MAIN)


def next_free(name: str, taken: Callable[[str], bool]) -> str:
    """`name`, or the first of `name-2`, `name-3`… that nobody has."""
    if not taken(name):
        return name
    for number in range(2, same_name_max + 1):
        ending = f"-{number}"
        candidate = name[: limits.name_chars_max - len(ending)] + ending
        if not taken(candidate):
            return candidate
    raise NameTaken(f"{same_name_max} others have the name {name} already.", hint="Give this one a name of its own.")


def _holds_worktrees(folder: str, project: str) -> bool:
    """`vc/dave`, `vc-worktrees/dave` and `.worktrees/dave` are all dave's worktree of vc."""
    name = folder.lower()
    if name in _WORKTREES or clean_name(name) == project:
        return True
    stem, _, last = name.replace(".", "-").rpartition("-")
    return last in {"worktrees", "trees"} and clean_name(stem) == project
