"""Tasks as text: tables, the tree, one task whole, and what a move did."""

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
    """The status word; `ready` where a task can be started."""
    return status_word("ready" if task.ready else task.status)


def status_word(word: str) -> str:
    return paint(line(word), _COLORS.get(word, ""))


def table(tasks: Sequence[Task], view: View, *, notes: Sequence[str] | None = None, head: bool = True) -> str:
    """One line for each task."""
    said = notes if notes is not None else [standing(task) for task in tasks]
    rows = [
        [line(task.ref), status(task), paint(task.priority, _PRIORITY_COLORS.get(task.priority, "")), ""]
        for task in tasks
    ]
    heading = [[paint(title, "dim") for title in _HEAD]] if view.tty and head and tasks else []
    columns = view.width and max(view.width - _columns_before_titles([*heading, *rows]), 1)
    for row, task, note in zip(rows, tasks, said, strict=True):
        row[3] = titled(task.title, note, columns=columns)
    return aligned([*heading, *rows])


def _columns_before_titles(rows: list[list[str]]) -> int:
    return sum(max((width(row[place]) for row in rows), default=0) + 2 for place in range(3))


def titled(title: str, note: str, *, columns: int) -> str:
    """A title with a note behind it; where there is no room for both, the title gives way, within reason."""
    title = line(title)
    ending = f"  ({note})" if note else ""
    if columns:
        title = clip(title, max(columns - width(ending), _TITLE_COLUMNS_MIN))
    return title + paint(ending, "dim")


def standing(task: Task) -> str:
    """Who holds a task, by name where it is known; or what keeps it."""
    said = []
    if task.holder:
        said.append(f"held by {line(task.holder_name or task.holder)}")
    if task.status is Status.TODO and task.open_blockers:
        said.append(f"waits on {task.open_blockers} task{'s' if task.open_blockers > 1 else ''}")
    if task.status is Status.TODO and task.stage_held:
        said.append(f"waits for the stage before {line(task.stage or '')}")
    if task.reason and task.status in (Status.BLOCKED, Status.FAILED, Status.CANCELLED):
        said.append(line(task.reason))
    if task.archived:
        said.append("archived")
    return ", ".join(said)


def task_list(value: ops.TaskList, view: View) -> Rendered:
    notes = more(value.cursor) if value.tasks else ["no tasks here"]
    return Rendered(table(value.tasks, view), notes)


def waiting_tasks(value: ops.WaitingTasks, view: View) -> Rendered:
    if not value.tasks:
        return Rendered(notes=["nothing is blocked"])
    return Rendered(table(value.tasks, view, notes=[_waits(task) for task in value.tasks]), more(value.cursor))


def waited_tasks(value: ops.WaitedTasks, view: View) -> Rendered:
    notes = [] if value.reached else ["the wait ended otherwise than it was meant to"]
    return Rendered(table(value.tasks, view), notes)


def moved(value: ops.MovedTask, view: View) -> Rendered:
    notes = [f"warning: {line(warning)}" for warning in value.warnings]
    return Rendered(one_line(value) + _unblocked([ref for ref in value.unblocked if ref != value.ref]), notes)


def reported(value: ops.ReportedTask, view: View) -> Rendered:
    rendered = moved(value, view)
    return Rendered(rendered.out, [f"reported {value.report.kind} ({value.report.id})", *rendered.notes])


def task(value: Task, view: View) -> Rendered:
    return Rendered(one_line(value))


def deleted(value: ops.Deleted, view: View) -> Rendered:
    return Rendered(f"{line(value.ref)} deleted\n")


def one_line(value: Task) -> str:
    """A task after a change."""
    said = [f"claim {value.fence}"] if value.holder else []
    if value.lease_until:
        said.append(f"lease until {when(value.lease_until)}")
    if not value.holder and (stands := standing(value)):
        said.append(stands)
    ending = f"  ({', '.join(said)})" if said else ""
    return f"{line(value.ref)} {status(value)}  {line(value.title)}{paint(ending, 'dim')}\n"


