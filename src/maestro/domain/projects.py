"""Projects and their checkouts, as values."""

from __future__ import annotations

import enum
from datetime import datetime

import msgspec

from maestro.domain.sandboxes import SandboxMode


class InboundPolicy(enum.StrEnum):
    """Which other projects may send mail to a project and open issues in it."""

    OPEN = "open"  # every project of this server
    KNOWN = "known"  # projects that the project names, or in which the project has opened an issue
    CLOSED = "closed"  # no other project


class Project(msgspec.Struct, frozen=True):
    """A codebase, identified by its canonical git remote."""

    id: str
    key: str  # github.com/steveyegge/vc
    name: str  # vc
    stages: list[str]
    created_at: datetime
    inbound: InboundPolicy = InboundPolicy.OPEN
    replies_reopen: bool = True  # whether the opener's reply opens a closed issue again
    sandbox: SandboxMode = SandboxMode.NONE  # the sandbox of the project's gates and set-up commands
    caches: list[str] = []  # folders that the sandbox can read


class Workspace(msgspec.Struct, frozen=True):
    """A checkout of a project on the host."""

    id: str
    project_id: str
    name: str  # dave
    address: str  # dave/vc
    path: str
    created_at: datetime
