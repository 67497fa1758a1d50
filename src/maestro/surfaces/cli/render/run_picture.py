"""Draw a run for a terminal: its task graph in waves, the session and time of each task, and the next tasks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime

from maestro.domain.runs import describe_result
from maestro.domain.tasks import TaskStatus
from maestro.operations.runs import RunTask, RunView
from maestro.surfaces.cli.render.style import clip_text, paint, safe_line, text_width

_MARKS = {
    "running": ("●", "blue"),
    "in_review": ("◐", "cyan"),
    "failed": ("✗", "red"),
    "blocked": ("■", "red"),
    "ready": ("◇", "yellow"),
    "waiting": ("○", "dim"),
    "completed": ("✓", "green"),
    "cancelled": ("–", "dim"),
}
STATES = tuple(_MARKS)  # the most important state for the viewer comes first
_RUN_COLORS = {"running": "blue", "completed": "green", "failed": "red", "stopped": "yellow"}
_next_max = 5
_needs_max = 6
_note_columns_max = 60
_title_columns_min = 16
_bar_columns_max = 40


def task_state(task: RunTask) -> str:
    """Return the state of a task in a run as one word."""
    if task.status is TaskStatus.IN_PROGRESS:
        return "running"
    if task.status is TaskStatus.TODO:
        return "ready" if task.ready else "waiting"
    return task.status.value


def draw_run(run: RunView, *, at: datetime, columns: int, rows: int = 0, foot: Sequence[str] = ()) -> list[str]:
    """Return the lines of the picture: no wider than `columns`, and at most `rows` lines (0: no limit)."""
    next_tasks, location = _next_tasks(run), landing_text(run)
    room = rows - 3 - len(foot) - (2 if next_tasks else 0) - (2 if location else 0) if rows else len(run.tasks)
    shown, hidden = _choose_tasks(run.tasks, max(room, 1))
    lines = [_run_headline(run, at, columns), _progress_line(run, columns), ""]
    lines += _wave_lines(run, shown, at, columns)
    lines += [paint(f"  … {hidden}", "dim")] if hidden else []
    lines += ["", next_tasks] if next_tasks else []
    lines += ["", location] if location else []
    lines += foot
    return [clip_text(text, columns) if columns else text for text in lines]


def landing_text(run: RunView) -> str:
    """Return where the work of an ended run is, and how to get it."""
    return safe_line(
        describe_result(run, has_completed_work=any(task.status is TaskStatus.COMPLETED for task in run.tasks))
    )


def format_clock(seconds: float) -> str:
    """Format a duration like a clock: 0:07, 12:30, 1:02:03."""
    minutes, second = divmod(max(int(seconds), 0), 60)
    hours, minute = divmod(minutes, 60)
    return f"{hours}:{minute:02}:{second:02}" if hours else f"{minute}:{second:02}"


def task_waves(tasks: Sequence[RunTask]) -> dict[str, int]:
    """Return the wave of each task: one more than the highest wave of its dependencies."""
    by_ref = {task.ref: task for task in tasks}
    wave_of: dict[str, int] = {}
    opened: set[str] = set()  # the graph has no cycles, but a wrong graph must not hang the picture
    for task in tasks:
        waiting = [task.ref]
        while waiting:
            ref = waiting[-1]
            dependencies = [needed for needed in by_ref[ref].depends_on if needed in by_ref]
            unplaced = [needed for needed in dependencies if needed not in wave_of and needed not in opened]
            if unplaced:
                opened.add(ref)
                waiting += unplaced
                continue
            wave_of[ref] = max((wave_of.get(needed, 0) for needed in dependencies), default=0) + 1
            waiting.pop()
    return wave_of


def _run_headline(run: RunView, at: datetime, columns: int) -> str:
    spent = ((run.ended_at or at) - run.created_at).total_seconds()
    facts = [paint(run.status, _RUN_COLORS[run.status]), run.strategy.value, format_clock(spent)]
    right = " · ".join(facts)
    title = f"{paint(safe_line(run.task), 'bold')} {safe_line(run.title)}"
    room = columns - text_width(right) - 3 if columns else text_width(title)
    title = clip_text(title, max(room, 10))
    gap = max(columns - text_width(title) - text_width(right) - 1, 2) if columns else 3
    return title + " " * gap + right


def _progress_line(run: RunView, columns: int) -> str:
    counts = Counter(map(task_state, run.tasks))
    total = sum(count for name, count in counts.items() if name != "cancelled")
    done = counts["completed"]
    parts = [f"{done}/{total} done"]
    parts += [
        paint(f"{counts[name]} {name.replace('_', ' ')}", _MARKS[name][1])
        for name in STATES
        if counts[name] and name != "completed"
    ]
    text = " · ".join(parts)
    room = min(columns - text_width(text) - 3, _bar_columns_max) if columns else 0
    if room < 8 or not total:
        return text
    full = room * done // total
    return f"{paint('━' * full, 'green')}{paint('─' * (room - full), 'dim')}  {text}"


def _choose_tasks(tasks: Sequence[RunTask], room: int) -> tuple[set[str], str]:
    """Return the tasks that fit, most important states first, and a count of the hidden tasks by state."""
    if len(tasks) <= room:
        return {task.ref for task in tasks}, ""
    newest = {task.ref: -at.timestamp() if (at := task.finished_at or task.started_at) else 0 for task in tasks}
    ordered = sorted(tasks, key=lambda task: (STATES.index(task_state(task)), newest[task.ref]))
    shown = {task.ref for task in ordered[: max(room - 1, 0)]}
    hidden = Counter(task_state(task) for task in ordered[max(room - 1, 0) :])
    return shown, f"{hidden.total()} more: " + ", ".join(f"{hidden[name]} {name}" for name in STATES if hidden[name])


def _wave_lines(run: RunView, shown: set[str], at: datetime, columns: int) -> list[str]:
    depth = task_waves(run.tasks)
    picked = [task for task in run.tasks if task.ref in shown]
    picked.sort(key=lambda task: (depth[task.ref], _ref_order(task.ref)))
    cells = {task.ref: _task_cells(task, at) for task in picked}
    names = {task.ref: _short_ref(task.ref, run) for task in picked}
    widest = [max((text_width(cells[ref][column]) for ref in cells), default=0) for column in range(3)]
    ref_columns = max(map(len, names.values()), default=0)
    gutter = len(str(max(depth.values(), default=1)))
    used = 8 + gutter + ref_columns + sum(columns_of_cell + 2 for columns_of_cell in widest if columns_of_cell)
    needs = {task.ref: _dependency_note(task, run) for task in picked}
    longest = max((text_width(safe_line(task.title)) for task in picked), default=0)
    room = max(min(columns - used - max(map(text_width, needs.values()), default=0), longest), _title_columns_min)
    title_columns = room if columns else longest
    lines, last = [], 0
    for task in picked:
        wave = depth[task.ref]
        number = f"{wave:>{gutter}}" if wave != last else " " * gutter
        last = wave
        mark, color = _MARKS[task_state(task)]
        title = clip_text(safe_line(task.title), title_columns)
        parts = [paint(number, "dim"), paint(mark, color), names[task.ref].ljust(ref_columns)]
        parts.append(
            paint(title, "dim" if task_state(task) in ("waiting", "cancelled") else "")
            + _padding_to(title, title_columns)
        )
        parts += [
            cell + _padding_to(cell, cell_columns)
            for cell, cell_columns in zip(cells[task.ref], widest, strict=True)
            if cell_columns
        ]
        lines.append((" " + " ".join(parts[:3]) + "  " + "  ".join([*parts[3:], needs[task.ref]])).rstrip())
    return lines


def _task_cells(task: RunTask, at: datetime) -> tuple[str, str, str]:
    """Return the session, the duration and the attempt of a task."""
    session = (
        safe_line(task.session or "")
        if task.since or task.status is TaskStatus.IN_REVIEW
        else safe_line(task.held_by or "")
    )
    if task.since:
        duration = format_clock((at - task.since).total_seconds())
    elif task.finished_at and task.started_at:
        duration = paint(format_clock((task.finished_at - task.started_at).total_seconds()), "dim")
    else:
        duration = ""
    return paint(session, "cyan"), duration, f"attempt {task.attempts}" if task.attempts > 1 else ""


def _dependency_note(task: RunTask, run: RunView) -> str:
    """Return the dependencies of a task and, for an unfinished task, why the last attempt failed."""
    refs = [_short_ref(ref, run) for ref in task.depends_on]
    more = f" +{len(refs) - _needs_max}" if len(refs) > _needs_max else ""
    parts = ["← " + " ".join(refs[:_needs_max]) + more] if refs else []
    if task.note and task_state(task) not in ("in_review", "completed", "cancelled"):
        parts.append(clip_text(safe_line(task.note), _note_columns_max))
    return paint("  ".join(parts), "dim")


def _next_tasks(run: RunView) -> str:
    """Return the tasks that start next; for an ended run, the reason of the end."""
    working = {task.ref for task in run.tasks if task_state(task) in ("running", "in_review")}
    ready = [task for task in run.tasks if task_state(task) == "ready"]
    ready += [task for task in run.tasks if task_state(task) == "waiting" and working.issuperset(task.waits_on)]
    if not ready or run.status != "running":
        return safe_line(run.note)
    names = [f"{_short_ref(task.ref, run)} {safe_line(task.title)}" for task in ready[:_next_max]]
    more = f" and {len(ready) - _next_max} more" if len(ready) > _next_max else ""
    note = f"   {safe_line(run.note)}" if run.note else ""
    return f"{paint('next', 'bold')}  {', '.join(names)}{more}{note}"


def _short_ref(ref: str, run: RunView) -> str:
    """Return `#4` for a task of the run's own project, else the whole reference."""
    project = run.task.partition("#")[0]
    return safe_line(ref.removeprefix(project) if ref.startswith(f"{project}#") else ref)


