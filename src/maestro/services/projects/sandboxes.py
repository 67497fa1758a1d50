"""Read the sandbox in which a project's gates and set-up commands run."""

from __future__ import annotations

from pathlib import Path

from maestro.domain.sandboxes import Sandbox
from maestro.store.base import Store


class ProjectSandboxes:
    """The sandboxes of projects, as the person has configured them."""

    def __init__(self, store: Store, data_directory: Path) -> None:
        self._store = store
        self._data_directory = str(data_directory.absolute())

    async def of_project(self, project_id: str) -> Sandbox:
        """Return the present sandbox of a project."""
        project = await self._store.read(lambda tx: tx.projects.get(project_id), quick=True)
        if project is None:
            return Sandbox(data_directory=self._data_directory)
        return Sandbox(mode=project.sandbox, caches=tuple(project.caches), data_directory=self._data_directory)
