"""The repository of projects, of the keys that lead to a project, and of workspaces."""

from __future__ import annotations

import msgspec

from maestro.core.clock import to_micros
from maestro.domain.projects import Project, Workspace
from maestro.store.decoding import Decoder
from maestro.store.rows import Rows

_encode = msgspec.json.Encoder().encode
_PROJECT = Decoder(Project)
_WORKSPACE = Decoder(Workspace)
_REMEMBERED_MAX = 10_000


class ProjectRepository:
    """Projects by id, name and key, and workspaces by id, name and path.

    The one writer may cache projects, because no other connection changes them. A rollback clears the cache.
    """

    def __init__(self, rows: Rows, *, uses_cache: bool = False) -> None:
        self._rows = rows
        self._remembers = uses_cache
        self._cached_projects: dict[str, Project] = {}
        self._cached_ids: dict[str, str] = {}  # ids by name

    def clear_cache(self) -> None:
        """Clear the cache: a project was changed, or work was undone."""
        self._cached_projects.clear()
        self._cached_ids.clear()

    def insert(self, project: Project) -> None:
        self._rows.execute(
            "project_insert",
            id=project.id,
            key=project.key,
            name=project.name,
            stages=_encode(project.stages).decode(),
            created_at=to_micros(project.created_at),
        )
        self.add_key(project.id, project.key)

    def add_key(self, project_id: str, key: str) -> None:
        """Add a key that leads to a project."""
        self._rows.execute("project_key_add", key=key, project_id=project_id)

    def drop_key(self, project_id: str, key: str) -> None:
        """Delete a key: the path in the key may later belong to another checkout."""
        self._rows.execute("project_key_drop", key=key, project_id=project_id)

    def update(self, project: Project) -> None:
        self.clear_cache()
        self._rows.execute(
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
        cached = self._cached_projects.get(project_id)
        if cached is not None:
            return cached
        project = self._rows.fetch_first("project_get", _PROJECT, id=project_id)
        if self._remembers and project is not None and len(self._cached_projects) < _REMEMBERED_MAX:
            self._cached_projects[project_id] = project
        return project

    def by_name(self, name: str) -> Project | None:
        cached_id = self._cached_ids.get(name)
        if cached_id is not None:
            return self.get(cached_id)
        project = self._rows.fetch_first("project_by_name", _PROJECT, name=name)
        if self._remembers and project is not None and len(self._cached_ids) < _REMEMBERED_MAX:
            self._cached_ids[name] = project.id
        return project

    def by_key(self, key: str) -> Project | None:
        return self._rows.fetch_first("project_by_key", _PROJECT, key=key)

    def by_local_path(self, path: str) -> Project | None:
        """Return the project with a key of first commit and path: a repository without a remote has such a key."""
        return self._rows.fetch_first("project_by_local_path", _PROJECT, path=path)

    def list_page(self, *, after: str, limit: int) -> list[Project]:
        return self._rows.fetch_all("project_page", _PROJECT, after=after, limit=limit)

    def insert_workspace(self, workspace: Workspace) -> None:
        self._rows.execute(
            "workspace_insert",
            id=workspace.id,
            project_id=workspace.project_id,
            name=workspace.name,
            path=workspace.path,
            created_at=to_micros(workspace.created_at),
        )

    def get_workspace(self, workspace_id: str) -> Workspace | None:
        return self._rows.fetch_first("workspace_get", _WORKSPACE, id=workspace_id)

    def workspace_at(self, path: str) -> Workspace | None:
        return self._rows.fetch_first("workspace_by_path", _WORKSPACE, path=path)

    def workspace_by_name(self, project_id: str, name: str) -> Workspace | None:
        return self._rows.fetch_first("workspace_by_name", _WORKSPACE, project_id=project_id, name=name)

    def workspaces_of(self, project_id: str, *, limit: int) -> list[Workspace]:
        return self._rows.fetch_all("workspaces_of_project", _WORKSPACE, project_id=project_id, limit=limit)

    def is_workspace_name_taken(self, project_id: str, name: str) -> bool:
        return self._rows.has_row("workspace_name_taken", project_id=project_id, name=name)

    def move_workspace(self, workspace_id: str, *, project_id: str, name: str) -> None:
        """Assign a workspace to another project: the remote of its checkout has changed."""
        self._rows.execute("workspace_move", id=workspace_id, project_id=project_id, name=name)

    def accept_setup(self, workspace_id: str, command: str) -> None:
        """Record the set-up command that the person accepted for a checkout; an empty text for none."""
        self._rows.execute("workspace_accept_setup", id=workspace_id, setup=command)

    def accepted_setup(self, workspace_id: str) -> str:
        """Return the set-up command that the person accepted for a checkout; an empty text for none."""
        return self._rows.fetch_value("workspace_setup", id=workspace_id) or ""

    def accepts_setup(self, project_id: str, command: str) -> bool:
        """Return whether the person accepted a set-up command for a checkout of the project."""
        return self._rows.has_row("project_accepts_setup", project_id=project_id, setup=command)
