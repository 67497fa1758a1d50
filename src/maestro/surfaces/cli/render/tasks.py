"""Render tasks as text: tables, the tree, one task in full, and a task after a move."""

from __future__ import annotations

from collections.abc import Sequence

from maestro.domain.tasks import Task, TaskStatus
from maestro.operations import task_shapes as ops
from maestro.surfaces.cli.render import documents, usage
from maestro.surfaces.cli.render.base import Rendered, format_time, next_page_note, priority_word, render_pairs
from maestro.surfaces.cli.render.style import View, align_rows, clip_text, indent_text, paint, safe_line, text_width

_COLORS: dict[str, str] = {
    "ready": "cyan",
    TaskStatus.IN_PROGRESS: "blue",
    TaskStatus.IN_REVIEW: "yellow",
    TaskStatus.COMPLETED: "green",
    TaskStatus.FAILED: "red",
    TaskStatus.BLOCKED: "red",
    TaskStatus.CANCELLED: "dim",
}
_HEAD = ("REF", "STATUS", "PRIO", "TITLE")
_TITLE_COLUMNS_MIN = 16


def status_text(task: Task) -> str:
    """Return the status word; `ready` for a task that can be started."""
    return status_word("ready" if task.ready else task.status)


def status_word(status: str) -> str:
    return paint(safe_line(status), _COLORS.get(status, ""))


def task_table(tasks: Sequence[Task], view: View, *, notes: Sequence[str] | None = None, head: bool = True) -> str:
    """Return one line for each task."""
    notes_of_tasks = notes if notes is not None else [holder_note(task) for task in tasks]
    rows = [[safe_line(task.ref), status_text(task), priority_word(task.priority), ""] for task in tasks]
    heading = [[paint(title, "dim") for title in _HEAD]] if view.tty and head and tasks else []
    columns = view.width and max(view.width - _columns_before_titles([*heading, *rows]), 1)
    for row, task, note in zip(rows, tasks, notes_of_tasks, strict=True):
        row[3] = title_with_note(task.title, note, columns=columns)
    return align_rows([*heading, *rows])


def _columns_before_titles(rows: list[list[str]]) -> int:
    return sum(max((text_width(row[column]) for row in rows), default=0) + 2 for column in range(3))


def title_with_note(title: str, note: str, *, columns: int) -> str:
    """Return a title with a note behind it. If both do not fit, clip the title, but not below a minimum."""
    title = safe_line(title)
    ending = f"  ({note})" if note else ""
    if columns:
        title = clip_text(title, max(columns - text_width(ending), _TITLE_COLUMNS_MIN))
    return title + paint(ending, "dim")


def holder_note(task: Task) -> str:
    """Return the holder of a task, by name if known, and the reason why the task waits."""
    parts = []
    if task.holder:
        parts.append(f"held by {safe_line(task.holder_name or task.holder)}")
    if task.status is TaskStatus.TODO and task.open_blockers:
        parts.append(f"waits on {task.open_blockers} task{'s' if task.open_blockers > 1 else ''}")
    if task.status is TaskStatus.TODO and task.stage_held:
        parts.append(f"waits for the stage before {safe_line(task.stage or '')}")
    if task.reason and task.status in (TaskStatus.BLOCKED, TaskStatus.FAILED, TaskStatus.CANCELLED):
        parts.append(safe_line(task.reason))
    if task.archived:
        parts.append("archived")
    return ", ".join(parts)


def render_task_list(value: ops.TaskList, view: View) -> Rendered:
    notes = next_page_note(value.cursor) if value.tasks else ["no tasks"]
    return Rendered(task_table(value.tasks, view), notes)


def render_ready_list(value: ops.ReadyTaskList, view: View) -> Rendered:
    if value.tasks or not value.not_ready:
        return render_task_list(value, view)
    return Rendered(notes=[_not_ready_note(value)])


def _not_ready_note(value: ops.ReadyTaskList) -> str:
    counts = ", ".join(f"{count} {status}" for status, count in value.not_ready.items())
    return f"no task is ready ({counts}); `maestro task blocked` shows why tasks wait"


def render_waiting_tasks(value: ops.WaitingTasks, view: View) -> Rendered:
    if not value.tasks:
        return Rendered(notes=["no task is blocked"])
    return Rendered(
        task_table(value.tasks, view, notes=[_waiting_reason(task) for task in value.tasks]),
        next_page_note(value.cursor),
    )


def render_waited_tasks(value: ops.WaitedTasks, view: View) -> Rendered:
    notes = [] if value.reached else ["the wait ended without the wanted status"]
    return Rendered(task_table(value.tasks, view), notes)


def render_moved_task(value: ops.MovedTask, view: View) -> Rendered:
    notes = [f"warning: {safe_line(warning)}" for warning in value.warnings]
    return Rendered(task_line(value) + _unblocked_line([ref for ref in value.unblocked if ref != value.ref]), notes)


