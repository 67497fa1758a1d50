"""Create the worktrees of sessions before their programs start, merge their branches, and remove merged worktrees."""

from __future__ import annotations

import asyncio
from weakref import WeakValueDictionary

import msgspec

from maestro.core import errors
from maestro.domain.callers import Caller
from maestro.domain.conditions import worktree_condition
from maestro.domain.manifests import Manifest
from maestro.domain.sessions import Session
from maestro.domain.spawns import SessionWorktree
from maestro.domain.tasks import FINAL_STATUSES
from maestro.git import worktrees
from maestro.git.repositories import RECORDS
from maestro.operations import sessions as session_ops
from maestro.operations import worktrees as ops
from maestro.services.access import session_relations
from maestro.services.access.scope import find_readable_project
from maestro.services.projects import git_records
from maestro.services.projects.sandboxes import ProjectSandboxes
from maestro.services.worktrees import conflicts, setup
from maestro.store.base import Store, Tx


class _StoredWorktree(msgspec.Struct, frozen=True):
    """A worktree with the stored facts about it."""

    worktree: SessionWorktree
    session: str
    in_conflict: bool  # a task that should resolve the conflict is open


class SessionWorktrees:
    """The operations on the worktrees of sessions."""

    def __init__(self, store: Store, sandboxes: ProjectSandboxes) -> None:
        self._store = store
        self._sandboxes = sandboxes
        self._merges = worktrees.MergeLocks()
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def create_worktree(self, manifest: Manifest, *, merges_into: str | None) -> list[str]:
        """Create and set up the worktree of a session. Return warnings, such as files that could not be copied.

        If the set-up fails, the background job `worktree-removal` removes the worktree.
        """
        workspace = manifest.workspace
        assert workspace is not None and workspace.branch is not None
        source = manifest.project.directory
        # Settings come first: wrong settings must leave no worktree behind.
        allowed = await setup.read_settings(self._store, manifest.project.id, source)
        async with self._lock(manifest.session.id):
            known = await self._store.read(lambda tx: tx.worktrees.get(manifest.session.id), quick=True)
            if known is None or known.removed_at is not None:
                await self._create(manifest, merges_into=merges_into)
        # The set-up runs again for an existing worktree: a server that was killed may not have finished it.
        sandbox = await self._sandboxes.of_project(manifest.project.id)
        directory = workspace.directory
        prepared = await worktrees.prepare_worktree(
            directory, settings=allowed.settings, source=source, sandbox=sandbox
        )
        if prepared.setup is not None and not prepared.setup.is_ok:
            raise errors.Conflict(prepared.setup.failure, data={"output": prepared.setup.output[-4000:]})
        skipped = [f"{file.path} was not copied into the worktree: {file.reason}." for file in prepared.skipped]
        return [*([allowed.refusal] if allowed.refusal else []), *skipped]

    async def _create(self, manifest: Manifest, *, merges_into: str | None) -> None:
        workspace, source = manifest.workspace, manifest.project.directory
        assert workspace is not None and workspace.branch is not None
        commit = await worktrees.ensure_branch(source, merges_into, "HEAD") if merges_into is not None else None
        created = await worktrees.create_worktree(
            source, path=workspace.directory, branch=workspace.branch, base=workspace.base, commit=commit
        )
        row = SessionWorktree(
            session_id=manifest.session.id,
            project_id=manifest.project.id,
            repository=source,
            path=created.path,
            branch=created.branch,
            base_commit=created.base_commit,
            merges_into=merges_into,
            merged_into=None,
            merged_at=None,
            removed_at=None,
            created_at=await self._store.read(lambda tx: tx.at, quick=True),
        )
        # The programs of the repository were recorded with its main checkout; the new worktree adds none.
        record = git_records.record_of(created.path, accepts_programs=False)

        def write(tx: Tx) -> None:
            tx.worktrees.insert(row)
            tx.git_records.put(record)

        await self._store.write(write)
        git_records.remember_record(record)

    def _lock(self, session_id: str) -> asyncio.Lock:
        """Return the lock that keeps a session's worktree from being created and removed at the same time."""
        return self._locks.setdefault(session_id, asyncio.Lock())

    async def list_worktrees(self, caller: Caller, request: ops.ListWorktrees) -> ops.WorktreeList:
        def read_worktrees(tx: Tx) -> list[_StoredWorktree]:
            hint = "Ask its agents by mail: maestro agent list --project NAME"
            project = find_readable_project(tx, caller, request.project, action="lists the worktrees", hint=hint)
            page = tx.worktrees.of_project(project.id, after=request.cursor, limit=request.limit + 1)
            return [_stored(tx, worktree) for worktree in page]

        listed = await self._store.read(read_worktrees)
        page = listed[: request.limit]
        shown = [state for stored in page if (state := await self._state_unless_removed(stored)) is not None]
        cursor = page[-1].worktree.session_id if len(listed) > request.limit else None
        return ops.WorktreeList(worktrees=shown, cursor=cursor)

    async def _state_unless_removed(self, stored: _StoredWorktree) -> ops.WorktreeState | None:
        """Return the state of a worktree; None if the worktree is being removed just now."""
        state = await _state(stored)
        if state.is_clean is not None:
            return state
        async with self._lock(stored.worktree.session_id):
            now = await self._store.read(lambda tx: tx.worktrees.get(stored.worktree.session_id), quick=True)
        return state if now is not None and now.removed_at is None else None

    async def show_diff(self, caller: Caller, request: session_ops.OneSession) -> ops.WorktreeDiff:
        _, worktree = await self.find_worktree(caller, request.id, project=request.project)
        text = await worktrees.read_diff(worktree.path, base_commit=worktree.base_commit)
        return ops.WorktreeDiff(
            session_id=worktree.session_id, branch=worktree.branch, base_commit=worktree.base_commit, text=text
        )

    async def merge_worktree(self, caller: Caller, request: ops.MergeWorktree) -> ops.MergedWorktree:
        session, worktree = await self.find_worktree(caller, request.id, project=request.project, action="merge")
        into = request.into or worktree.merges_into
        if into is None:
            raise errors.Invalid(f"No target branch was given for {worktree.branch}.", hint="Give --into BRANCH.")
        result = await self.merge_branch(session, worktree, into)
        answer = ops.MergedWorktree(session_id=worktree.session_id, branch=worktree.branch, into=into, commit=None)
        if isinstance(result, worktrees.MergeConflict):
            task = await self._store.write(lambda tx: conflicts.open_conflict_task(tx, session, worktree, result))
            texts = [f"{file.path} ({file.kind})\n{file.text}" for file in result.details]
            return msgspec.structs.replace(answer, conflicts=texts, task=task.ref)
        checkouts = [result.checked_out_at] if result.checked_out_at else []
        return msgspec.structs.replace(answer, commit=result.commit, checked_out_at=checkouts)

    async def merge_branch(
        self, session: Session, worktree: SessionWorktree, into: str
    ) -> worktrees.Merged | worktrees.MergeConflict:
        """Merge a session's branch, and record a successful merge."""
        result = await self._merges.merge_in_turn(
            worktree.repository,
            branch=worktree.branch,
            into=into,
            message=f"Merge {worktree.branch} ({session.name})",
            author=worktrees.CommitAuthor(session.human or "maestro", "maestro@localhost"),
            prefers_own=True,
        )

        def write(tx: Tx) -> None:
            tx.worktrees.mark_merged(worktree.session_id, into=into, at=tx.at)
            conflicts.settle_merge(tx, session, worktree, into)

        if isinstance(result, worktrees.Merged):
            await self._store.write(write)
        return result

    async def remove_worktree(self, worktree: SessionWorktree, *, keep_branch: bool = False) -> None:
        """Remove an ended session's worktree and branch. Raise a Conflict that names the work that would be lost."""
        async with self._lock(worktree.session_id):
            is_live = await self._store.read(lambda tx: tx.sessions.is_live(worktree.session_id), quick=True)
            if is_live:
                raise errors.Conflict(f"The session of {worktree.path} was started again just now.")
            await _remove_from_disk(worktree, keep_branch=keep_branch)
            await self._store.write(lambda tx: _record_removal(tx, worktree))
            RECORDS.drop_checkout(worktree.path)

    async def find_worktree(
        self, caller: Caller, name: str, *, project: str, action: str | None = None
    ) -> tuple[Session, SessionWorktree]:
        """Return the session that `name` means, and its worktree.

        `action` names an action that needs the right to act on the session; without `action`, reading suffices.
        """

        def read_worktree(tx: Tx) -> tuple[Session, SessionWorktree]:
            session = session_relations.find_session(tx, caller, name, project=project)
            session_relations.require_same_project(tx, caller, session, action="look at its worktree")
            if action is not None:
                session_relations.require_authority(tx, caller, session, action=action)
            worktree = tx.worktrees.get(session.id)
            if worktree is None or worktree.removed_at is not None:
                raise errors.NotFound(f"{session.name} has no worktree.", hint="maestro worktree list")
            return session, worktree

        return await self._store.read(read_worktree, quick=True)


