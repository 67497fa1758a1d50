"""Worktrees: list, diff, merge and remove the checkouts of sessions."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from maestro.core import limits
from maestro.core.errors import Conflict, Invalid, NotFound, NotPermitted
from maestro.domain.callers import Callers
from maestro.domain.conditions import WorktreeCondition
from maestro.domain.spawns import SessionWorktree
from maestro.operations import fields
from maestro.operations.base import GET, POST, CommandSyntax, Effect, InProject, ListPage, Operation
from maestro.operations.sessions import OneSession, SessionRef

_Branch = Annotated[
    str, Meta(min_length=1, max_length=200, pattern=fields.LINE, description="A branch.", extra={"label": "BRANCH"})
]


class ListWorktrees(InProject, frozen=True, kw_only=True):
    limit: fields.Limit = limits.page_items_default
    cursor: fields.PageCursor = ""


class WorktreeState(SessionWorktree, frozen=True, kw_only=True):
    """A worktree and its state."""

    session: str
    is_clean: bool | None
    changed: int
    untracked: int
    ahead: int  # commits that the target lacks: the merge target, the run's branch or the checked-out branch
    size_bytes: int
    state: WorktreeCondition


class WorktreeList(ListPage, frozen=True, kw_only=True):
    worktrees: list[WorktreeState]


class WorktreeDiff(msgspec.Struct, frozen=True, kw_only=True):
    """The changes of a session."""

    session_id: str
    branch: str
    base_commit: str
    text: str


class MergeWorktree(OneSession, frozen=True, kw_only=True):
    into: (
        Annotated[_Branch, Meta(description="The target branch; default: the branch of the session's run.")] | None
    ) = None


class MergedWorktree(msgspec.Struct, frozen=True, kw_only=True):
    """A finished merge, or the conflicts of a refused merge."""

    session_id: str
    branch: str
    into: str
    commit: str | None
    conflicts: list[str] = []
    task: str | None = None  # the task that shall resolve the conflicts
    checked_out_at: list[str] = []  # checkouts of `into`, whose files have the merge too


class RemoveWorktrees(InProject, frozen=True, kw_only=True):
    id: Annotated[SessionRef, Meta(min_length=1, extra={"complete": "session", "label": "ID"})] | None = None
    merged: Annotated[bool, Meta(description="All clean worktrees whose work is merged.")] = False
    run: (
        Annotated[str, Meta(max_length=100, description="All worktrees of a run.", extra={"label": "RUN"})] | None
    ) = None
    keep_branch: Annotated[bool, Meta(description="Keep the branch.")] = False


class KeptWorktree(msgspec.Struct, frozen=True, kw_only=True):
    """A worktree that is not removed, and the reason."""

    session: str
    path: str
    reason: str


class RemovedWorktrees(msgspec.Struct, frozen=True, kw_only=True):
    """The removed worktrees, and the worktrees of a run that remain."""

    removed: list[SessionWorktree]
    kept: list[KeptWorktree] = []


LIST = Operation(
    "worktree.list",
    ListWorktrees,
    WorktreeList,
    callers=Callers.KNOWN,
    http=GET("/api/worktrees"),
    summary="List worktrees with their size and state.",
    effect=Effect.ACTION,
    command=CommandSyntax("worktree list"),
    examples=("maestro worktree list",),
    errors=(NotFound,),
)
DIFF = Operation(
    "worktree.diff",
    OneSession,
    WorktreeDiff,
    callers=Callers.KNOWN,
    http=GET("/api/worktrees/{id}/diff"),
    summary="Show the changes of a session in its worktree.",
    effect=Effect.ACTION,
    command=CommandSyntax("worktree diff", ("id",)),
    examples=("maestro worktree diff parser",),
    errors=(NotFound, Conflict),
)
MERGE = Operation(
    "worktree.merge",
    MergeWorktree,
    MergedWorktree,
    callers=Callers.OWNERS,
    http=POST("/api/worktrees/{id}/merge"),
    summary="Merge a session's branch. Checkouts of the target branch are updated too, or the merge is refused.",
    effect=Effect.ACTION,
    command=CommandSyntax("worktree merge", ("id",)),
    examples=("maestro worktree merge parser --into main",),
    errors=(NotFound, NotPermitted, Conflict),
)
REMOVE = Operation(
    "worktree.remove",
    RemoveWorktrees,
    RemovedWorktrees,
    callers=Callers.OWNERS,
    http=POST("/api/worktrees/remove"),
    summary="Remove clean, merged worktrees; all other worktrees are kept.",
    effect=Effect.ACTION,
    command=CommandSyntax("worktree remove", ("id",)),
    examples=("maestro worktree remove parser", "maestro worktree remove --merged"),
    errors=(Invalid, NotFound, NotPermitted, Conflict),
)

ALL = (LIST, DIFF, MERGE, REMOVE)
