"""Worktrees of sessions: list, merge and remove worktrees."""

from __future__ import annotations

from maestro.domain.events import EventKind
from maestro.operations import worktrees as worktree_ops
from maestro.server.base import ServerBase
from maestro.server.dispatch import Binding
from maestro.server.part import Part, PartJob
from maestro.server.parts.projects import ProjectPart
from maestro.services.worktrees.lifecycle import SessionWorktrees
from maestro.services.worktrees.removal import WorktreeRemoval
from maestro.services.worktrees.tidy_job import WorktreeTidyJob


class WorktreePart(Part, frozen=True, kw_only=True):
    """The services for worktrees."""

    worktrees: SessionWorktrees


def build_worktrees(base: ServerBase, projects: ProjectPart) -> WorktreePart:
    worktrees = SessionWorktrees(base.store, projects.sandboxes)
    removal = WorktreeRemoval(base.store, worktrees)
    return WorktreePart(
        worktrees=worktrees,
        bindings={
            worktree_ops.LIST.name: Binding(worktrees.list_worktrees),
            worktree_ops.DIFF.name: Binding(worktrees.show_diff),
            worktree_ops.MERGE.name: Binding(worktrees.merge_worktree),
            worktree_ops.REMOVE.name: Binding(removal.remove_worktrees),
        },
        jobs=(
            PartJob(
                WorktreeTidyJob(base.store, worktrees, keeps_merged=base.settings.keep_worktrees),
                runs_after=(EventKind.SESSION_ENDED, EventKind.TASK_COMPLETED, EventKind.RUN_ENDED),
                is_paced=True,
            ),
        ),
    )
