"""Render tasks as text: tables, the tree, one task in full, and a task after a move."""

from __future__ import annotations

from collections.abc import Sequence

from maestro.domain.tasks import Priority, Status, Task
from maestro.operations import task_shapes as ops
from maestro.surfaces.cli.render import documents, usage
from maestro.surfaces.cli.render.base import Rendered, more, pairs, when
from maestro.surfaces.cli.render.style import View, aligned, clip, indented, line, paint, width

_COLORS: dict[str, str] = {
    "ready": "cyan",
    Status.IN_PROGRESS: "blue",
    Status.IN_REVIEW: "yellow",
    Status.COMPLETED: "green",
    Status.FAILED: "red",
    Status.BLOCKED: "red",
    Status.CANCELLED: "dim",
}
_PRIORITY_COLORS = {Priority.CRITICAL: "red", Priority.HIGH: "yellow", Priority.LOW: "dim"}
_HEAD = ("REF", "STATUS", "PRIO", "TITLE")
_TITLE_COLUMNS_MIN = 16


def status(task: Task) -> str:
    """Return the status word; `ready` for a task that can be started."""
    return status_word("ready" if task.ready else task.status)


def status_word(word: str) -> str:
    return paint(line(word), _COLORS.get(word, ""))


def table(tasks: Sequence[Task], view: View, *, notes: Sequence[str] | None = None, head: bool = True) -> str:
    """Return one line for each task."""
    notes_of_tasks = notes if notes is not None else [standing(task) for task in tasks]
    rows = [
        [line(task.ref), status(task), paint(task.priority, _PRIORITY_COLORS.get(task.priority, "")), ""]
        for task in tasks
    ]
    heading = [[paint(title, "dim") for title in _HEAD]] if view.tty and head and tasks else []
    columns = view.width and max(view.width - _columns_before_titles([*heading, *rows]), 1)
    for row, task, note in zip(rows, tasks, notes_of_tasks, strict=True):
        row[3] = titled(task.title, note, columns=columns)
    return aligned([*heading, *rows])


def _columns_before_titles(rows: list[list[str]]) -> int:
    return sum(max((width(row[column]) for row in rows), default=0) + 2 for column in range(3))


def titled(title: str, note: str, *, columns: int) -> str:
    """Return a title with a note behind it. If both do not fit, clip the title, but not below a minimum."""
    title = line(title)
    ending = f"  ({note})" if note else ""
    if columns:
        title = clip(title, max(columns - width(ending), _TITLE_COLUMNS_MIN))
    return title + paint(ending, "dim")


def standing(task: Task) -> str:
    """Return the holder of a task, by name if known, and the reason why the task waits."""
    parts = []
    if task.holder:
        parts.append(f"held by {line(task.holder_name or task.holder)}")
    if task.status is Status.TODO and task.open_blockers:
        parts.append(f"waits on {task.open_blockers} task{'s' if task.open_blockers > 1 else ''}")
    if task.status is Status.TODO and task.stage_held:
        parts.append(f"waits for the stage before {line(task.stage or '')}")
    if task.reason and task.status in (Status.BLOCKED, Status.FAILED, Status.CANCELLED):
        parts.append(line(task.reason))
    if task.archived:
        parts.append("archived")
    return ", ".join(parts)


def task_list(value: ops.TaskList, view: View) -> Rendered:
    notes = more(value.cursor) if value.tasks else ["no tasks"]
    return Rendered(table(value.tasks, view), notes)


def waiting_tasks(value: ops.WaitingTasks, view: View) -> Rendered:
    if not value.tasks:
        return Rendered(notes=["no task is blocked"])
    return Rendered(
        table(value.tasks, view, notes=[_waiting_reason(task) for task in value.tasks]), more(value.cursor)
    )


def waited_tasks(value: ops.WaitedTasks, view: View) -> Rendered:
    notes = [] if value.reached else ["the wait ended without the wanted status"]
    return Rendered(table(value.tasks, view), notes)


def moved(value: ops.MovedTask, view: View) -> Rendered:
    notes = [f"warning: {line(warning)}" for warning in value.warnings]
    return Rendered(one_line(value) + _unblocked_line([ref for ref in value.unblocked if ref != value.ref]), notes)


def reported(value: ops.ReportedTask, view: View) -> Rendered:
    rendered = moved(value, view)
    return Rendered(rendered.out, [f"reported {value.report.kind} ({value.report.id})", *rendered.notes])


def task(value: Task, view: View) -> Rendered:
    return Rendered(one_line(value))


def deleted(value: ops.Deleted, view: View) -> Rendered:
    return Rendered(f"{line(value.ref)} deleted\n")


def one_line(value: Task) -> str:
    """Render a task on one line, after a change."""
    parts = [f"claim {value.fence}"] if value.holder else []
    if value.lease_until:
        parts.append(f"lease until {when(value.lease_until)}")
    if not value.holder and (state := standing(value)):
        parts.append(state)
    ending = f"  ({', '.join(parts)})" if parts else ""
    return f"{line(value.ref)} {status(value)}  {line(value.title)}{paint(ending, 'dim')}\n"


