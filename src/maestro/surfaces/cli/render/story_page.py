"""A story as one HTML page: no script, nothing from elsewhere, every value escaped."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from html import escape

from maestro.operations.timeline import Moment, Story, StorySession, StoryTask
from maestro.surfaces.cli.render.base import Rendered, size
from maestro.surfaces.cli.render.run_picture import clock
from maestro.surfaces.cli.render.story_style import STYLE
from maestro.surfaces.cli.render.style import View, body

_TONES = {
    "completed": "good", "failed": "bad", "lost": "bad", "blocked": "bad", "stopped": "warn", "cancelled": "dim",
    "in_progress": "busy", "working": "busy", "running": "busy", "spawning": "busy", "in_review": "busy",
    "needs_input": "warn", "idle": "dim", "todo": "dim",
}  # fmt: skip
_TOLD = ("text", "subject", "title", "reason", "command", "note", "outcome", "status", "task", "attempt")
_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer"><meta name="color-scheme" content="light dark">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>{title}</title><style>{style}</style></head>
<body><main>{content}</main></body></html>
"""
_ticks_max = 6
_STEPS = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 43200, 86400)  # seconds
_said_chars_max = 4000


def page(value: Story, view: View) -> Rendered:
    """The whole page; it goes to a file."""
    content = "\n".join([_head(value), _lanes(value), _tasks(value), _moments(value), _foot(value)])
    title = _text(" ".join(part for part in (value.about, value.title) if part))
    return Rendered(_PAGE.format(title=title, style=STYLE, content=content))


def _head(story: Story) -> str:
    began, ended = _span(story)
    done = sum(task.status == "completed" for task in story.tasks)
    facts = [
        ("Began", _when(began)),
        ("Ended" if story.status not in ("running", "working", "in_progress") else "Last event", _when(ended)),
        ("Took", clock((ended - began).total_seconds())),
        ("Tasks", f"{done} of {len(story.tasks)} completed"),
        ("Sessions", str(len(story.sessions))),
    ]
    listed = "".join(f"<div><dt>{name}</dt><dd>{fact}</dd></div>" for name, fact in facts)
    note = f'<p class="note">{_text(story.note)}</p>' if story.note else ""
    return (
        f'<header><p class="kind">{_text(story.kind)} <code>{_text(story.about)}</code></p>'
        f"<h1>{_text(story.title or story.about)}</h1>{_badge(story.status)}{note}<dl>{listed}</dl></header>"
    )


def _lanes(story: Story) -> str:
    """Who worked when: a bar for each session, on one axis."""
    if not story.sessions:
        return ""
    starts = [session.created_at for session in story.sessions]
    ends = [session.ended_at or story.at for session in story.sessions]
    begin, whole = min(starts), max((max(ends) - min(starts)).total_seconds(), 1.0)
    rows = [
        _lane(session, begin, whole, story.at) for session in sorted(story.sessions, key=lambda one: one.created_at)
    ]
    step = next((one for one in _STEPS if whole / one <= _ticks_max), whole / _ticks_max)
    marks = [
        f'<span style="left:{100 * step * number / whole:.2f}%">{clock(step * number)}</span>'
        for number in range(int(whole / step) + 1)
    ]
    axis = f'<div class="lane axis"><span></span><div class="track">{"".join(marks)}</div><span></span></div>'
    return f'<section><h2>Who worked when</h2><div class="lanes">{axis}{"".join(rows)}</div></section>'


def _lane(session: StorySession, begin: datetime, whole: float, at: datetime) -> str:
    left = (session.created_at - begin).total_seconds()
    long = ((session.ended_at or at) - session.created_at).total_seconds()
    facts = [session.status.value, clock(long)]
    facts += [f"exit code {session.exit_code}"] if session.exit_code else []
    facts += [f"merged into {session.merged_into}"] if session.merged_into else []
    where = f"left:{100 * left / whole:.2f}%;width:{max(100 * long / whole, 0.4):.2f}%"
    return (
        f'<div class="lane"><span class="who"><b>{_text(session.name)}</b> {_text(" ".join(session.tasks))}</span>'
        f'<div class="track"><i class="{_tone(session.status)}" style="{where}"></i></div>'
        f'<span class="said">{_text(" · ".join(facts))}</span></div>'
    )


