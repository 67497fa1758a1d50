"""Projects and their checkouts as text."""

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
    return Rendered(_head(value) + _facts(value))


def project_list(value: ProjectList, view: View) -> Rendered:
    if not value.projects:
        return Rendered(notes=["no projects yet: `maestro init` in a checkout registers one"])
    called = {one.project_id: one for one in value.links}
    rows = [[line(one.name), line(one.key), one.id, _known_by(called.get(one.id))] for one in value.projects]
    return Rendered(listed(rows, ["NAME", "KEY", "ID", "KNOWN BY"], view), more(value.cursor))


def linked(value: Linked, view: View) -> Rendered:
    notes = [line(note) for note in value.notes]
    if not value.links:
        return Rendered(notes=[*notes, "no other project has a name here"])
    rows = [[line(one.name), line(one.key), line(one.source), line(one.path)] for one in value.links]
    return Rendered(listed(rows, ["NAME", "KEY", "KNOWN BY", "PATH"], view), notes)


def _known_by(link: Link | None) -> str:
    return f"{line(link.source)} as {line(link.name)}" if link else line(Source.SERVER)


def detail(value: ProjectDetail, view: View) -> Rendered:
    parts = [_head(value), _facts(value)]
    if value.workspaces:
        rows = [_workspace(one) for one in value.workspaces]
        parts.append(f"\n{paint('checkouts', 'dim')}\n" + pairs(rows, indent="  "))
    if value.tracker is not Kind.BUILTIN:
        told = line(value.tracker) + (f"; {line(value.tracker_problem)}" if value.tracker_problem else "")
        parts.append(f"\n{paint('tracker', 'dim')}\n  {told} (maestro tracker status)\n")
    for title, found in (("other projects", value.links), ("called by others", value.called)):
        if found:
            rows = [
                (f"{line(one.name)} ({line(one.of)})", f"{line(one.key)}, by {line(one.source)}") for one in found
            ]
            parts.append(f"\n{paint(title, 'dim')}\n" + pairs(rows, indent="  "))
    if value.tasks:
        parts.append(f"\n{paint('tasks', 'dim')}\n  {counts(value.tasks)}\n")
    return Rendered("".join(parts))


def place(value: Place, view: View) -> Rendered:
    where = _workspace(value.workspace)
    return Rendered(
        f"{_head(value.project)}{pairs([('key', line(value.project.key)), where], indent='  ')}",
        [line(note) for note in value.notes],
    )


def counts(tasks: dict[str, int]) -> str:
    """How many tasks stand where."""
    ready = f" ({tasks['ready']} {status_word('ready')})" if tasks.get("ready") else ""
    found = [
        f"{count} {status_word(status)}{ready if status == Status.TODO else ''}"
        for status, count in tasks.items()
        if count and status != "ready"
    ]
    return ", ".join(found) or "none"


def _head(value: Project) -> str:
    return f"{paint(line(value.name), 'bold')}\n"


def _facts(value: Project) -> str:
    return pairs(
        [
            ("key", line(value.key)),
            ("id", value.id),
            ("stages", ", ".join(map(line, value.stages))),
            ("inbound", line(value.inbound) + ("" if value.replies_reopen else "; replies reopen nothing")),
            ("sandbox", ", ".join(map(line, [value.sandbox, *value.caches]))),
            ("created", when(value.created_at)),
        ],
        indent="  ",
    )


def _workspace(value: Workspace) -> tuple[str, str]:
    return line(value.address), line(value.path)
