"""Worktrees of sessions: made before the agent starts, merged when its task is done, removed when nothing is lost."""

from __future__ import annotations

import asyncio
from weakref import WeakValueDictionary

import msgspec

from maestro.core import errors
from maestro.domain.callers import Caller
from maestro.domain.conditions import condition
from maestro.domain.manifests import Manifest
from maestro.domain.sessions import Session
from maestro.domain.spawns import Worktree
from maestro.domain.tasks import FINAL
from maestro.git import worktrees
from maestro.git.repositories import RECORDS
from maestro.operations import sessions as session_ops
from maestro.operations import worktrees as ops
from maestro.services.projects import git_records
from maestro.services.projects.sandboxes import Sandboxes
from maestro.services.scope import readable_project
from maestro.services.sessions import kin
from maestro.services.worktrees import conflicts, setup
from maestro.store.base import Store, Tx


class _Seen(msgspec.Struct, frozen=True):
    """A worktree with what the store knows about it."""

    worktree: Worktree
    session: str
    in_conflict: bool  # and nobody has mended that yet


class Worktrees:
    """All that sessions have of their own on the disk."""

    def __init__(self, store: Store, sandboxes: Sandboxes) -> None:
        self._store = store
        self._sandboxes = sandboxes
        self._merges = worktrees.Merges()
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def make(self, manifest: Manifest, *, merges_into: str | None) -> list[str]:
        """The worktree that a session was promised, with what its project's settings say belongs there.

        What could not be copied is told. If it cannot be made ready, upkeep takes it away again.
        """
        place = manifest.workspace
        assert place is not None and place.branch is not None
        source = manifest.project.directory
        # First: settings that are wrong leave no worktree behind.
        allowed = await setup.read_settings(self._store, manifest.project.id, source)
        async with self._lock(manifest.session.id):
            known = await self._store.read(lambda tx: tx.worktrees.get(manifest.session.id), quick=True)
            if known is None or known.removed_at is not None:
                await self._create(manifest, merges_into=merges_into)
        # Also if it was made before the server was killed: nobody knows how far its set-up came.
        sandbox = await self._sandboxes.of_project(manifest.project.id)
        prepared = await worktrees.prepare(place.directory, settings=allowed.settings, source=source, sandbox=sandbox)
        if prepared.setup is not None and not prepared.setup.is_ok:
            raise errors.Conflict(prepared.setup.failure, data={"output": prepared.setup.output[-4000:]})
        skipped = [f"{one.path} was not copied into the worktree: {one.reason}." for one in prepared.skipped]
        return [*([allowed.refusal] if allowed.refusal else []), *skipped]

    async def _create(self, manifest: Manifest, *, merges_into: str | None) -> None:
        place, source = manifest.workspace, manifest.project.directory
        assert place is not None and place.branch is not None
        commit = await worktrees.ensure_branch(source, merges_into, "HEAD") if merges_into is not None else None
        made = await worktrees.create(
            source, path=place.directory, branch=place.branch, base=place.base, commit=commit
        )
        row = Worktree(
            session_id=manifest.session.id,
            project_id=manifest.project.id,
            repository=source,
            path=made.path,
            branch=made.branch,
            base_commit=made.base_commit,
            merges_into=merges_into,
            merged_into=None,
            merged_at=None,
            removed_at=None,
            created_at=await self._store.read(lambda tx: tx.at, quick=True),
        )
        # Nobody has worked there yet. What the repository's programs are was recorded with its main checkout.
        record = git_records.record_of(made.path, accepts=False)

        def write(tx: Tx) -> None:
            tx.worktrees.insert(row)
            tx.git_records.put(record)

        await self._store.write(write)
        git_records.remember(record)

    def _lock(self, session_id: str) -> asyncio.Lock:
        """A session's worktree is not made and removed at the same time."""
        return self._locks.setdefault(session_id, asyncio.Lock())

    async def list_page(self, caller: Caller, request: ops.ListWorktrees) -> ops.WorktreeList:
        def look(tx: Tx) -> list[_Seen]:
            hint = "Ask its agents by mail: maestro agent list --project NAME"
            project = readable_project(tx, caller, request.project, what="lists the worktrees", hint=hint)
            found = tx.worktrees.of_project(project.id, after=request.cursor, limit=request.limit + 1)
            return [_seen(tx, one) for one in found]

        found = await self._store.read(look)
        page = found[: request.limit]
        shown = [state for one in page if (state := await self._shown(one)) is not None]
        cursor = page[-1].worktree.session_id if len(found) > request.limit else None
        return ops.WorktreeList(worktrees=shown, cursor=cursor)

    async def _shown(self, seen: _Seen) -> ops.WorktreeState | None:
        """How it stands; nothing if it is being removed just now."""
        state = await _state(seen)
        if state.is_clean is not None:
            return state
        async with self._lock(seen.worktree.session_id):
            now = await self._store.read(lambda tx: tx.worktrees.get(seen.worktree.session_id), quick=True)
        return state if now is not None and now.removed_at is None else None

    async def diff(self, caller: Caller, request: session_ops.OneSession) -> ops.Diff:
        _, found = await self.named(caller, request.id, project=request.project)
        text = await worktrees.diff(found.path, base_commit=found.base_commit)
        return ops.Diff(session_id=found.session_id, branch=found.branch, base_commit=found.base_commit, text=text)

    async def merge(self, caller: Caller, request: ops.MergeWorktree) -> ops.MergedWorktree:
        session, found = await self.named(caller, request.id, project=request.project, what="merge")
        into = request.into or found.merges_into
        if into is None:
            raise errors.Invalid("Where is it to be merged?", hint="Say --into BRANCH.")
        done = await self.bring_in(session, found, into)
        answer = ops.MergedWorktree(session_id=found.session_id, branch=found.branch, into=into, commit=None)
        if isinstance(done, worktrees.Conflicted):
            task = await self._store.write(lambda tx: conflicts.go_back(tx, session, found, done))
            texts = [f"{one.path} ({one.kind})\n{one.text}" for one in done.details]
            return msgspec.structs.replace(answer, conflicts=texts, task=task.ref)
        places = [done.checked_out_at] if done.checked_out_at else []
        return msgspec.structs.replace(answer, commit=done.commit, checked_out_at=places)

    async def bring_in(self, session: Session, found: Worktree, into: str) -> worktrees.Merged | worktrees.Conflicted:
        """Merge a session's branch: recorded if it went well."""
        done = await self._merges.merge(
            found.repository,
            branch=found.branch,
            into=into,
            message=f"Merge {found.branch} ({session.name})",
            author=worktrees.Author(session.human or "maestro", "maestro@localhost"),
            prefers_own=True,
        )

        def write(tx: Tx) -> None:
            tx.worktrees.merged(found.session_id, into=into, at=tx.at)
            conflicts.merged(tx, session, found, into)

        if isinstance(done, worktrees.Merged):
            await self._store.write(write)
        return done

    async def take_away(self, found: Worktree, *, keep_branch: bool = False) -> None:
        """Remove an ended session's worktree and branch; a Conflict says what would be lost."""
        async with self._lock(found.session_id):
            live = await self._store.read(lambda tx: tx.sessions.is_live(found.session_id), quick=True)
            if live:
                raise errors.Conflict("It was started again just now.")
            await _removed(found, keep_branch=keep_branch)
            await self._store.write(lambda tx: _note_removed(tx, found))
            RECORDS.drop(found.path)

    async def named(
        self, caller: Caller, name: str, *, project: str, what: str | None = None
    ) -> tuple[Session, Worktree]:
        """A session's worktree; `what` the caller wants to do with it, if that is not everybody's to do."""

        def look(tx: Tx) -> tuple[Session, Worktree]:
            session = kin.named(tx, caller, name, project=project)
            kin.may_hear(tx, caller, session, what="look at its worktree")
            if what is not None:
                kin.may_act_on(tx, caller, session, what=what)
            found = tx.worktrees.get(session.id)
            if found is None or found.removed_at is not None:
                raise errors.NotFound(f"{session.name} has no worktree.", hint="maestro worktree list")
            return session, found

        return await self._store.read(look, quick=True)


