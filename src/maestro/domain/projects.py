"""Projects and their checkouts, as values."""

from __future__ import annotations

import enum
from datetime import datetime

import msgspec

from maestro.domain.sandboxes import Mode


class Inbound(enum.StrEnum):
    """Who may write to a project from outside."""

    OPEN = "open"  # every project of this server
    KNOWN = "known"  # those that it names itself, or has opened an issue in
    CLOSED = "closed"  # nobody


class Project(msgspec.Struct, frozen=True):
    """A logical codebase, known by its canonical git remote."""

    id: str
    key: str  # github.com/steveyegge/vc
    name: str  # vc
    stages: list[str]
    created_at: datetime
    inbound: Inbound = Inbound.OPEN
    replies_reopen: bool = True  # whether the opener's reply opens a closed issue again
    sandbox: Mode = Mode.NONE  # of its gates and set-up commands
    caches: list[str] = []  # folders that can be read in the sandbox


class Workspace(msgspec.Struct, frozen=True):
    """One checkout of a project on this host."""

    id: str
    project_id: str
    name: str  # dave
    address: str  # dave/vc
    path: str
    created_at: datetime
