"""Projects and their checkouts, as values."""

from __future__ import annotations

from datetime import datetime

import msgspec


class Project(msgspec.Struct, frozen=True):
    """A logical codebase, known by its canonical git remote."""

    id: str
    key: str  # github.com/steveyegge/vc
    name: str  # vc
    stages: list[str]
    created_at: datetime


class Workspace(msgspec.Struct, frozen=True):
    """One checkout of a project on this host."""

    id: str
    project_id: str
    name: str  # dave
    address: str  # dave/vc
    path: str
    created_at: datetime
