"""Render a story as one HTML page: no script, no external resource, every value escaped."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from html import escape

from maestro.operations.timeline import ExportedSession, ExportedTask, ExportedTimeline, TimelineEvent
from maestro.surfaces.cli.render.base import Rendered, format_size
from maestro.surfaces.cli.render.run_picture import format_clock
from maestro.surfaces.cli.render.story_style import STYLE
from maestro.surfaces.cli.render.style import View, safe_body

_TONES = {
    "completed": "good", "failed": "bad", "lost": "bad", "blocked": "bad", "stopped": "warn", "cancelled": "dim",
    "in_progress": "busy", "working": "busy", "running": "busy", "spawning": "busy", "in_review": "busy",
    "needs_input": "warn", "idle": "dim", "todo": "dim",
}  # fmt: skip
_SHOWN_FIELDS = ("text", "subject", "title", "reason", "command", "note", "outcome", "status", "task", "attempt")
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
_text_chars_max = 4000


def render_story(value: ExportedTimeline, view: View) -> Rendered:
    """Render the whole page, for a file."""
    content = "\n".join(
        [_page_head(value), _session_lanes(value), _task_section(value), _event_section(value), _page_foot(value)]
    )
    title = _escaped(" ".join(part for part in (value.about, value.title) if part))
    return Rendered(_PAGE.format(title=title, style=STYLE, content=content))


def _page_head(story: ExportedTimeline) -> str:
    began, ended = _time_span(story)
    done = sum(task.status == "completed" for task in story.tasks)
    facts = [
        ("Began", _format_time(began)),
        ("Ended" if story.status not in ("running", "working", "in_progress") else "Last event", _format_time(ended)),
        ("Took", format_clock((ended - began).total_seconds())),
        ("Tasks", f"{done} of {len(story.tasks)} completed"),
        ("Sessions", str(len(story.sessions))),
    ]
    rows = "".join(f"<div><dt>{name}</dt><dd>{fact}</dd></div>" for name, fact in facts)
    note = f'<p class="note">{_escaped(story.note)}</p>' if story.note else ""
    return (
        f'<header><p class="kind">{_escaped(story.kind)} <code>{_escaped(story.about)}</code></p>'
        f"<h1>{_escaped(story.title or story.about)}</h1>{_status_badge(story.status)}{note}<dl>{rows}</dl></header>"
    )


def _session_lanes(story: ExportedTimeline) -> str:
    """Draw a bar for each session on one time axis."""
    if not story.sessions:
        return ""
    starts = [session.created_at for session in story.sessions]
    ends = [session.ended_at or story.at for session in story.sessions]
    start, total = min(starts), max((max(ends) - min(starts)).total_seconds(), 1.0)
    rows = [
        _session_lane(session, start, total, story.at)
        for session in sorted(story.sessions, key=lambda session: session.created_at)
    ]
    step = next((seconds for seconds in _STEPS if total / seconds <= _ticks_max), total / _ticks_max)
    marks = [
        f'<span style="left:{100 * step * number / total:.2f}%">{format_clock(step * number)}</span>'
        for number in range(int(total / step) + 1)
    ]
    axis = f'<div class="lane axis"><span></span><div class="track">{"".join(marks)}</div><span></span></div>'
    return f'<section><h2>Sessions</h2><div class="lanes">{axis}{"".join(rows)}</div></section>'


def _session_lane(session: ExportedSession, start: datetime, total: float, at: datetime) -> str:
    offset = (session.created_at - start).total_seconds()
    seconds = ((session.ended_at or at) - session.created_at).total_seconds()
    facts = [session.status.value, format_clock(seconds)]
    facts += [f"exit code {session.exit_code}"] if session.exit_code else []
    facts += [f"merged into {session.merged_into}"] if session.merged_into else []
    position = f"left:{100 * offset / total:.2f}%;width:{max(100 * seconds / total, 0.4):.2f}%"
    return (
        f'<div class="lane"><span class="who"><b>{_escaped(session.name)}</b>'
        f" {_escaped(' '.join(session.tasks))}</span>"
        f'<div class="track"><i class="{_status_tone(session.status)}" style="{position}"></i></div>'
        f'<span class="said">{_escaped(" · ".join(facts))}</span></div>'
    )


def _task_section(story: ExportedTimeline) -> str:
    if not story.tasks:
        return ""
    return f"<section><h2>Tasks</h2>{''.join(map(_task_block, story.tasks))}</section>"


def _task_block(task: ExportedTask) -> str:
    took = (
        format_clock((task.finished_at - task.started_at).total_seconds())
        if task.started_at and task.finished_at
        else ""
    )
    needs = f"after {' '.join(task.depends_on)}" if task.depends_on else ""
    head = (
        f"<code>{_escaped(task.ref)}</code> <b>{_escaped(task.title)}</b> {_status_badge(task.status)}"
        f'<span class="more">{_escaped(" · ".join(part for part in (took, needs) if part))}</span>'
    )
    facts = [(report.created_at, report.kind.value, report.text, "dim") for report in task.reports]
    for gate in task.gates:
        result = "passed" if gate.passed else f"failed (exit code {gate.exit_code})"
        result += f", sandbox: {gate.sandbox}"
        facts.append((gate.created_at, f"gate {result}", f"$ {gate.command}", "good" if gate.passed else "bad"))
    for document in task.documents:
        text = f"{document.title} · {document.file_name} · {format_size(document.bytes)} · {document.id}"
        facts.append((document.created_at, "artifact", text, "good"))
    inside = [_fact_block(*fact) for fact in sorted(facts)]
    inside += [f"<p>{_escaped(task.reason)}</p>"] if task.reason else []
    if not inside:
        return f'<div class="task">{head}</div>'
    return f'<details class="task"><summary>{head}</summary>{"".join(inside)}</details>'


def _fact_block(at: datetime, name: str, text: str, tone: str) -> str:
    head = f'<span class="{tone}">{_escaped(name)}</span>{_time_element(at)}'
    return f'<div class="fact">{head}<pre>{_escaped(text)}</pre></div>'


def _event_section(story: ExportedTimeline) -> str:
    began, _ = _time_span(story)
    rows = "".join(_event_item(event, began) for event in story.events)
    cut = '<p class="note">The log has more events than this page shows.</p>' if story.truncated else ""
    return f'<section><h2>Events</h2><ol class="events">{rows}</ol>{cut}</section>'


def _event_item(event: TimelineEvent, began: datetime) -> str:
    values = [str(event.data[name]) for name in _SHOWN_FIELDS if event.data.get(name) not in (None, "", [])]
    text = f"<p>{_escaped(' · '.join(dict.fromkeys(values)))}</p>" if values else ""
    status = str(event.data.get("status") or event.data.get("outcome") or event.kind.rpartition(".")[2])
    after = format_clock((event.at - began).total_seconds())
    return (
        f'<li class="{_status_tone(status)}">'
        f'<time datetime="{event.at.isoformat()}" title="{_format_time(event.at)}">+{after}</time>'
        f'<div><span class="event">{_escaped(event.kind)}</span> <b>{_escaped(event.subject)}</b>'
        f' <span class="by">{_escaped(event.actor)}</span>{text}</div></li>'
    )


def _page_foot(story: ExportedTimeline) -> str:
    return f"<footer>Exported by Maestro on {_format_time(story.at)}</footer>"


def _time_span(story: ExportedTimeline) -> tuple[datetime, datetime]:
    """Return the times of the first and the last event."""
    times: Iterable[datetime] = [event.at for event in story.events] or [story.at]
    return min(times), max(times)


def _status_badge(status: str) -> str:
    return f'<span class="badge {_status_tone(status)}">{_escaped(status.replace("_", " "))}</span>'


def _status_tone(status: str) -> str:
    return _TONES.get(status, "dim")


def _time_element(at: datetime) -> str:
    return f'<time datetime="{at.isoformat()}">{_format_time(at)}</time>'


def _format_time(at: datetime) -> str:
    return at.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def _escaped(value: str) -> str:
    """Escape text for HTML and limit its length."""
    return escape(safe_body(str(value))[:_text_chars_max], quote=True)
