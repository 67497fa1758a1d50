"""Render projects and their checkouts as text."""

from __future__ import annotations

from maestro.domain.links import Link, Source
from maestro.domain.projects import Project, Workspace
from maestro.domain.tasks import Status
from maestro.domain.trackers import Kind
from maestro.operations.projects import Linked, Place, ProjectDetail, ProjectList
from maestro.surfaces.cli.render.base import Rendered, listed, more, pairs, when
from maestro.surfaces.cli.render.style import View, line, paint
from maestro.surfaces.cli.render.tasks import status_word


def project(value: Project, view: View) -> Rendered:
    return Rendered(_project_headline(value) + _project_facts(value))


def project_list(value: ProjectList, view: View) -> Rendered:
    if not value.projects:
        return Rendered(notes=["no projects yet: `maestro init` in a checkout registers a project"])
    link_by_project = {link.project_id: link for link in value.links}
    rows = [
        [line(project.name), line(project.key), project.id, _known_by(link_by_project.get(project.id))]
        for project in value.projects
    ]
    return Rendered(listed(rows, ["NAME", "KEY", "ID", "KNOWN BY"], view), more(value.cursor))


def linked(value: Linked, view: View) -> Rendered:
    notes = [line(note) for note in value.notes]
    if not value.links:
        return Rendered(notes=[*notes, "this project has no names for other projects"])
    rows = [[line(link.name), line(link.key), line(link.source), line(link.path)] for link in value.links]
    return Rendered(listed(rows, ["NAME", "KEY", "KNOWN BY", "PATH"], view), notes)


def _known_by(link: Link | None) -> str:
    return f"{line(link.source)} as {line(link.name)}" if link else line(Source.SERVER)


def detail(value: ProjectDetail, view: View) -> Rendered:
    parts = [_project_headline(value), _project_facts(value)]
    if value.workspaces:
        rows = [_workspace_fact(workspace) for workspace in value.workspaces]
        parts.append(f"\n{paint('checkouts', 'dim')}\n" + pairs(rows, indent="  "))
    if value.tracker is not Kind.BUILTIN:
        tracker = line(value.tracker) + (f"; {line(value.tracker_problem)}" if value.tracker_problem else "")
        parts.append(f"\n{paint('tracker', 'dim')}\n  {tracker} (maestro tracker status)\n")
    for title, links in (("other projects", value.links), ("called by others", value.called)):
        if links:
            rows = [
                (f"{line(link.name)} ({line(link.of)})", f"{line(link.key)}, by {line(link.source)}")
                for link in links
            ]
            parts.append(f"\n{paint(title, 'dim')}\n" + pairs(rows, indent="  "))
    if value.tasks:
        parts.append(f"\n{paint('tasks', 'dim')}\n  {counts(value.tasks)}\n")
    return Rendered("".join(parts))


def place(value: Place, view: View) -> Rendered:
    workspace = _workspace_fact(value.workspace)
    return Rendered(
        f"{_project_headline(value.project)}{pairs([('key', line(value.project.key)), workspace], indent='  ')}",
        [line(note) for note in value.notes],
    )


def counts(tasks: dict[str, int]) -> str:
    """Return the number of tasks in each status."""
    ready = f" ({tasks['ready']} {status_word('ready')})" if tasks.get("ready") else ""
    parts = [
        f"{count} {status_word(status)}{ready if status == Status.TODO else ''}"
        for status, count in tasks.items()
        if count and status != "ready"
    ]
    return ", ".join(parts) or "none"


def _project_headline(value: Project) -> str:
    return f"{paint(line(value.name), 'bold')}\n"


def _project_facts(value: Project) -> str:
    return pairs(
        [
            ("key", line(value.key)),
            ("id", value.id),
            ("stages", ", ".join(map(line, value.stages))),
            ("inbound", line(value.inbound) + ("" if value.replies_reopen else "; replies do not reopen issues")),
            ("sandbox", ", ".join(map(line, [value.sandbox, *value.caches]))),
            ("created", when(value.created_at)),
        ],
        indent="  ",
    )


def _workspace_fact(value: Workspace) -> tuple[str, str]:
    return line(value.address), line(value.path)
