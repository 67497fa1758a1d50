"""The repository of links: the names that a checkout gives to other projects."""

from __future__ import annotations

from maestro.core import limits
from maestro.domain.links import LinkSource, ProjectLink
from maestro.store.decoding import Decoder
from maestro.store.rows import Rows

_REMEMBERED_MAX = 10_000
_LINK = Decoder(ProjectLink)


class LinkRepository:
    """Links by checkout and project."""

    def __init__(self, rows: Rows, *, uses_cache: bool = False) -> None:
        self._rows = rows
        self._remembers = uses_cache  # only in the one writer: no other connection changes links
        # Project ids by name, workspace id and project id.
        self._found_projects: dict[tuple[str, str | None, str | None], str | None] = {}

    def clear_cache(self) -> None:
        """Clear the cache: a link was changed, or work was undone."""
        self._found_projects.clear()

    def put(self, workspace_id: str, link: ProjectLink) -> None:
        self.clear_cache()
        self._rows.execute(
            "link_put",
            workspace_id=workspace_id,
            name=link.name,
            project_id=link.project_id,
            source=link.source.value,
            remote=link.remote,
            path=link.path,
        )

    def drop(self, workspace_id: str, name: str) -> None:
        self.clear_cache()
        self._rows.execute("link_drop", workspace_id=workspace_id, name=name)

    def of_workspace(self, workspace_id: str) -> list[ProjectLink]:
        return self._fetch_links("links_of_workspace", workspace_id=workspace_id)

    def of_project(self, project_id: str) -> list[ProjectLink]:
        """Return the links from a project's checkouts to other projects."""
        return self._fetch_links("links_of_project", project_id=project_id)

    def to_project(self, project_id: str) -> list[ProjectLink]:
        """Return the links from checkouts of other projects to a project."""
        return self._fetch_links("links_to_project", project_id=project_id)

    def find_project(self, name: str, *, workspace_id: str | None, project_id: str | None) -> str | None:
        """Return the id of the project that a checkout calls `name`. Other checkouts of the project come second."""
        key = (name, workspace_id, project_id)
        if key in self._found_projects:
            return self._found_projects[key]
        values = {"name": name, "workspace_id": workspace_id, "project_id": project_id}
        found_id: str | None = self._rows.fetch_value("link_find", **values)
        if self._remembers:
            if len(self._found_projects) >= _REMEMBERED_MAX:
                self._found_projects.clear()
            self._found_projects[key] = found_id
        return found_id

    def has_link_between(self, project_id: str, other_id: str) -> bool:
        """Return whether the files of a project's checkout name another project."""
        values = {"project_id": project_id, "other_id": other_id, "beside": LinkSource.NEIGHBOUR.value}
        return self._rows.has_row("link_exists", **values)

    def _fetch_links(self, name: str, **values: object) -> list[ProjectLink]:
        return self._rows.fetch_all(name, _LINK, limit=limits.links_max, **values)
