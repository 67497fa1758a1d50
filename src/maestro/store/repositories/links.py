"""What other projects are called in each checkout."""

from __future__ import annotations

from maestro.core import limits
from maestro.domain.links import Link, Source
from maestro.store.rows import Row, Rows

_REMEMBERED_MAX = 10_000


class Links:
    """Names of projects, by checkout."""

    def __init__(self, rows: Rows, *, remembers: bool = False) -> None:
        self._rows = rows
        self._remembers = remembers  # the one writer: nobody else changes them
        self._meant: dict[tuple[str, str | None, str | None], str | None] = {}

    def forget(self) -> None:
        """What is remembered may not be so any more."""
        self._meant.clear()

    def put(self, workspace_id: str, link: Link) -> None:
        self.forget()
        self._rows.run(
            "link_put",
            workspace_id=workspace_id,
            name=link.name,
            project_id=link.project_id,
            source=link.source.value,
            remote=link.remote,
            path=link.path,
        )

    def drop(self, workspace_id: str, name: str) -> None:
        self.forget()
        self._rows.run("link_drop", workspace_id=workspace_id, name=name)

    def of_workspace(self, workspace_id: str) -> list[Link]:
        return self._links("links_of_workspace", workspace_id=workspace_id)

    def of_project(self, project_id: str) -> list[Link]:
        """What the checkouts of a project call others."""
        return self._links("links_of_project", project_id=project_id)

    def to_project(self, project_id: str) -> list[Link]:
        """Who calls a project what."""
        return self._links("links_to_project", project_id=project_id)

    def find(self, name: str, *, workspace_id: str | None, project_id: str | None) -> str | None:
        """The project that a name means in a checkout; failing that, in any checkout of its project."""
        place = (name, workspace_id, project_id)
        if place in self._meant:
            return self._meant[place]
        row = self._rows.one("link_find", name=name, workspace_id=workspace_id, project_id=project_id)
        found = row[0] if row else None
        if self._remembers:
            if len(self._meant) >= _REMEMBERED_MAX:
                self._meant.clear()
            self._meant[place] = found
        return found

    def knows(self, project_id: str, other_id: str) -> bool:
        """Whether a checkout of a project names another one in its own files."""
        found = self._rows.one("link_exists", project_id=project_id, other_id=other_id, beside=Source.BESIDE.value)
        return found is not None

    def _links(self, name: str, **values: object) -> list[Link]:
        return [_link(row) for row in self._rows.all(name, limit=limits.links_max, **values)]


def _link(row: Row) -> Link:
    return Link(
        name=row[0],
        project_id=row[1],
        project=row[2],
        key=row[3],
        source=Source(row[4]),
        remote=row[5],
        path=row[6],
        of=f"{row[7]}/{row[8]}",
    )