def tree(value: ops.TaskTree, view: View) -> Rendered:
    """Tasks below their parents; they come depth first."""
    if not value.tasks:
        return Rendered(notes=["no tasks here"])
    completed = {node.ref for node in value.tasks if node.status is Status.COMPLETED}
    lines = [
        f"{branch}{line(node.ref)} {status(node)}  {line(node.title)}{_after(node, completed)}\n"
        for node, branch in zip(value.tasks, _branches([node.depth for node in value.tasks]), strict=True)
    ]
    return Rendered("".join(lines), ["the tree goes on: this is not all of it"] if value.truncated else [])


def detail(value: ops.TaskDetail, view: View) -> Rendered:
    """One task with everything around it; nothing is cut."""
    parts = [f"{paint(line(value.ref), 'bold')}  {paint(line(value.title), 'bold')}\n", _facts(value)]
    if value.description:
        parts.append(f"\n{indented(value.description)}\n")
    parts += [_bullets("accepted when", value.accept), _bullets("gates", value.gates)]
    for name, links in (
        ("waits on", [link for link in value.blockers if link not in value.dependencies]),
        ("depends on", value.dependencies),
        ("needed by", value.dependants),
        ("children", value.children),
        ("found on the way", value.found),
    ):
        parts.append(_links(name, links))
    parts += [documents.evidence(value.evidence), documents.reports(value.reports)]
    parts.append(documents.attached(value.documents, view))
    return Rendered("".join(parts))


def _facts(value: ops.TaskDetail) -> str:
    claim = f"{line(value.holder_name or value.holder)} (claim {value.fence})" if value.holder else None
    return pairs(
        [
            ("status", status(value)),
            ("waits", _waiting(value)),
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


def _waits(task: ops.WaitingTask) -> str:
    """Why a task cannot be started."""
    said = [f"waits {waiting}"] if (waiting := _waiting(task)) else []
    if task.status is Status.BLOCKED and task.reason:
        said.append(line(task.reason))
    return "; ".join(said) or standing(task)


def _waiting(task: ops.WaitingTask) -> str:
    said = [f"for stage {line(task.waits_for_stage)}"] if task.waits_for_stage else []
    if task.blockers:
        unseen = task.open_blockers - len(task.blockers)
        refs = [f"{_short(link.ref, task.ref)} {link.status}" for link in task.blockers]
        said.append("on " + ", ".join(refs) + (f" and {unseen} more" if unseen > 0 else ""))
    return ", ".join(said)


def _after(node: ops.TaskNode, completed: set[str]) -> str:
    """What a task in the tree comes after; while it waits, only what is still open."""
    refs = node.depends_on
    if waits := node.open_blockers > 0:
        refs = [ref for ref in refs if ref not in completed]
    if not refs:
        return ""
    shown = ",".join(_short(ref, node.ref) for ref in refs)
    return paint(f"  ({'waits on' if waits else 'after'} {shown})", "dim")


def _short(ref: str, beside: str) -> str:
    """`#2` beside a task of the same project, `vc#2` beside another's."""
    project = beside.partition("#")[0]
    return line(ref.removeprefix(project) if ref.startswith(f"{project}#") else ref)


def _branches(depths: list[int]) -> list[str]:
    """The lines of the tree in front of each node; whether a branch goes on is known from below."""
    goes_on: dict[int, bool] = {}
    found = []
    for depth in reversed(depths):
        own = "├─ " if goes_on.get(depth) else "└─ "
        bars = "".join("│  " if goes_on.get(above) else "   " for above in range(1, depth))
        found.append(bars + own if depth else "")
        goes_on = {level: on for level, on in goes_on.items() if level < depth}
        goes_on[depth] = True
    return found[::-1]


def _unblocked(refs: list[str]) -> str:
    return f"unblocked: {', '.join(map(line, refs))}\n" if refs else ""


def _bullets(name: str, items: list[str]) -> str:
    if not items:
        return ""
    return f"\n{paint(name, 'dim')}\n" + "".join(f"  - {indented(item, '    ').strip()}\n" for item in items)


def _links(name: str, links: list[ops.TaskLink]) -> str:
    if not links:
        return ""
    rows = [[line(link.ref), status_word(link.status), line(link.title)] for link in links]
    return f"\n{paint(name, 'dim')}\n" + aligned(rows, indent="  ")
