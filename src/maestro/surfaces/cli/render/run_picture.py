"""A run as a picture for a terminal of some size: its graph in waves, who works on what, since when, what is next."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime

from maestro.domain.runs import landing
from maestro.domain.tasks import Status
from maestro.operations.runs import RunTask, RunView
from maestro.surfaces.cli.render.style import clip, line, paint, width

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
STATES = tuple(_MARKS)  # in the order in which they matter to whoever looks
_RUN_COLORS = {"running": "blue", "completed": "green", "failed": "red", "stopped": "yellow"}
_next_max = 5
_needs_max = 6
_note_columns_max = 60
_title_columns_min = 16
_bar_columns_max = 40


def state(task: RunTask) -> str:
    """What one word says of a task in a run."""
    if task.status is Status.IN_PROGRESS:
        return "running"
    if task.status is Status.TODO:
        return "ready" if task.ready else "waiting"
    return task.status.value


def picture(run: RunView, *, at: datetime, columns: int, rows: int = 0, foot: Sequence[str] = ()) -> list[str]:
    """The lines of it, none wider than the terminal, and no more than fit (rows 0: all)."""
    coming, where = _next(run), landed(run)
    room = rows - 3 - len(foot) - (2 if coming else 0) - (2 if where else 0) if rows else len(run.tasks)
    shown, hidden = _chosen(run.tasks, max(room, 1))
    lines = [_head(run, at, columns), _progress(run, columns), ""]
    lines += _waves(run, shown, at, columns)
    lines += [paint(f"  … {hidden}", "dim")] if hidden else []
    lines += ["", coming] if coming else []
    lines += ["", where] if where else []
    lines += foot
    return [clip(each, columns) if columns else each for each in lines]


def landed(run: RunView) -> str:
    """Where the work of a run that is over is, and how one gets it."""
    return line(landing(run, is_something_done=any(task.status is Status.COMPLETED for task in run.tasks)))


def clock(seconds: float) -> str:
    """A span of time as a clock shows it: 0:07, 12:30, 1:02:03."""
    minutes, second = divmod(max(int(seconds), 0), 60)
    hours, minute = divmod(minutes, 60)
    return f"{hours}:{minute:02}:{second:02}" if hours else f"{minute}:{second:02}"


def waves(tasks: Sequence[RunTask]) -> dict[str, int]:
    """How deep in the graph each task is: after everything it depends on."""
    by_ref = {task.ref: task for task in tasks}
    found: dict[str, int] = {}
    opened: set[str] = set()  # there are no cycles, but a picture must not depend on that
    for task in tasks:
        waiting = [task.ref]
        while waiting:
            ref = waiting[-1]
            inside = [one for one in by_ref[ref].depends_on if one in by_ref]
            open_ones = [one for one in inside if one not in found and one not in opened]
            if open_ones:
                opened.add(ref)
                waiting += open_ones
                continue
            found[ref] = max((found.get(one, 0) for one in inside), default=0) + 1
            waiting.pop()
    return found


def _head(run: RunView, at: datetime, columns: int) -> str:
    spent = ((run.ended_at or at) - run.created_at).total_seconds()
    facts = [paint(run.status, _RUN_COLORS[run.status]), run.strategy.value, clock(spent)]
    right = " · ".join(facts)
    title = f"{paint(line(run.task), 'bold')} {line(run.title)}"
    room = columns - width(right) - 3 if columns else width(title)
    title = clip(title, max(room, 10))
    gap = max(columns - width(title) - width(right) - 1, 2) if columns else 3
    return title + " " * gap + right


def _progress(run: RunView, columns: int) -> str:
    counts = Counter(map(state, run.tasks))
    total = sum(count for name, count in counts.items() if name != "cancelled")
    done = counts["completed"]
    words = [f"{done}/{total} done"]
    words += [
        paint(f"{counts[name]} {name.replace('_', ' ')}", _MARKS[name][1])
        for name in STATES
        if counts[name] and name != "completed"
    ]
    text = " · ".join(words)
    room = min(columns - width(text) - 3, _bar_columns_max) if columns else 0
    if room < 8 or not total:
        return text
    full = room * done // total
    return f"{paint('━' * full, 'green')}{paint('─' * (room - full), 'dim')}  {text}"


def _chosen(tasks: Sequence[RunTask], room: int) -> tuple[set[str], str]:
    """Which tasks fit, what matters first; and how many of what do not."""
    if len(tasks) <= room:
        return {task.ref for task in tasks}, ""
    newest = {task.ref: -at.timestamp() if (at := task.finished_at or task.started_at) else 0 for task in tasks}
    ordered = sorted(tasks, key=lambda task: (STATES.index(state(task)), newest[task.ref]))
    shown = {task.ref for task in ordered[: max(room - 1, 0)]}
    left = Counter(state(task) for task in ordered[max(room - 1, 0) :])
    return shown, f"{left.total()} more: " + ", ".join(f"{left[name]} {name}" for name in STATES if left[name])


def _waves(run: RunView, shown: set[str], at: datetime, columns: int) -> list[str]:
    depth = waves(run.tasks)
    picked = [task for task in run.tasks if task.ref in shown]
    picked.sort(key=lambda task: (depth[task.ref], _number(task.ref)))
    cells = {task.ref: _cells(task, at) for task in picked}
    names = {task.ref: _short(task.ref, run) for task in picked}
    widest = [max((width(cells[ref][place]) for ref in cells), default=0) for place in range(3)]
    ref_columns = max(map(len, names.values()), default=0)
    gutter = len(str(max(depth.values(), default=1)))
    used = 8 + gutter + ref_columns + sum(one + 2 for one in widest if one)
    needs = {task.ref: _needs(task, run) for task in picked}
    longest = max((width(line(task.title)) for task in picked), default=0)
    room = max(min(columns - used - max(map(width, needs.values()), default=0), longest), _title_columns_min)
    title_columns = room if columns else longest
    lines, last = [], 0
    for task in picked:
        wave = depth[task.ref]
        number = f"{wave:>{gutter}}" if wave != last else " " * gutter
        last = wave
        mark, color = _MARKS[state(task)]
        title = clip(line(task.title), title_columns)
        parts = [paint(number, "dim"), paint(mark, color), names[task.ref].ljust(ref_columns)]
        parts.append(
            paint(title, "dim" if state(task) in ("waiting", "cancelled") else "") + _pad(title, title_columns)
        )
        parts += [cell + _pad(cell, most) for cell, most in zip(cells[task.ref], widest, strict=True) if most]
        lines.append((" " + " ".join(parts[:3]) + "  " + "  ".join([*parts[3:], needs[task.ref]])).rstrip())
    return lines


def _cells(task: RunTask, at: datetime) -> tuple[str, str, str]:
    """Who, how long, which try."""
    who = line(task.session or "") if task.since or task.status is Status.IN_REVIEW else line(task.held_by or "")
    if task.since:
        long = clock((at - task.since).total_seconds())
    elif task.finished_at and task.started_at:
        long = paint(clock((task.finished_at - task.started_at).total_seconds()), "dim")
    else:
        long = ""
    return paint(who, "cyan"), long, f"try {task.attempts}" if task.attempts > 1 else ""


def _needs(task: RunTask, run: RunView) -> str:
    """What it depends on; and of what is still to be done, why it came to nothing before."""
    refs = [_short(ref, run) for ref in task.depends_on]
    more = f" +{len(refs) - _needs_max}" if len(refs) > _needs_max else ""
    parts = ["← " + " ".join(refs[:_needs_max]) + more] if refs else []
    if task.note and state(task) not in ("in_review", "completed", "cancelled"):
        parts.append(clip(line(task.note), _note_columns_max))
    return paint("  ".join(parts), "dim")


def _next(run: RunView) -> str:
    """What is started when there is room, or when what runs now is done; after the end, why it ended."""
    working = {task.ref for task in run.tasks if state(task) in ("running", "in_review")}
    ready = [task for task in run.tasks if state(task) == "ready"]
    ready += [task for task in run.tasks if state(task) == "waiting" and working.issuperset(task.waits_on)]
    if not ready or run.status != "running":
        return line(run.note)
    words = [f"{_short(task.ref, run)} {line(task.title)}" for task in ready[:_next_max]]
    more = f" and {len(ready) - _next_max} more" if len(ready) > _next_max else ""
    waits = f"   {line(run.note)}" if run.note else ""
    return f"{paint('next', 'bold')}  {', '.join(words)}{more}{waits}"


def _short(ref: str, run: RunView) -> str:
    """`#4` in the run's own project."""
    project = run.task.partition("#")[0]
    return line(ref.removeprefix(project) if ref.startswith(f"{project}#") else ref)


