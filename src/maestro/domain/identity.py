"""Which project a checkout belongs to, from the facts that `maestro.git.git_program` gathered about it. Pure."""

from __future__ import annotations

import posixpath
import re
import unicodedata
from typing import Literal

import msgspec

from maestro.core import ids, limits
from maestro.core.errors import Invalid
from maestro.domain import remotes

# Words that mean something in an address, and so can name nothing.
RESERVED = frozenset(
    {
        "coordinator",
        "human",
        "all",
        "siblings",
        "team",
        "my-workers",
        "session",
        "agent",
        "project",
        "member",
    }
)

Source = Literal["remote", "root", "path"]

_UNFIT = re.compile(r"[^a-z0-9._-]+")


class Checkout(msgspec.Struct, frozen=True, kw_only=True):
    """What git knows about one checkout. Every path is absolute and free of symbolic links."""

    toplevel: str  # the folder people work in; of a bare repository the repository itself
    git_dir: str
    common_dir: str  # shared by a repository and its linked worktrees
    remotes: dict[str, str] = {}  # name → fetch address, after insteadOf and without secrets
    root_commit: str | None = None  # looked for only when there is no remote
    is_shallow: bool = False
    superproject: str | None = None


class Identity(msgspec.Struct, frozen=True):
    """The project of a checkout.

    A key that starts with `file:`, `root:` or `path:` means something on its own host only. `path_key` never
    changes while the repository stays where it is: by it a project is found again that was first seen without
    a commit, or without a remote.
    """

    key: str
    name: str
    source: Source
    path_key: str = ""


def identify(checkout: Checkout, *, prefer: str = "origin") -> Identity:
    """The project this checkout belongs to; of several remotes `prefer` counts: a fork's `upstream`."""
    path = remotes.path_in_key(place(checkout))
    path_key = f"path:{path}"
    remote = _chosen_remote(checkout, prefer)
    if remote is not None:
        return Identity(remote.key, clean_name(remote.name), "remote", path_key)
    name = clean_name(posixpath.basename(place(checkout)).removesuffix(".git"))
    # A shallow clone ends at a graft: its oldest commit is no root, and moves with the next fetch.
    if checkout.root_commit and not checkout.is_shallow:
        # The path keeps two repositories apart that were made from one template.
        return Identity(f"root:{checkout.root_commit}:{path}", name, "root", path_key)
    return Identity(path_key, name, "path", path_key)


def place(checkout: Checkout) -> str:
    """Where the repository lives: one path for all its linked worktrees."""
    folder, last = posixpath.split(checkout.common_dir.rstrip("/"))
    # `.bare` beside its worktrees is the usual way to have no main worktree.
    return folder if last in {".git", ".bare"} else posixpath.join(folder, last)


def remote_base(checkout: Checkout) -> str:
    """Where a relative remote starts: in the main worktree, so that linked worktrees agree with it."""
    return checkout.toplevel if checkout.git_dir == checkout.common_dir else place(checkout)


def clean_name(text: str, *, fallback: str = "project") -> str:
    """`text` as a name: lower case, ASCII, starting with a letter or digit, and no reserved word."""
    ascii_only = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode().lower()
    name = _UNFIT.sub("-", ascii_only).lstrip("._-")[: limits.name_chars_max].rstrip("._-") or fallback
    # An id for a name would let a repository take another's mail.
    return f"the-{name}"[: limits.name_chars_max] if name in RESERVED or ids.is_id(name) else name


def _chosen_remote(checkout: Checkout, prefer: str) -> remotes.Remote | None:
    for name in [prefer, "origin", "upstream", *sorted(checkout.remotes)]:
        if name not in checkout.remotes:
            continue
        try:
            return remotes.canonical(checkout.remotes[name], base=remote_base(checkout))
        except Invalid:
            continue  # what nobody can read leads nowhere: the next remote counts
    return None