def render_reported_task(value: ops.ReportedTask, view: View) -> Rendered:
    rendered = render_moved_task(value, view)
    return Rendered(rendered.out, [f"reported {value.report.kind} ({value.report.id})", *rendered.notes])


def render_task(value: Task, view: View) -> Rendered:
    return Rendered(task_line(value))


def render_deleted_task(value: ops.DeletedTask, view: View) -> Rendered:
    return Rendered(f"{safe_line(value.ref)} deleted\n")


def task_line(value: Task) -> str:
    """Render a task on one line, after a change."""
    parts = [f"claim {value.fence}"] if value.holder else []
    if value.lease_until:
        parts.append(f"lease until {format_time(value.lease_until)}")
    if not value.holder and (state := holder_note(value)):
        parts.append(state)
    ending = f"  ({', '.join(parts)})" if parts else ""
    return f"{safe_line(value.ref)} {status_text(value)}  {safe_line(value.title)}{paint(ending, 'dim')}\n"


def render_task_tree(value: ops.TaskTree, view: View) -> Rendered:
    """Render tasks below their parents. The tasks come depth first."""
    if not value.tasks:
        return Rendered(notes=["no tasks"])
    completed = {node.ref for node in value.tasks if node.status is TaskStatus.COMPLETED}
    lines = [
        f"{branch}{safe_line(node.ref)} {status_text(node)}  {safe_line(node.title)}"
        f"{_dependency_note(node, completed)}\n"
        for node, branch in zip(value.tasks, _branch_prefixes([node.depth for node in value.tasks]), strict=True)
    ]
    return Rendered("".join(lines), ["the tree is cut: it has more tasks"] if value.truncated else [])


def render_task_detail(value: ops.TaskDetail, view: View) -> Rendered:
    """Render a task in full, with links, evidence, reports and documents."""
    parts = [f"{paint(safe_line(value.ref), 'bold')}  {paint(safe_line(value.title), 'bold')}\n", _task_facts(value)]
    if value.description:
        parts.append(f"\n{indent_text(value.description)}\n")
    parts += [_bullet_section("accepted when", value.accept), _bullet_section("gates", value.gates)]
    for name, links in (
        ("waits on", [link for link in value.blockers if link not in value.dependencies]),
        ("depends on", value.dependencies),
        ("needed by", value.dependants),
        ("children", value.children),
        ("discovered", value.found),
    ):
        parts.append(_link_section(name, links))
    parts += [documents.render_evidence(value.evidence), documents.render_reports(value.reports)]
    parts.append(documents.render_attached_documents(value.documents, view))
    return Rendered("".join(parts))


def _task_facts(value: ops.TaskDetail) -> str:
    claim = f"{safe_line(value.holder_name or value.holder)} (claim {value.fence})" if value.holder else None
    return render_pairs(
        [
            ("status", status_text(value)),
            ("waits", _blocking_facts(value)),
            ("reason", safe_line(value.reason)),
            ("priority", value.priority),
            ("id", value.id),
            ("stage", safe_line(value.stage or "")),
            ("held by", claim),
            ("lease until", format_time(value.lease_until)),
            ("member", safe_line(value.member or "")),
            ("parent", value.parent_id),
            ("found in", f"{safe_line(value.origin.ref)}  {safe_line(value.origin.title)}" if value.origin else None),
            ("archived", "yes" if value.archived else None),
            ("created", f"{format_time(value.created_at)} by {safe_line(value.created_by)}"),
            ("started", format_time(value.started_at)),
            ("finished", format_time(value.finished_at)),
            ("updated", format_time(value.updated_at)),
            ("used", usage.usage_text(value.usage)),
        ],
        indent="  ",
    )


def _waiting_reason(task: ops.WaitingTask) -> str:
    """Return why a task cannot be started."""
    parts = [f"waits {waiting}"] if (waiting := _blocking_facts(task)) else []
    if task.status is TaskStatus.BLOCKED and task.reason:
        parts.append(safe_line(task.reason))
    return "; ".join(parts) or holder_note(task)


def _blocking_facts(task: ops.WaitingTask) -> str:
    parts = [f"for stage {safe_line(task.waits_for_stage)}"] if task.waits_for_stage else []
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
    return safe_line(ref.removeprefix(project) if ref.startswith(f"{project}#") else ref)


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
    return f"unblocked: {', '.join(map(safe_line, refs))}\n" if refs else ""


def _bullet_section(name: str, items: list[str]) -> str:
    if not items:
        return ""
    return f"\n{paint(name, 'dim')}\n" + "".join(f"  - {indent_text(item, '    ').strip()}\n" for item in items)


def _link_section(name: str, links: list[ops.TaskReference]) -> str:
    if not links:
        return ""
    rows = [[safe_line(link.ref), status_word(link.status), safe_line(link.title)] for link in links]
    return f"\n{paint(name, 'dim')}\n" + align_rows(rows, indent="  ")
