"""Derive a workspace's name, the left part of an address such as `dave/vc`, from the path of the checkout. Pure."""

from __future__ import annotations

import posixpath
from collections.abc import Callable

from maestro.core import limits
from maestro.core.errors import NameTaken
from maestro.domain.identity import clean_name

MAIN_WORKSPACE = "main"
same_name_max = 1_000

# Folders that collect checkouts, so their names do not tell checkouts apart. All in lower case.
COLLECTING_FOLDERS = frozenset(
    {
        # usual names of folders with code
        *("src", "source", "sources", "code", "coding", "programming", "development"),
        *("project", "projects", "repo", "repos", "repository", "repositories", "clones"),
        *("work", "workspace", "workspaces", "dev", "devel", "go", "vendor", "third_party", "submodules"),
        # forges
        *("git", "github", "github.com", "gitlab", "gitlab.com", "bitbucket", "bitbucket.org"),
        *("codeberg", "codeberg.org"),
        # folders of operating systems
        *("home", "root", "users", "documents", "desktop", "downloads", "library", "private", "volumes"),
        *("opt", "srv", "mnt", "media", "data", "var", "lib", "usr", "local", "share", "tmp", "temp", "www"),
    }
)
# Folders with the worktrees of one project: the name of the worktree's own folder tells worktrees apart.
_WORKTREE_FOLDERS = frozenset({"worktrees", ".worktrees", "trees", ".trees"})


def workspace_name(
    toplevel: str, *, home: str, project: str, collecting_folders: frozenset[str] = COLLECTING_FOLDERS
) -> str:
    """Return the workspace's name: `dave` for `~/src/dave/vc`.

    A checkout directly below a collecting folder, or at home, is `main`.
    """
    path = posixpath.normpath(toplevel)
    parent, own = posixpath.split(path)
    folder = posixpath.basename(parent)
    if posixpath.normpath(home) in {path, parent} or folder in {"", "/"}:
        return MAIN_WORKSPACE
    if _holds_worktrees(folder, project):
        return MAIN_WORKSPACE if clean_name(own) == project else clean_name(own, fallback=MAIN_WORKSPACE)
    if folder in collecting_folders or folder.lower() in collecting_folders:
        return MAIN_WORKSPACE
    return clean_name(folder, fallback=MAIN_WORKSPACE)


def next_free_name(name: str, is_taken: Callable[[str], bool]) -> str:
    """Return `name`, or the first of `name-2`, `name-3`… that is not taken."""
    if not is_taken(name):
        return name
    for number in range(2, same_name_max + 1):
        ending = f"-{number}"
        candidate = name[: limits.name_chars_max - len(ending)] + ending
        if not is_taken(candidate):
            return candidate
    raise NameTaken(f"The name {name} is taken {same_name_max} times.", hint="Choose another name.")


def _holds_worktrees(folder: str, project: str) -> bool:
    """Return whether a folder holds worktrees of a project: `vc`, `vc-worktrees` and `.worktrees` do for `vc`."""
    name = folder.lower()
    if name in _WORKTREE_FOLDERS or clean_name(name) == project:
        return True
    stem, _, last = name.replace(".", "-").rpartition("-")
    return last in {"worktrees", "trees"} and clean_name(stem) == project
