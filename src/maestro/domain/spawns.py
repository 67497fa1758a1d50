"""Spawns: how Maestro started a session, and how the session's program ended."""

from __future__ import annotations

from datetime import datetime

import msgspec

from maestro.core import limits
from maestro.domain.members import Permission


class SpawnLimits(msgspec.Struct, frozen=True, kw_only=True):
    """How many sessions a coordinator and a project may start, and how many levels of sessions."""

    depth_max: int = limits.spawn_depth_max
    of_one_coordinator_max: int = limits.spawns_of_one_coordinator_max
    of_one_project_max: int = limits.spawns_of_one_project_max


class Spawn(msgspec.Struct, frozen=True, kw_only=True):
    """One start of an agent program. The manifest is read separately, because it is large."""

    session_id: str
    tool: str
    arguments: list[str]
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
    epoch: int = 1  # the number of the start: the server ignores runners of earlier starts
    has_older_runner: bool = False  # an older Maestro started the runner, which therefore has no secret


class SessionWorktree(msgspec.Struct, frozen=True, kw_only=True):
    """A checkout for one session alone."""

    session_id: str
    project_id: str
    repository: str
    path: str
    branch: str
    base_commit: str
    merges_into: str | None  # the branch into which a run merges finished work
    merged_into: str | None
    merged_at: datetime | None
    removed_at: datetime | None
    created_at: datetime
    conflict_task_id: str | None = None  # the task that resolves the conflict of the last merge
