"""Render projects and their checkouts as text."""

from __future__ import annotations

from maestro.domain.links import LinkSource, ProjectLink
from maestro.domain.projects import Project, Workspace
from maestro.domain.tasks import TaskStatus
from maestro.domain.trackers import TrackerKind
from maestro.operations.projects import ProjectDetail, ProjectLinks, ProjectList, ProjectLocation
from maestro.surfaces.cli.render.base import Rendered, format_time, next_page_note, render_pairs, render_table
from maestro.surfaces.cli.render.style import View, paint, safe_line
from maestro.surfaces.cli.render.tasks import status_word


def render_project(value: Project, view: View) -> Rendered:
    return Rendered(_project_headline(value) + _project_facts(value))


def render_project_list(value: ProjectList, view: View) -> Rendered:
    if not value.projects:
        return Rendered(notes=["no projects yet: `maestro init` in a checkout registers a project"])
    link_by_project = {link.project_id: link for link in value.links}
    rows = [
        [safe_line(project.name), safe_line(project.key), project.id, _known_by(link_by_project.get(project.id))]
        for project in value.projects
    ]
    return Rendered(render_table(rows, ["NAME", "KEY", "ID", "KNOWN BY"], view), next_page_note(value.cursor))


def render_links(value: ProjectLinks, view: View) -> Rendered:
    notes = [safe_line(note) for note in value.notes]
    if not value.links:
        return Rendered(notes=[*notes, "this project has no names for other projects"])
    rows = [
        [safe_line(link.name), safe_line(link.key), safe_line(link.source), safe_line(link.path)]
        for link in value.links
    ]
    return Rendered(render_table(rows, ["NAME", "KEY", "KNOWN BY", "PATH"], view), notes)


def _known_by(link: ProjectLink | None) -> str:
    return f"{safe_line(link.source)} as {safe_line(link.name)}" if link else safe_line(LinkSource.SERVER)


def render_project_detail(value: ProjectDetail, view: View) -> Rendered:
    parts = [_project_headline(value), _project_facts(value)]
    if value.workspaces:
        rows = [_workspace_fact(workspace) for workspace in value.workspaces]
        parts.append(f"\n{paint('checkouts', 'dim')}\n" + render_pairs(rows, indent="  "))
    if value.tracker is not TrackerKind.BUILTIN:
        tracker = safe_line(value.tracker) + (
            f"; {safe_line(value.tracker_problem)}" if value.tracker_problem else ""
        )
        parts.append(f"\n{paint('tracker', 'dim')}\n  {tracker} (maestro tracker status)\n")
    for title, links in (("other projects", value.links), ("called by others", value.incoming_links)):
        if links:
            rows = [
                (
                    f"{safe_line(link.name)} ({safe_line(link.of)})",
                    f"{safe_line(link.key)}, by {safe_line(link.source)}",
                )
                for link in links
            ]
            parts.append(f"\n{paint(title, 'dim')}\n" + render_pairs(rows, indent="  "))
    if value.tasks:
        parts.append(f"\n{paint('tasks', 'dim')}\n  {task_counts(value.tasks)}\n")
    return Rendered("".join(parts))


def render_location(value: ProjectLocation, view: View) -> Rendered:
    workspace = _workspace_fact(value.workspace)
    return Rendered(
        _project_headline(value.project)
        + render_pairs([("key", safe_line(value.project.key)), workspace], indent="  "),
        [safe_line(note) for note in value.notes],
    )


def task_counts(tasks: dict[str, int]) -> str:
    """Return the number of tasks in each status."""
    ready = f" ({tasks['ready']} {status_word('ready')})" if tasks.get("ready") else ""
    parts = [
        f"{count} {status_word(status)}{ready if status == TaskStatus.TODO else ''}"
        for status, count in tasks.items()
        if count and status != "ready"
    ]
    return ", ".join(parts) or "none"


def _project_headline(value: Project) -> str:
    return f"{paint(safe_line(value.name), 'bold')}\n"


def _project_facts(value: Project) -> str:
    return render_pairs(
        [
            ("key", safe_line(value.key)),
            ("id", value.id),
            ("stages", ", ".join(map(safe_line, value.stages))),
            (
                "inbound",
                safe_line(value.inbound) + ("" if value.replies_reopen else "; replies do not reopen issues"),
            ),
            ("sandbox", ", ".join(map(safe_line, [value.sandbox, *value.caches]))),
            ("created", format_time(value.created_at)),
        ],
        indent="  ",
    )


def _workspace_fact(value: Workspace) -> tuple[str, str]:
    return safe_line(value.address), safe_line(value.path)
