"""Render the server as text: state, settings, recovery report and events."""

from __future__ import annotations

import json
from typing import Any

import msgspec

from maestro.domain.events import Event
from maestro.domain.runs import RunStatus
from maestro.operations.server import (
    BackupResult,
    EventList,
    FoundRun,
    FoundSession,
    FoundSessionState,
    RecoveryReport,
    Resync,
    ServerStatus,
    ShownSettings,
    StoppedServer,
)
from maestro.surfaces.cli.render.base import Rendered, format_size, format_time, next_page_note, render_pairs
from maestro.surfaces.cli.render.style import View, paint, safe_line

_NAMES_SHOWN = 8
_FATES = {
    FoundSessionState.ALIVE: "found alive",
    FoundSessionState.RESUMED: "started again",
    FoundSessionState.RESUMING: "about to be started again",
    FoundSessionState.LOST: "lost (start again with: maestro session resume NAME)",
    FoundSessionState.REDONE: "lost (their runs start new attempts)",
    FoundSessionState.ENDED: "ended while no server ran",
    FoundSessionState.SILENT: "silent until now",
}
# The columns of the event's line show these fields.
_SHOWN_ELSEWHERE = ("ref",)


def render_status(value: ServerStatus, view: View) -> Rendered:
    return Rendered(
        render_pairs(
            [
                ("version", value.version),
                ("pid", str(value.pid)),
                ("home", safe_line(value.home)),
                ("url", safe_line(value.url or "")),
                ("started", format_time(value.started_at)),
                ("schema", str(value.schema)),
                ("events", str(value.events)),
                ("sessions", str(value.sessions)),
                ("runs", str(value.runs)),
                *(("problem", safe_line(problem)) for problem in value.problems),
            ]
        )
    )


def render_stopped(value: StoppedServer, view: View) -> Rendered:
    remaining = {0: "", 1: "; 1 session keeps running"}.get(
        value.sessions, f"; {value.sessions} sessions keep running"
    )
    return Rendered(f"the server stops (pid {value.pid}){remaining}\n")


def render_recovery(value: RecoveryReport, view: View) -> Rendered:
    """Render the sessions and runs that the server found at the start."""
    lines = ["the machine was restarted while no server ran"] if value.rebooted else []
    for state, description in _FATES.items():
        found = [session for session in value.sessions if session.state is state]
        if found:
            count = "1 session" if len(found) == 1 else f"{len(found)} sessions"
            lines.append(f"{count} {description}: {_session_names(found)}")
    lines += [_found_run_line(run) for run in value.runs]
    if not lines:
        return Rendered(notes=["no session or run was active"])
    return Rendered("".join(f"{text}\n" for text in lines))


def _session_names(sessions: list[FoundSession]) -> str:
    shown = ", ".join(safe_line(session.name) for session in sessions[:_NAMES_SHOWN])
    return f"{shown} and {len(sessions) - _NAMES_SHOWN} more" if len(sessions) > _NAMES_SHOWN else shown


def _found_run_line(run: FoundRun) -> str:
    state = "continues" if run.status is RunStatus.RUNNING else f"is {run.status}"
    tasks = "1 task" if run.tasks == 1 else f"{run.tasks} tasks"
    return f"{run.id} of {safe_line(run.task)} {state}: {run.completed} of {tasks} completed"


def render_backup(value: BackupResult, view: View) -> Rendered:
    files = "1 file" if value.blobs == 1 else f"{value.blobs} files"
    verified = f"verified in {value.verification_ms:.0f} ms"
    shown = (
        f"{safe_line(value.file)}  ({format_size(value.bytes)}, with {files} from the blobs directory; {verified})\n"
    )
    return Rendered(
        shown, [*_unsound_file_notes("missing", value.missing), *_unsound_file_notes("damaged", value.damaged)]
    )


def _unsound_file_notes(state: str, files: list[str]) -> list[str]:
    """Return a note for each file that is missing or damaged in a backup."""
    return [f"{state}: blobs/{safe_line(file[:2])}/{safe_line(file)}" for file in files]


def render_settings(value: ShownSettings, view: View) -> Rendered:
    if not value.settings:
        return Rendered(notes=["no settings"])
    notes = (
        ["the setting takes effect when the server starts again: maestro down, maestro up"]
        if value.counts_after_restart
        else []
    )
    return Rendered(
        render_pairs(
            (safe_line(name), safe_line(_setting_text(setting))) for name, setting in value.settings.items()
        ),
        notes,
    )


def render_event(value: Event, view: View) -> Rendered:
    """Render an event on one line: sequence number, time, kind, subject, actor and data."""
    about = safe_line(str(value.data.get("ref") or value.subject))
    fields = {name: field for name, field in value.data.items() if name not in _SHOWN_ELSEWHERE}
    data = f"  {paint(safe_line(_compact_json(fields)), 'dim')}" if fields else ""
    kind = paint(safe_line(value.kind), "cyan")
    return Rendered(f"{value.seq}  {format_time(value.at)}  {kind}  {about}  {safe_line(value.actor)}{data}\n")


def render_event_list(value: EventList, view: View) -> Rendered:
    if not value.events:
        return Rendered(notes=["no events"])
    return Rendered("".join(str(render_event(each, view).out) for each in value.events), next_page_note(value.cursor))


def render_resync(value: Resync, view: View) -> Rendered:
    """Render the present tasks, which replace events that the log no longer holds."""
    extent = "all tasks" if value.complete else "not all tasks"
    lines = [
        f"{value.seq}  resync  the log starts at {value.horizon}; "
        f"{len(value.tasks)} tasks in their present state ({extent}):\n"
    ]
    for task in value.tasks:
        cells = (safe_line(str(task.get(name, ""))) for name in ("ref", "status", "title"))
        lines.append("    " + "  ".join(cells) + "\n")
    return Rendered("".join(lines))


def _setting_text(value: Any) -> str:
    """Return a setting as text, an empty text as `""`: people must see that the setting exists."""
    return value if isinstance(value, str) and value else _compact_json(value)


def _compact_json(value: Any) -> str:
    """Return JSON on one line, with non-ASCII characters unescaped."""
    return json.dumps(msgspec.to_builtins(value), ensure_ascii=False, separators=(",", ":"))