def _number(ref: str) -> tuple[str, int]:
    project, _, number = ref.partition("#")
    return project, int(number) if number.isdigit() else 0


def _pad(text: str, columns: int) -> str:
    return " " * max(columns - width(text), 0)


def changes(before: RunView | None, after: RunView) -> Mapping[str, str]:
    """What is different, one line a task: by its ref, so that nothing is said twice."""
    was = {task.ref: task for task in before.tasks} if before else {}
    said = {}
    for task in sorted(after.tasks, key=lambda one: _number(one.ref)):
        old = was.get(task.ref)
        if old is None and before is None and state(task) in ("waiting", "ready"):
            continue
        if old is None or (state(old), old.attempts) != (state(task), task.attempts):
            said[task.ref] = _said(task, after)
    return said


def _said(task: RunTask, run: RunView) -> str:
    counts = Counter(map(state, run.tasks))
    total = sum(count for name, count in counts.items() if name != "cancelled")
    name = task.held_by or task.session
    who = f"  {line(name)}" if name and state(task) == "running" else ""
    tries = f"  try {task.attempts}" if task.attempts > 1 else ""
    done = f"  [{counts['completed']}/{total}]" if state(task) == "completed" else ""
    why = f"  ({line(task.note)})" if task.note and state(task) not in ("in_review", "completed") else ""
    return f"{line(task.ref)}  {state(task).replace('_', ' ')}{who}{tries}  {line(task.title)}{done}{why}"
