"""Projects, the keys they are known by, and their workspaces."""

from __future__ import annotations

import msgspec

from maestro.core.clock import from_micros, to_micros
from maestro.domain.projects import Inbound, Project, Workspace
from maestro.domain.sandboxes import Mode
from maestro.store.rows import Row, Rows

_encode = msgspec.json.Encoder().encode
_REMEMBERED_MAX = 10_000
_strings = msgspec.json.Decoder(list[str]).decode


class Projects:
    """Projects and workspaces.

    The one writer may remember projects, since nobody else changes them; after a rollback it must forget.
    """

    def __init__(self, rows: Rows, *, remembers: bool = False) -> None:
        self._rows = rows
        self._remembers = remembers
        self._known: dict[str, Project] = {}
        self._named: dict[str, str] = {}  # ids by name

    def forget(self) -> None:
        """What is remembered may not be so any more."""
        self._known.clear()
        self._named.clear()

    def insert(self, project: Project) -> None:
        self._rows.run(
            "project_insert",
            id=project.id,
            key=project.key,
            name=project.name,
            stages=_encode(project.stages).decode(),
            created_at=to_micros(project.created_at),
        )
        self.add_key(project.id, project.key)

    def add_key(self, project_id: str, key: str) -> None:
        """Remember one more key that leads to this project."""
        self._rows.run("project_key_add", key=key, project_id=project_id)

    def drop_key(self, project_id: str, key: str) -> None:
        """Forget a key: another checkout may come to lie at that path."""
        self._rows.run("project_key_drop", key=key, project_id=project_id)

    def change(self, project: Project) -> None:
        self.forget()
        self._rows.run(
            "project_change",
            id=project.id,
            key=project.key,
            name=project.name,
            stages=_encode(project.stages).decode(),
            inbound=project.inbound.value,
            replies_reopen=project.replies_reopen,
            sandbox=project.sandbox.value,
            caches=_encode(project.caches).decode(),
        )

    def get(self, project_id: str) -> Project | None:
        known = self._known.get(project_id)
        if known is not None:
            return known
        found = _project(self._rows.one("project_get", id=project_id))
        if self._remembers and found is not None and len(self._known) < _REMEMBERED_MAX:
            self._known[project_id] = found
        return found

    def by_name(self, name: str) -> Project | None:
        known = self._named.get(name)
        if known is not None:
            return self.get(known)
        found = _project(self._rows.one("project_by_name", name=name))
        if self._remembers and found is not None and len(self._named) < _REMEMBERED_MAX:
            self._named[name] = found.id
        return found

    def by_key(self, key: str) -> Project | None:
        return _project(self._rows.one("project_by_key", key=key))

    def by_local_path(self, path: str) -> Project | None:
        """The project known by its first commit and this path, before it had a remote."""
        return _project(self._rows.one("project_by_local_path", path=path))

    def page(self, *, after: str, limit: int) -> list[Project]:
        rows = self._rows.all("project_page", after=after, limit=limit)
        return [project for row in rows if (project := _project(row))]

    def insert_workspace(self, workspace: Workspace) -> None:
        self._rows.run(
            "workspace_insert",
            id=workspace.id,
            project_id=workspace.project_id,
            name=workspace.name,
            path=workspace.path,
            created_at=to_micros(workspace.created_at),
        )

    def workspace(self, workspace_id: str) -> Workspace | None:
        return _workspace(self._rows.one("workspace_get", id=workspace_id))

    def workspace_at(self, path: str) -> Workspace | None:
        return _workspace(self._rows.one("workspace_by_path", path=path))

    def workspace_by_name(self, project_id: str, name: str) -> Workspace | None:
        return _workspace(self._rows.one("workspace_by_name", project_id=project_id, name=name))

    def workspaces(self, project_id: str, *, limit: int) -> list[Workspace]:
        rows = self._rows.all("workspaces_of_project", project_id=project_id, limit=limit)
        return [workspace for row in rows if (workspace := _workspace(row))]

    def workspace_name_taken(self, project_id: str, name: str) -> bool:
        return self._rows.one("workspace_name_taken", project_id=project_id, name=name) is not None

    def move_workspace(self, workspace_id: str, *, project_id: str, name: str) -> None:
        """A checkout whose remote changed belongs to another project."""
        self._rows.run("workspace_move", id=workspace_id, project_id=project_id, name=name)

    def accept_setup(self, workspace_id: str, command: str) -> None:
        """Record the set-up command that the person took over in a checkout; an empty text for none."""
        self._rows.run("workspace_accept_setup", id=workspace_id, setup=command)

    def setup(self, workspace_id: str) -> str:
        """Return the set-up command that the person took over in a checkout."""
        row = self._rows.one("workspace_setup", id=workspace_id)
        return row[0] if row else ""

    def accepts_setup(self, project_id: str, command: str) -> bool:
        """Tell whether the person took over a set-up command in one of the project's checkouts."""
        return self._rows.one("project_accepts_setup", project_id=project_id, setup=command) is not None


def _project(row: Row | None) -> Project | None:
    if row is None:
        return None
    project_id, key, name, stages, created_at, inbound, replies_reopen, sandbox, caches = row
    rules = (Inbound(inbound), bool(replies_reopen), Mode(sandbox), _strings(caches))
    return Project(project_id, key, name, _strings(stages), from_micros(created_at), *rules)


def _workspace(row: Row | None) -> Workspace | None:
    if row is None:
        return None
    workspace_id, project_id, name, project, path, created_at = row
    return Workspace(workspace_id, project_id, name, f"{name}/{project}", path, from_micros(created_at))
