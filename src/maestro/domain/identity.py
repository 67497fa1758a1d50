"""Identify the project of a checkout from the facts that `maestro.git.git_program` gathered. Pure."""

from __future__ import annotations

import posixpath
import re
import unicodedata
from typing import Literal

import msgspec

from maestro.core import ids, limits
from maestro.core.errors import Invalid
from maestro.domain import remotes
from maestro.domain.messages import BroadcastScope

# Keywords of addresses: no project, member or session may have such a name.
RESERVED_NAMES = frozenset(
    {
        *BroadcastScope,
        "coordinator",
        "human",
        "session",
        "agent",
        "project",
        "member",
    }
)

IdentitySource = Literal["remote", "root", "path"]

_NOT_ALLOWED = re.compile(r"[^a-z0-9._-]+")


class Checkout(msgspec.Struct, frozen=True, kw_only=True):
    """Git's facts about one checkout. Every path is absolute and free of symbolic links."""

    toplevel: str  # the folder that people work in; for a bare repository the repository itself
    git_dir: str
    common_dir: str  # shared by a repository and its linked worktrees
    remotes: dict[str, str] = {}  # name → fetch address, after insteadOf and without secrets
    root_commit: str | None = None  # read only if the checkout has no remote
    is_shallow: bool = False
    superproject: str | None = None


class ProjectIdentity(msgspec.Struct, frozen=True):
    """The project of a checkout.

    A key that starts with `file:`, `root:` or `path:` is valid on its own host only. `path_key` stays the same while
    the repository stays in its directory. With `path_key` Maestro finds a project again that it first saw without a
    commit or without a remote.
    """

    key: str
    name: str
    source: IdentitySource
    path_key: str = ""


def identify_project(checkout: Checkout, *, prefer: str = "origin") -> ProjectIdentity:
    """Return the project of a checkout.

    Of several remotes the one named `prefer` counts, such as a fork's `upstream`.
    """
    path = remotes.path_in_key(repository_path(checkout))
    path_key = f"path:{path}"
    remote = _choose_remote(checkout, prefer)
    if remote is not None:
        return ProjectIdentity(remote.key, clean_name(remote.name), "remote", path_key)
    name = clean_name(posixpath.basename(repository_path(checkout)).removesuffix(".git"))
    # The oldest commit of a shallow clone is not the root commit, and another commit is the oldest after a fetch.
    if checkout.root_commit and not checkout.is_shallow:
        # Two repositories from one template share the root commit: the path tells them apart.
        return ProjectIdentity(f"root:{checkout.root_commit}:{path}", name, "root", path_key)
    return ProjectIdentity(path_key, name, "path", path_key)


def repository_path(checkout: Checkout) -> str:
    """Return the path of the repository. All linked worktrees of the repository have the same path."""
    folder, last = posixpath.split(checkout.common_dir.rstrip("/"))
    # A repository without a main worktree usually lies in `.bare`, beside its worktrees.
    return folder if last in {".git", ".bare"} else posixpath.join(folder, last)


def remote_base(checkout: Checkout) -> str:
    """Return the directory that a relative remote starts from: the main worktree, also for linked worktrees."""
    return checkout.toplevel if checkout.git_dir == checkout.common_dir else repository_path(checkout)


def clean_name(text: str, *, fallback: str = "project") -> str:
    """Return `text` as a name: lower case, ASCII, with a letter or digit first, and not a reserved name."""
    ascii_only = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode().lower()
    name = _NOT_ALLOWED.sub("-", ascii_only).lstrip("._-")[: limits.name_chars_max].rstrip("._-") or fallback
    # A repository with an id as its name would get mail for the object with that id.
    return f"the-{name}"[: limits.name_chars_max] if name in RESERVED_NAMES or ids.is_id(name) else name


def _choose_remote(checkout: Checkout, prefer: str) -> remotes.Remote | None:
    for name in [prefer, "origin", "upstream", *sorted(checkout.remotes)]:
        if name not in checkout.remotes:
            continue
        try:
            return remotes.canonical_remote(checkout.remotes[name], base=remote_base(checkout))
        except Invalid:
            continue  # the address of this remote is not valid: the next remote counts
    return None
