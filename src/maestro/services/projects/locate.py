"""Find the project and workspace of a directory, and register both when the checkout is new.

The checkout is read again only when its git files or settings have changed; otherwise the answer comes from memory.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable
from pathlib import Path

import msgspec

from maestro.core import errors, ids
from maestro.domain.callers import Caller
from maestro.domain.events import EventKind, NewEvent
from maestro.domain.git_programs import GitRecord
from maestro.domain.identity import RESERVED_NAMES, ProjectIdentity, clean_name, identify_project
from maestro.domain.projects import Project, Workspace
from maestro.domain.remotes import path_in_key
from maestro.domain.tasks import DEFAULT_STAGES
from maestro.domain.workspaces import next_free_name, workspace_name
from maestro.git import git_program
from maestro.git.fingerprint import Fingerprint, take_fingerprint
from maestro.operations import projects as ops
from maestro.services.projects import checkouts, git_records
from maestro.store.base import Store, Tx
from maestro.system.small_files import read_small
from maestro.text import bounded_toml

_NO_REMOTE = (
    "This checkout has no remote, so only its path identifies its project. "
    "If the person runs `maestro init` here, its first commit identifies the project too."
)
_Seen = tuple[Fingerprint, int, int]
_Refresh = Callable[[Caller, Workspace], Awaitable[list[str]]]


class ProjectLocator:
    """Finds and registers the projects and workspaces of directories."""

    def __init__(
        self,
        store: Store,
        *,
        prefer_remote: str = "origin",
        refresh_settings: _Refresh | None = None,
        has_pending_rules: Callable[[Caller, Workspace], bool] = lambda caller, workspace: False,
    ) -> None:
        self._store = store
        self._prefer = prefer_remote
        self._has_pending_rules = has_pending_rules  # returns whether the settings must be read again for this caller
        self._refresh = refresh_settings  # applies the checkout's settings
        self._known: dict[str, tuple[_Seen, ops.ProjectLocation]] = {}

    def forget_locations(self) -> None:
        """Forget all remembered locations, because a project was changed."""
        self._known.clear()

    async def locate_directory(self, caller: Caller, request: ops.LocateProject) -> ops.ProjectLocation:
        """Return the project and workspace of a directory. A new git checkout is registered."""
        seen = _checkout_state(request.path)
        if seen is None:
            return await self._locate_without_git(request.path)
        known = self._known.get(seen[0].toplevel)
        if known is not None and known[0] == seen and not self._has_pending_rules(caller, known[1].workspace):
            return msgspec.structs.replace(known[1], notes=[])
        return await self._register(caller, request.path, seen, name=None, is_init=False)

    async def register_directory(self, caller: Caller, request: ops.InitProject) -> ops.ProjectLocation:
        """Register a directory on request: it need not be a git checkout, and its project may be given a name."""
        if request.name is not None and request.name.lower() in RESERVED_NAMES:
            raise errors.Invalid(f"{request.name!r} is a reserved word.", hint="Choose another name.")
        seen = _checkout_state(request.path)
        name = request.name.lower() if request.name else None
        return await self._register(caller, request.path, seen, name=name, is_init=True)

    async def _register(
        self, caller: Caller, path: str, seen: _Seen | None, *, name: str | None, is_init: bool
    ) -> ops.ProjectLocation:
        toplevel, identity = await self._identity(caller, path, is_init=is_init)
        # A session could have written the git settings itself, so its call accepts no program.
        present_record = git_records.record_of(toplevel, accepts_programs=not caller.is_session)

        def write(tx: Tx) -> tuple[ops.ProjectLocation, GitRecord | None]:
            location = settle_checkout(tx, caller, toplevel, identity, name=name)
            return location, git_records.put_record(tx, caller, present_record, renews=is_init)

        location, record = await self._store.write(write)
        if record is not None:
            git_records.remember_record(record)
            if identity.source == "path" and record.git_dir and not is_init:
                location = msgspec.structs.replace(location, notes=[*location.notes, _NO_REMOTE])
        if self._refresh is not None and (notes := await self._refresh(caller, location.workspace)):
            location = msgspec.structs.replace(location, notes=[*location.notes, *notes])
        if seen is not None:
            self._known[seen[0].toplevel] = (seen, location)
        return location

    async def _identity(self, caller: Caller, path: str, *, is_init: bool) -> tuple[str, ProjectIdentity]:
        by_person = is_init and not caller.is_session
        checkout = await (git_program.checkout_at(path) if by_person else checkouts.read_checkout(self._store, path))
        if checkout is None:
            real = os.path.realpath(path)
            if not Path(real).is_dir():
                raise errors.NotFound(f"{path} is not a directory.")
            key = f"path:{path_in_key(real)}"
            return real, ProjectIdentity(key, clean_name(Path(real).name), "path", key)
        preferred = await asyncio.to_thread(_preferred_remote, checkout.toplevel)
        return checkout.toplevel, identify_project(checkout, prefer=preferred or self._prefer)

    async def _locate_without_git(self, path: str) -> ops.ProjectLocation:
        """Return the nearest directory at or above the path that was registered with `init` and has no git."""
        directory = Path(os.path.realpath(path))

        def find_registered(tx: Tx) -> ops.ProjectLocation | None:
            for folder in (directory, *directory.parents):
                workspace = tx.projects.workspace_at(str(folder))
                project = tx.projects.get(workspace.project_id) if workspace else None
                if workspace and project and project.key.startswith("path:"):
                    return ops.ProjectLocation(project=project, workspace=workspace)
            return None

        registered = await self._store.read(find_registered, quick=True)
        if registered is None:
            raise errors.NotFound(
                f"{path} is not in a git checkout and not registered.",
                hint="Run `maestro init` there, or give --project NAME.",
            )
        return registered


def settle_checkout(
    tx: Tx, caller: Caller, toplevel: str, identity: ProjectIdentity, *, name: str | None
) -> ops.ProjectLocation:
    """Create or update the project and the workspace of a checkout, and return both."""
    notes: list[str] = []
    workspace = tx.projects.workspace_at(toplevel)
    project = _find_or_register(tx, caller, identity, name, notes)
    if name is not None and project.name != name:
        _require_own_project(caller, None, action="rename projects")
        project = rename_project(tx, caller, project, name)
    if workspace is None or workspace.project_id != project.id:
        _require_own_project(caller, project, action="register checkouts")
    if workspace is None:
        workspace = _create_workspace(tx, caller, project, toplevel)
    elif workspace.project_id != project.id:
        notes.append(f"{toplevel} now belongs to project {project.name}, because its remote has changed.")
        workspace = _move_workspace(tx, caller, workspace, project)
    workspace = tx.projects.get_workspace(workspace.id) or workspace
    return ops.ProjectLocation(project=project, workspace=workspace, notes=notes)


def _require_own_project(caller: Caller, project: Project | None, *, action: str) -> None:
    """Refuse a session, except where it adds a checkout to its own project. The person may do all of it."""
    if caller.is_session and (project is None or project.id != caller.project_id):
        raise errors.NotPermitted(f"A session may not {action}.", hint="Ask the person to run `maestro init` there.")


def rename_project(tx: Tx, caller: Caller, project: Project, name: str) -> Project:
    """Rename a project; refuse a name that another project has."""
    if tx.projects.by_name(name) is not None:
        raise errors.NameTaken(f"Another project is already called {name!r}.", hint="Choose another --name.")
    renamed = msgspec.structs.replace(project, name=name)
    tx.projects.update(renamed)
    data = {"name": name, "was": project.name}
    tx.log(NewEvent(EventKind.PROJECT_CHANGED, project.id, project.id, data), actor=caller.name)
    return renamed


def find_or_register_project(tx: Tx, caller: Caller, identity: ProjectIdentity, notes: list[str]) -> Project:
    """Return the project of an identity. A new project is registered, even without a checkout on this machine."""
    return _find_or_register(tx, caller, identity, None, notes)


def _find_or_register(
    tx: Tx, caller: Caller, identity: ProjectIdentity, name: str | None, notes: list[str]
) -> Project:
    project = tx.projects.by_key(identity.key)
    if project is not None:
        return project
    earlier = tx.projects.by_key(identity.path_key)
    if earlier is None and identity.source == "remote":
        earlier = _project_by_path(tx, identity)
    if earlier is not None:
        _require_own_project(caller, earlier, action="register checkouts")
        notes.append(f"The key of project {earlier.name} is now {identity.key}.")
        return _change_key(tx, caller, earlier, identity)
    _require_own_project(caller, None, action="register projects")
    chosen = name or next_free_name(identity.name, lambda taken: tx.projects.by_name(taken) is not None)
    if name is not None and tx.projects.by_name(name) is not None:
        raise errors.NameTaken(f"Another project is already called {name!r}.", hint="Choose another --name.")
    project = Project(ids.new_id("prj", tx.at), identity.key, chosen, list(DEFAULT_STAGES), tx.at)
    tx.projects.insert(project)
    data = {"name": chosen, "key": identity.key}
    tx.log(NewEvent(EventKind.PROJECT_CREATED, project.id, project.id, data), actor=caller.name)
    notes.append(f"Registered project {chosen} ({identity.key}).")
    return project


def _project_by_path(tx: Tx, identity: ProjectIdentity) -> Project | None:
    """Return the project of a repository that was registered by first commit and path, before it had a remote."""
    path = identity.path_key.removeprefix("path:")
    if not path:
        return None
    return tx.projects.by_local_path(path)


def _change_key(tx: Tx, caller: Caller, project: Project, identity: ProjectIdentity) -> Project:
    """Give the project its better key. The old key is free for another repository at the same path."""
    changed = msgspec.structs.replace(project, key=identity.key)
    tx.projects.drop_key(project.id, project.key)
    tx.projects.update(changed)
    tx.projects.add_key(project.id, identity.key)
    data = {"key": identity.key, "was": project.key}
    tx.log(NewEvent(EventKind.PROJECT_CHANGED, project.id, project.id, data), actor=caller.name)
    return changed


def _create_workspace(tx: Tx, caller: Caller, project: Project, toplevel: str) -> Workspace:
    name = _free_name(tx, project, toplevel)
    address = f"{name}/{project.name}"
    workspace = Workspace(ids.new_id("wsp", tx.at), project.id, name, address, toplevel, tx.at)
    tx.projects.insert_workspace(workspace)
    data = {"address": address, "path": toplevel}
    tx.log(NewEvent(EventKind.WORKSPACE_CREATED, workspace.id, project.id, data), actor=caller.name)
    return workspace


def _move_workspace(tx: Tx, caller: Caller, workspace: Workspace, project: Project) -> Workspace:
    name = _free_name(tx, project, workspace.path)
    tx.projects.move_workspace(workspace.id, project_id=project.id, name=name)
    data = {"address": f"{name}/{project.name}", "was": workspace.address, "path": workspace.path}
    tx.log(NewEvent(EventKind.WORKSPACE_CHANGED, workspace.id, project.id, data), actor=caller.name)
    return workspace


def _free_name(tx: Tx, project: Project, toplevel: str) -> str:
    wanted = workspace_name(toplevel, home=str(Path.home()), project=project.name)
    return next_free_name(wanted, lambda name: tx.projects.is_workspace_name_taken(project.id, name))


def _checkout_state(path: str) -> _Seen | None:
    """Return the state of git's files and of the project's settings, to which a remembered answer belongs."""
    mark = take_fingerprint(path)
    if mark is None:
        return None
    return (
        mark,
        _modified_at(f"{mark.toplevel}/.maestro/config.toml"),
        _modified_at(f"{mark.toplevel}/.maestro/local.toml"),
    )


def _modified_at(path: str) -> int:
    try:
        return os.stat(path).st_mtime_ns  # noqa: PTH116 runs with every command, and pathlib is slower
    except OSError:
        return 0


def _preferred_remote(toplevel: str) -> str | None:
    """Return `remote` of a checkout's .maestro/config.toml. With "upstream" a fork counts as the original project."""
    try:
        settings = bounded_toml.parse_toml((read_small(f"{toplevel}/.maestro/config.toml") or b"").decode())
    except (UnicodeDecodeError, bounded_toml.TomlUnreadable):
        return None
    chosen = settings.get("remote")
    return chosen if isinstance(chosen, str) else None
