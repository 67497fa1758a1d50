"""From a directory to its project and workspace, registered on the way.

git is asked only when something about the checkout may have changed; otherwise the answer comes from memory.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable
from pathlib import Path

import msgspec

from maestro.core import errors, ids
from maestro.domain.callers import Caller
from maestro.domain.events import Change, Kind
from maestro.domain.git_programs import GitRecord
from maestro.domain.identity import RESERVED, Identity, clean_name, identify
from maestro.domain.projects import Project, Workspace
from maestro.domain.remotes import path_in_key
from maestro.domain.tasks import DEFAULT_STAGES
from maestro.domain.workspaces import next_free, workspace_name
from maestro.git import git_program
from maestro.git.fingerprint import Fingerprint, fingerprint
from maestro.operations import projects as ops
from maestro.services.projects import checkouts, git_records
from maestro.store.base import Store, Tx
from maestro.system.small_files import read_small
from maestro.text import bounded_toml

_NO_REMOTE = (
    "This checkout has no remote: only its path names its project. The person's `maestro init` here mends that."
)
_Seen = tuple[Fingerprint, int, int]
_Refresh = Callable[[Caller, Workspace], Awaitable[list[str]]]


class Places:
    """Directories, projects and workspaces."""

    def __init__(
        self,
        store: Store,
        *,
        prefer_remote: str = "origin",
        refresh: _Refresh | None = None,
        owes: Callable[[Caller, Workspace], bool] = lambda caller, workspace: False,
    ) -> None:
        self._store = store
        self._prefer = prefer_remote
        self._owes = owes  # whether the settings must be read again for this caller
        self._refresh = refresh  # takes over what the checkout's settings say
        self._known: dict[str, tuple[_Seen, ops.Place]] = {}

    def forget(self) -> None:
        """A project was changed: what is remembered may be old."""
        self._known.clear()

    async def locate(self, caller: Caller, request: ops.LocateProject) -> ops.Place:
        """Where a directory belongs. A git checkout is registered when it is first seen."""
        seen = _look(request.path)
        if seen is None:
            return await self._plain(request.path)
        known = self._known.get(seen[0].toplevel)
        if known is not None and known[0] == seen and not self._owes(caller, known[1].workspace):
            return msgspec.structs.replace(known[1], notes=[])
        return await self._register(caller, request.path, seen, name=None, is_init=False)

    async def init(self, caller: Caller, request: ops.InitProject) -> ops.Place:
        """Register a directory by intent: also one that is not a git checkout, also under a name."""
        if request.name is not None and request.name.lower() in RESERVED:
            raise errors.Invalid(f"{request.name!r} is a reserved word.", hint="Choose another name.")
        seen = _look(request.path)
        name = request.name.lower() if request.name else None
        return await self._register(caller, request.path, seen, name=name, is_init=True)

    async def _register(
        self, caller: Caller, path: str, seen: _Seen | None, *, name: str | None, is_init: bool
    ) -> ops.Place:
        toplevel, identity = await self._identity(caller, path, is_init=is_init)
        # A session could have written the settings itself: it accepts no program.
        seen_now = git_records.record_of(toplevel, accepts=not caller.is_session)

        def write(tx: Tx) -> tuple[ops.Place, GitRecord | None]:
            place = settle(tx, caller, toplevel, identity, name=name)
            return place, git_records.put_record(tx, caller, seen_now, renews=is_init)

        place, record = await self._store.write(write)
        if record is not None:
            git_records.remember(record)
            if identity.source == "path" and record.git_dir and not is_init:
                place = msgspec.structs.replace(place, notes=[*place.notes, _NO_REMOTE])
        if self._refresh is not None and (wrong := await self._refresh(caller, place.workspace)):
            place = msgspec.structs.replace(place, notes=[*place.notes, *wrong])
        if seen is not None:
            self._known[seen[0].toplevel] = (seen, place)
        return place

    async def _identity(self, caller: Caller, path: str, *, is_init: bool) -> tuple[str, Identity]:
        by_person = is_init and not caller.is_session
        checkout = await (git_program.checkout_at(path) if by_person else checkouts.read_checkout(self._store, path))
        if checkout is None:
            real = os.path.realpath(path)
            if not Path(real).is_dir():
                raise errors.NotFound(f"{path} is not a directory.")
            key = f"path:{path_in_key(real)}"
            return real, Identity(key, clean_name(Path(real).name), "path", key)
        preferred = await asyncio.to_thread(_preferred, checkout.toplevel)
        return checkout.toplevel, identify(checkout, prefer=preferred or self._prefer)

    async def _plain(self, path: str) -> ops.Place:
        """A directory without git belongs to the nearest one upwards that was registered by hand."""
        here = Path(os.path.realpath(path))

        def find(tx: Tx) -> ops.Place | None:
            for folder in (here, *here.parents):
                workspace = tx.projects.workspace_at(str(folder))
                project = tx.projects.get(workspace.project_id) if workspace else None
                if workspace and project and project.key.startswith("path:"):
                    return ops.Place(project=project, workspace=workspace)
            return None

        found = await self._store.read(find, quick=True)
        if found is None:
            raise errors.NotFound(
                f"{path} is not in a git checkout and not registered.",
                hint="Run `maestro init` there, or say --project NAME.",
            )
        return found


def settle(tx: Tx, caller: Caller, toplevel: str, identity: Identity, *, name: str | None) -> ops.Place:
    """The project and workspace of a checkout, made or brought up to date."""
    notes: list[str] = []
    workspace = tx.projects.workspace_at(toplevel)
    project = _project(tx, caller, identity, name, notes)
    if name is not None and project.name != name:
        _only_for_its_own(caller, None, what="rename projects")
        project = rename(tx, caller, project, name)
    if workspace is None or workspace.project_id != project.id:
        _only_for_its_own(caller, project, what="register checkouts")
    if workspace is None:
        workspace = _new_workspace(tx, caller, project, toplevel)
    elif workspace.project_id != project.id:
        notes.append(f"{toplevel} belongs to project {project.name} now: its remote changed.")
        workspace = _moved_workspace(tx, caller, workspace, project)
    workspace = tx.projects.workspace(workspace.id) or workspace
    return ops.Place(project=project, workspace=workspace, notes=notes)


def _only_for_its_own(caller: Caller, project: Project | None, *, what: str) -> None:
    """The person registers and renames; a session may add checkouts of its own project."""
    if caller.is_session and (project is None or project.id != caller.project_id):
        raise errors.NotPermitted(f"A session may not {what}.", hint="Ask the person to run `maestro init` there.")


def rename(tx: Tx, caller: Caller, project: Project, name: str) -> Project:
    """Give a project another name, unless another has it."""
    if tx.projects.by_name(name) is not None:
        raise errors.NameTaken(f"Another project is called {name!r} already.", hint="Choose another --name.")
    renamed = msgspec.structs.replace(project, name=name)
    tx.projects.change(renamed)
    data = {"name": name, "was": project.name}
    tx.log(Change(Kind.PROJECT_CHANGED, project.id, project.id, data), actor=caller.name)
    return renamed


def found_project(tx: Tx, caller: Caller, identity: Identity, notes: list[str]) -> Project:
    """The project of an identity, registered if it is new: also one that has no checkout here."""
    return _project(tx, caller, identity, None, notes)


def _project(tx: Tx, caller: Caller, identity: Identity, name: str | None, notes: list[str]) -> Project:
    found = tx.projects.by_key(identity.key)
    if found is not None:
        return found
    before = tx.projects.by_key(identity.path_key)
    if before is None and identity.source == "remote":
        before = _by_root(tx, identity)
    if before is not None:
        _only_for_its_own(caller, before, what="register checkouts")
        notes.append(f"Project {before.name} is known as {identity.key} now.")
        return _rekeyed(tx, caller, before, identity)
    _only_for_its_own(caller, None, what="register projects")
    chosen = name or next_free(identity.name, lambda taken: tx.projects.by_name(taken) is not None)
    if name is not None and tx.projects.by_name(name) is not None:
        raise errors.NameTaken(f"Another project is called {name!r} already.", hint="Choose another --name.")
    project = Project(ids.new("prj", tx.at), identity.key, chosen, list(DEFAULT_STAGES), tx.at)
    tx.projects.insert(project)
    data = {"name": chosen, "key": identity.key}
    tx.log(Change(Kind.PROJECT_CREATED, project.id, project.id, data), actor=caller.name)
    notes.append(f"Registered project {chosen} ({identity.key}).")
    return project


def _by_root(tx: Tx, identity: Identity) -> Project | None:
    """A repository that was registered by its first commit and its path, before it had a remote."""
    path = identity.path_key.removeprefix("path:")
    if not path:
        return None
    return tx.projects.by_local_path(path)


def _rekeyed(tx: Tx, caller: Caller, project: Project, identity: Identity) -> Project:
    """The same project under a better key; the old one is free for whatever comes to lie at that path."""
    changed = msgspec.structs.replace(project, key=identity.key)
    tx.projects.drop_key(project.id, project.key)
    tx.projects.change(changed)
    tx.projects.add_key(project.id, identity.key)
    data = {"key": identity.key, "was": project.key}
    tx.log(Change(Kind.PROJECT_CHANGED, project.id, project.id, data), actor=caller.name)
    return changed


def _new_workspace(tx: Tx, caller: Caller, project: Project, toplevel: str) -> Workspace:
    name = _free_name(tx, project, toplevel)
    address = f"{name}/{project.name}"
    workspace = Workspace(ids.new("wsp", tx.at), project.id, name, address, toplevel, tx.at)
    tx.projects.insert_workspace(workspace)
    data = {"address": address, "path": toplevel}
    tx.log(Change(Kind.WORKSPACE_CREATED, workspace.id, project.id, data), actor=caller.name)
    return workspace


def _moved_workspace(tx: Tx, caller: Caller, workspace: Workspace, project: Project) -> Workspace:
    name = _free_name(tx, project, workspace.path)
    tx.projects.move_workspace(workspace.id, project_id=project.id, name=name)
    data = {"address": f"{name}/{project.name}", "was": workspace.address, "path": workspace.path}
    tx.log(Change(Kind.WORKSPACE_CHANGED, workspace.id, project.id, data), actor=caller.name)
    return workspace


def _free_name(tx: Tx, project: Project, toplevel: str) -> str:
    wanted = workspace_name(toplevel, home=str(Path.home()), project=project.name)
    return next_free(wanted, lambda name: tx.projects.workspace_name_taken(project.id, name))


def _look(path: str) -> _Seen | None:
    """What the cache is checked against: git's files, and the project's own settings."""
    mark = fingerprint(path)
    if mark is None:
        return None
    return (
        mark,
        _changed_at(f"{mark.toplevel}/.maestro/config.toml"),
        _changed_at(f"{mark.toplevel}/.maestro/local.toml"),
    )


def _changed_at(path: str) -> int:
    try:
        return os.stat(path).st_mtime_ns  # noqa: PTH116 with every command
    except OSError:
        return 0


def _preferred(toplevel: str) -> str | None:
    """`remote = "upstream"` in a checkout's .maestro/config.toml: a fork that counts as its origin's project."""
    try:
        settings = bounded_toml.parse((read_small(f"{toplevel}/.maestro/config.toml") or b"").decode())
    except (UnicodeDecodeError, bounded_toml.Unreadable):
        return None
    chosen = settings.get("remote")
    return chosen if isinstance(chosen, str) else None