def _ref_order(ref: str) -> tuple[str, int]:
    project, _, number = ref.partition("#")
    return project, int(number) if number.isdigit() else 0


def _padding_to(text: str, columns: int) -> str:
    return " " * max(columns - text_width(text), 0)


def changed_task_lines(before: RunView | None, after: RunView) -> Mapping[str, str]:
    """Return a line for each changed task, by task reference; callers use the reference to avoid repetition."""
    old_tasks = {task.ref: task for task in before.tasks} if before else {}
    lines = {}
    for task in sorted(after.tasks, key=lambda task: _ref_order(task.ref)):
        old = old_tasks.get(task.ref)
        if old is None and before is None and task_state(task) in ("waiting", "ready"):
            continue
        if old is None or (task_state(old), old.attempts) != (task_state(task), task.attempts):
            lines[task.ref] = _change_line(task, after)
    return lines


def _change_line(task: RunTask, run: RunView) -> str:
    counts = Counter(map(task_state, run.tasks))
    total = sum(count for name, count in counts.items() if name != "cancelled")
    name = task.held_by or task.session
    worker = f"  {safe_line(name)}" if name and task_state(task) == "running" else ""
    attempt = f"  attempt {task.attempts}" if task.attempts > 1 else ""
    done = f"  [{counts['completed']}/{total}]" if task_state(task) == "completed" else ""
    why = f"  ({safe_line(task.note)})" if task.note and task_state(task) not in ("in_review", "completed") else ""
    state = task_state(task).replace("_", " ")
    return f"{safe_line(task.ref)}  {state}{worker}{attempt}  {safe_line(task.title)}{done}{why}"