def _tasks(story: Story) -> str:
    if not story.tasks:
        return ""
    return f"<section><h2>Tasks</h2>{''.join(map(_task, story.tasks))}</section>"


def _task(task: StoryTask) -> str:
    took = clock((task.finished_at - task.started_at).total_seconds()) if task.started_at and task.finished_at else ""
    needs = f"after {' '.join(task.depends_on)}" if task.depends_on else ""
    head = (
        f"<code>{_text(task.ref)}</code> <b>{_text(task.title)}</b> {_badge(task.status)}"
        f'<span class="more">{_text(" · ".join(part for part in (took, needs) if part))}</span>'
    )
    facts = [(report.created_at, report.kind.value, report.text, "dim") for report in task.reports]
    for gate in task.gates:
        how = "passed" if gate.passed else f"failed (exit code {gate.exit_code})"
        how += f", sandbox: {gate.sandbox}"
        facts.append((gate.created_at, f"gate {how}", f"$ {gate.command}", "good" if gate.passed else "bad"))
    for one in task.documents:
        made = f"{one.title} · {one.file_name} · {size(one.bytes)} · {one.id}"
        facts.append((one.created_at, "artifact", made, "good"))
    inside = [_fact(*fact) for fact in sorted(facts)]
    inside += [f"<p>{_text(task.reason)}</p>"] if task.reason else []
    if not inside:
        return f'<div class="task">{head}</div>'
    return f'<details class="task"><summary>{head}</summary>{"".join(inside)}</details>'


def _fact(at: datetime, name: str, text: str, tone: str) -> str:
    return f'<div class="fact"><span class="{tone}">{_text(name)}</span>{_time(at)}<pre>{_text(text)}</pre></div>'


def _moments(story: Story) -> str:
    began, _ = _span(story)
    rows = "".join(_moment(one, began) for one in story.moments)
    cut = '<p class="note">There is more in the log than fits here.</p>' if story.truncated else ""
    return f'<section><h2>What happened</h2><ol class="moments">{rows}</ol>{cut}</section>'


def _moment(one: Moment, began: datetime) -> str:
    said = [str(one.data[name]) for name in _TOLD if one.data.get(name) not in (None, "", [])]
    text = f"<p>{_text(' · '.join(dict.fromkeys(said)))}</p>" if said else ""
    word = str(one.data.get("status") or one.data.get("outcome") or one.kind.rpartition(".")[2])
    after = clock((one.at - began).total_seconds())
    return (
        f'<li class="{_tone(word)}"><time datetime="{one.at.isoformat()}" title="{_when(one.at)}">+{after}</time>'
        f'<div><span class="event">{_text(one.kind)}</span> <b>{_text(one.what)}</b>'
        f' <span class="by">{_text(one.who)}</span>{text}</div></li>'
    )


def _foot(story: Story) -> str:
    return f"<footer>Exported by Maestro on {_when(story.at)}</footer>"


def _span(story: Story) -> tuple[datetime, datetime]:
    """From its beginning to the last that is known of it."""
    times: Iterable[datetime] = [one.at for one in story.moments] or [story.at]
    return min(times), max(times)


def _badge(status: str) -> str:
    return f'<span class="badge {_tone(status)}">{_text(status.replace("_", " "))}</span>'


def _tone(status: str) -> str:
    return _TONES.get(status, "dim")


def _time(at: datetime) -> str:
    return f'<time datetime="{at.isoformat()}">{_when(at)}</time>'


def _when(at: datetime) -> str:
    return at.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def _text(value: str) -> str:
    """Text from anywhere, as text and nothing else."""
    return escape(body(str(value))[:_said_chars_max], quote=True)