def tree(value: ops.TaskTree, view: View) -> Rendered:
    """Render tasks below their parents. The tasks come depth first."""
    if not value.tasks:
        return Rendered(notes=["no tasks"])
    completed = {node.ref for node in value.tasks if node.status is Status.COMPLETED}
    lines = [
        f"{branch}{line(node.ref)} {status(node)}  {line(node.title)}{_dependency_note(node, completed)}\n"
        for node, branch in zip(value.tasks, _branch_prefixes([node.depth for node in value.tasks]), strict=True)
    ]
    return Rendered("".join(lines), ["the tree is cut: it has more tasks"] if value.truncated else [])


def detail(value: ops.TaskDetail, view: View) -> Rendered:
    """Render a task in full, with links, evidence, reports and documents."""
    parts = [f"{paint(line(value.ref), 'bold')}  {paint(line(value.title), 'bold')}\n", _task_facts(value)]
    if value.description:
        parts.append(f"\n{indented(value.description)}\n")
    parts += [_bullet_section("accepted when", value.accept), _bullet_section("gates", value.gates)]
    for name, links in (
        ("waits on", [link for link in value.blockers if link not in value.dependencies]),
        ("depends on", value.dependencies),
        ("needed by", value.dependants),
        ("children", value.children),
        ("discovered", value.found),
    ):
        parts.append(_link_section(name, links))
    parts += [documents.evidence(value.evidence), documents.reports(value.reports)]
    parts.append(documents.attached(value.documents, view))
    return Rendered("".join(parts))


def _task_facts(value: ops.TaskDetail) -> str:
    claim = f"{line(value.holder_name or value.holder)} (claim {value.fence})" if value.holder else None
    return pairs(
        [
            ("status", status(value)),
            ("waits", _blocking_facts(value)),
            ("reason", line(value.reason)),
            ("priority", value.priority),
            ("id", value.id),
            ("stage", line(value.stage or "")),
            ("held by", claim),
            ("lease until", when(value.lease_until)),
            ("member", line(value.member or "")),
            ("parent", value.parent_id),
            ("found in", f"{line(value.origin.ref)}  {line(value.origin.title)}" if value.origin else None),
            ("archived", "yes" if value.archived else None),
            ("created", f"{when(value.created_at)} by {line(value.created_by)}"),
            ("started", when(value.started_at)),
            ("finished", when(value.finished_at)),
            ("updated", when(value.updated_at)),
            ("used", usage.taken(value.usage)),
        ],
        indent="  ",
    )


def _waiting_reason(task: ops.WaitingTask) -> str:
    """Return why a task cannot be started."""
    parts = [f"waits {waiting}"] if (waiting := _blocking_facts(task)) else []
    if task.status is Status.BLOCKED and task.reason:
        parts.append(line(task.reason))
    return "; ".join(parts) or standing(task)


def _blocking_facts(task: ops.WaitingTask) -> str:
    parts = [f"for stage {line(task.waits_for_stage)}"] if task.waits_for_stage else []
    if task.blockers:
        hidden = task.open_blockers - len(task.blockers)
        refs = [f"{_short_ref(link.ref, task.ref)} {link.status}" for link in task.blockers]
        parts.append("on " + ", ".join(refs) + (f" and {hidden} more" if hidden > 0 else ""))
    return ", ".join(parts)


def _dependency_note(node: ops.TaskNode, completed: set[str]) -> str:
    """Return the dependencies of a task in the tree; only the open ones while the task waits."""
    refs = node.depends_on
    if is_waiting := node.open_blockers > 0:
        refs = [ref for ref in refs if ref not in completed]
    if not refs:
        return ""
    shown = ",".join(_short_ref(ref, node.ref) for ref in refs)
    return paint(f"  ({'waits on' if is_waiting else 'after'} {shown})", "dim")


def _short_ref(ref: str, neighbour: str) -> str:
    """Return `#2` beside a task of the same project, `vc#2` beside a task of another project."""
    project = neighbour.partition("#")[0]
    return line(ref.removeprefix(project) if ref.startswith(f"{project}#") else ref)


def _branch_prefixes(depths: list[int]) -> list[str]:
    """Return the branch lines before each node. Works from the last node up: lower nodes tell if a branch goes on."""
    goes_on: dict[int, bool] = {}
    prefixes = []
    for depth in reversed(depths):
        branch = "├─ " if goes_on.get(depth) else "└─ "
        bars = "".join("│  " if goes_on.get(above) else "   " for above in range(1, depth))
        prefixes.append(bars + branch if depth else "")
        goes_on = {level: on for level, on in goes_on.items() if level < depth}
        goes_on[depth] = True
    return prefixes[::-1]


def _unblocked_line(refs: list[str]) -> str:
    return f"unblocked: {', '.join(map(line, refs))}\n" if refs else ""


def _bullet_section(name: str, items: list[str]) -> str:
    if not items:
        return ""
    return f"\n{paint(name, 'dim')}\n" + "".join(f"  - {indented(item, '    ').strip()}\n" for item in items)


def _link_section(name: str, links: list[ops.TaskLink]) -> str:
    if not links:
        return ""
    rows = [[line(link.ref), status_word(link.status), line(link.title)] for link in links]
    return f"\n{paint(name, 'dim')}\n" + aligned(rows, indent="  ")