async def _removed(found: Worktree, *, keep_branch: bool) -> None:
    """What it was merged into counts; if that branch is gone, what is checked out."""
    into = found.merged_into or found.merges_into or "HEAD"
    try:
        await worktrees.remove(
            found.repository, path=found.path, branch=found.branch, merged_into=into, keep_branch=keep_branch
        )
    except errors.NotFound:
        if into == "HEAD" or await worktrees.tip(found.repository, into) is not None:
            raise
        await worktrees.remove(
            found.repository, path=found.path, branch=found.branch, merged_into="HEAD", keep_branch=keep_branch
        )


def _note_removed(tx: Tx, found: Worktree) -> None:
    tx.worktrees.removed(found.session_id, at=tx.at)
    tx.git_records.drop(found.path)


def _seen(tx: Tx, one: Worktree) -> _Seen:
    session = tx.sessions.route(one.session_id)
    mending = tx.tasks.get(one.conflict_task_id) if one.conflict_task_id else None
    return _Seen(one, session.name if session else "", mending is not None and mending.status not in FINAL)


async def _state(seen: _Seen) -> ops.WorktreeState:
    one = seen.worktree
    now = await _looked_at(one)
    return ops.WorktreeState(
        **msgspec.structs.asdict(one),
        session=seen.session,
        is_clean=now.is_clean if now else None,
        changed=now.changed if now else 0,
        untracked=now.untracked if now else 0,
        ahead=now.ahead if now else 0,
        size_bytes=now.size_bytes if now else 0,
        state=condition(
            is_clean=now.is_clean if now else None,
            is_elsewhere=now is not None and now.is_elsewhere,
            in_conflict=seen.in_conflict,
            ahead=now.ahead if now else 0,
            has_commits=one.merged_at is not None or (now is not None and now.head != one.base_commit),
        ),
    )


async def _looked_at(one: Worktree) -> worktrees.State | None:
    try:
        return await worktrees.state(
            one.path,
            base_commit=one.base_commit,
            branch=one.branch,
            within=one.merged_into or one.merges_into,
            repository=one.repository,
        )
    except errors.MaestroError:  # someone has taken it away
        return None