async def _remove_from_disk(worktree: SessionWorktree, *, keep_branch: bool) -> None:
    """Remove worktree and branch if the branch is merged into its target, or into HEAD if the target is gone."""
    into = worktree.merged_into or worktree.merges_into or "HEAD"
    repository, path, branch = worktree.repository, worktree.path, worktree.branch
    try:
        await worktrees.remove_worktree(
            repository, path=path, branch=branch, merged_into=into, keep_branch=keep_branch
        )
    except errors.NotFound:
        if into == "HEAD" or await worktrees.branch_tip(repository, into) is not None:
            raise
        await worktrees.remove_worktree(
            repository, path=path, branch=branch, merged_into="HEAD", keep_branch=keep_branch
        )


def _record_removal(tx: Tx, worktree: SessionWorktree) -> None:
    tx.worktrees.mark_removed(worktree.session_id, at=tx.at)
    tx.git_records.drop(worktree.path)


def _stored(tx: Tx, worktree: SessionWorktree) -> _StoredWorktree:
    session = tx.sessions.mail_route(worktree.session_id)
    conflict_task = tx.tasks.get(worktree.conflict_task_id) if worktree.conflict_task_id else None
    in_conflict = conflict_task is not None and conflict_task.status not in FINAL_STATUSES
    return _StoredWorktree(worktree, session.name if session else "", in_conflict)


async def _state(stored: _StoredWorktree) -> ops.WorktreeState:
    worktree = stored.worktree
    now = await _state_on_disk(worktree)
    return ops.WorktreeState(
        **msgspec.structs.asdict(worktree),
        session=stored.session,
        is_clean=now.is_clean if now else None,
        changed=now.changed if now else 0,
        untracked=now.untracked if now else 0,
        ahead=now.ahead if now else 0,
        size_bytes=now.size_bytes if now else 0,
        state=worktree_condition(
            is_clean=now.is_clean if now else None,
            is_elsewhere=now is not None and now.is_elsewhere,
            in_conflict=stored.in_conflict,
            ahead=now.ahead if now else 0,
            has_commits=worktree.merged_at is not None or (now is not None and now.head != worktree.base_commit),
        ),
    )


async def _state_on_disk(worktree: SessionWorktree) -> worktrees.GitWorktreeState | None:
    try:
        return await worktrees.read_state(
            worktree.path,
            base_commit=worktree.base_commit,
            branch=worktree.branch,
            within=worktree.merged_into or worktree.merges_into,
            repository=worktree.repository,
        )
    except errors.MaestroError:  # the folder was removed by hand
        return None
