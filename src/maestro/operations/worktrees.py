"""Checkouts that workers have to themselves: looking at them, merging them, removing them."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from maestro.core import limits
from maestro.core.errors import Conflict, Invalid, NotFound, NotPermitted
from maestro.domain.callers import Callers
from maestro.domain.conditions import Condition
from maestro.domain.spawns import Worktree
from maestro.operations import fields
from maestro.operations.base import GET, POST, Command, Cursor, Effect, InProject, Operation
from maestro.operations.sessions import OneSession, SessionRef

_Branch = Annotated[
    str, Meta(min_length=1, max_length=200, pattern=fields.LINE, description="A branch.", extra={"label": "BRANCH"})
]


class ListWorktrees(InProject, frozen=True, kw_only=True):
    limit: fields.Limit = limits.page_items_default
    cursor: fields.PageCursor = ""


class WorktreeState(Worktree, frozen=True, kw_only=True):
    """A worktree and how it stands."""

    session: str
    is_clean: bool | None
    changed: int
    untracked: int
    ahead: int  # commits that are not where they are to go: merged, its run's branch, or what is checked out
    size_bytes: int
    state: Condition


class WorktreeList(Cursor, frozen=True, kw_only=True):
    worktrees: list[WorktreeState]


class Diff(msgspec.Struct, frozen=True, kw_only=True):
    """What a session changed."""

    session_id: str
    branch: str
    base_commit: str
    text: str


class MergeWorktree(OneSession, frozen=True, kw_only=True):
    into: Annotated[_Branch, Meta(description="Where to; the run's own branch if it is of one.")] | None = None


class MergedWorktree(msgspec.Struct, frozen=True, kw_only=True):
    """A merge that is there, or what stood in its way."""

    session_id: str
    branch: str
    into: str
    commit: str | None
    conflicts: list[str] = []
    task: str | None = None  # that is to mend them
    checked_out_at: list[str] = []  # who has `into` there has the merge in the files too


class RemoveWorktrees(InProject, frozen=True, kw_only=True):
    id: Annotated[SessionRef, Meta(min_length=1, extra={"complete": "session", "label": "ID"})] | None = None
    merged: Annotated[bool, Meta(description="All whose work is merged, and that are clean.")] = False
    run: Annotated[str, Meta(max_length=100, description="All of a run.", extra={"label": "RUN"})] | None = None
    keep_branch: Annotated[bool, Meta(description="Leave the branch.")] = False


class KeptWorktree(msgspec.Struct, frozen=True, kw_only=True):
    """One that stays, and what would be lost."""

    session: str
    path: str
    why: str


class RemovedWorktrees(msgspec.Struct, frozen=True, kw_only=True):
    """What is gone, and what of a run is not."""

    removed: list[Worktree]
    kept: list[KeptWorktree] = []


LIST = Operation(
    "worktree.list",
    ListWorktrees,
    WorktreeList,
    callers=Callers.KNOWN,
    http=GET("/api/worktrees"),
    summary="List worktrees, their size and state.",
    effect=Effect.ACTION,
    command=Command("worktree list"),
    examples=("maestro worktree list",),
    errors=(NotFound,),
)
DIFF = Operation(
    "worktree.diff",
    OneSession,
    Diff,
    callers=Callers.KNOWN,
    http=GET("/api/worktrees/{id}/diff"),
    summary="Show what a session changed in its worktree.",
    effect=Effect.ACTION,
    command=Command("worktree diff", ("id",)),
    examples=("maestro worktree diff parser",),
    errors=(NotFound, Conflict),
)
MERGE = Operation(
    "worktree.merge",
    MergeWorktree,
    MergedWorktree,
    callers=Callers.OWNERS,
    http=POST("/api/worktrees/{id}/merge"),
    summary="Merge a session's branch. A checkout of the other one comes along, or nothing is merged.",
    effect=Effect.ACTION,
    command=Command("worktree merge", ("id",)),
    examples=("maestro worktree merge parser --into main",),
    errors=(NotFound, NotPermitted, Conflict),
)
REMOVE = Operation(
    "worktree.remove",
    RemoveWorktrees,
    RemovedWorktrees,
    callers=Callers.OWNERS,
    http=POST("/api/worktrees/remove"),
    summary="Remove worktrees that are clean and merged; anything else is kept.",
    effect=Effect.ACTION,
    command=Command("worktree remove", ("id",)),
    examples=("maestro worktree remove parser", "maestro worktree remove --merged"),
    errors=(Invalid, NotFound, NotPermitted, Conflict),
)

ALL = (LIST, DIFF, MERGE, REMOVE)
