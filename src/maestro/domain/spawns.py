"""How a session was started by Maestro, and how its program ended."""

from __future__ import annotations

from datetime import datetime

import msgspec

from maestro.domain.members import Permission


class Spawn(msgspec.Struct, frozen=True, kw_only=True):
    """One start of an agent program. Its manifest is read apart: it is large."""

    session_id: str
    tool: str
    words: list[str]
    model: str | None
    permission: Permission
    strategy: str
    template: str
    directory: str
    run_id: str | None
    runner_pid: int | None
    runner_started: str | None
    exit_code: int | None
    exit_signal: str | None
    tail: str | None
    created_at: datetime
    ended_at: datetime | None


class Worktree(msgspec.Struct, frozen=True, kw_only=True):
    """A checkout that one session has to itself."""

    session_id: str
    project_id: str
    repository: str
    path: str
    branch: str
    base_commit: str
    merges_into: str | None  # where a run gathers finished work
    merged_into: str | None
    merged_at: datetime | None
    removed_at: datetime | None
    created_at: datetime
