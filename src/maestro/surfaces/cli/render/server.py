"""The server itself as text: its state, its settings, and the lines of its log."""

from __future__ import annotations

import json
from typing import Any

import msgspec

from maestro.domain.events import Event
from maestro.domain.runs import RunStatus
from maestro.operations.server import (
    BackupDone,
    EventList,
    Fate,
    FoundRun,
    FoundSession,
    Recovery,
    Resync,
    ServerStatus,
    Settings,
    Stopped,
)
from maestro.surfaces.cli.render.base import Rendered, more, pairs, size, when
from maestro.surfaces.cli.render.style import View, line, paint

_NAMES_SHOWN = 8
_FATES = {
    Fate.ALIVE: "found alive",
    Fate.RESUMED: "started again",
    Fate.RESUMING: "about to be started again",
    Fate.LOST: "lost (maestro session resume NAME)",
    Fate.REDONE: "lost; their runs try again",
    Fate.ENDED: "ended meanwhile",
    Fate.UNHEARD: "not heard of yet",
}
# Said by the event's own columns.
_SHOWN_ELSEWHERE = ("ref",)


def status(value: ServerStatus, view: View) -> Rendered:
    return Rendered(
        pairs(
            [
                ("version", value.version),
                ("pid", str(value.pid)),
                ("home", line(value.home)),
                ("url", line(value.url or "")),
                ("started", when(value.started_at)),
                ("schema", str(value.schema)),
                ("events", str(value.events)),
                ("sessions", str(value.sessions)),
                ("runs", str(value.runs)),
                *(("problem", line(problem)) for problem in value.problems),
            ]
        )
    )


def stopped(value: Stopped, view: View) -> Rendered:
    left = {0: "", 1: "; 1 session goes on"}.get(value.sessions, f"; {value.sessions} sessions go on")
    return Rendered(f"the server stops (pid {value.pid}){left}\n")


def recovery(value: Recovery, view: View) -> Rendered:
    """What was running, in a few lines; nothing if nothing was."""
    lines = ["the machine was restarted meanwhile"] if value.rebooted else []
    for fate, words in _FATES.items():
        found = [one for one in value.sessions if one.fate is fate]
        if found:
            many = "1 session" if len(found) == 1 else f"{len(found)} sessions"
            lines.append(f"{many} {words}: {_names(found)}")
    lines += [_found_run(run) for run in value.runs]
    if not lines:
        return Rendered(notes=["nothing was running"])
    return Rendered("".join(f"{one}\n" for one in lines))


def _names(found: list[FoundSession]) -> str:
    shown = ", ".join(line(one.name) for one in found[:_NAMES_SHOWN])
    return f"{shown} and {len(found) - _NAMES_SHOWN} more" if len(found) > _NAMES_SHOWN else shown


def _found_run(run: FoundRun) -> str:
    how = "goes on" if run.status is RunStatus.RUNNING else f"is {run.status}"
    tasks = "1 task" if run.tasks == 1 else f"{run.tasks} tasks"
    return f"{run.id} of {line(run.task)} {how}: {run.completed} of {tasks} completed"


def backup(value: BackupDone, view: View) -> Rendered:
    files = "1 file" if value.blobs == 1 else f"{value.blobs} files"
    verified = f"verified in {value.verification_ms:.0f} ms"
    shown = f"{line(value.file)}  ({size(value.bytes)}, with {files} from beside the database; {verified})\n"
    return Rendered(shown, [*_unsound("missing", value.missing), *_unsound("damaged", value.damaged)])


def _unsound(state: str, files: list[str]) -> list[str]:
    """Name each file that is not in a backup as it should be."""
    return [f"{state}: blobs/{line(file[:2])}/{line(file)}" for file in files]


def settings(value: Settings, view: View) -> Rendered:
    if not value.settings:
        return Rendered(notes=["no settings"])
    notes = ["it counts once the server starts again: maestro down"] if value.counts_after_restart else []
    return Rendered(pairs((line(name), line(_setting(one))) for name, one in value.settings.items()), notes)


def event(value: Event, view: View) -> Rendered:
    """seq, time, kind, what it is about, by whom, and the rest."""
    about = line(str(value.data.get("ref") or value.subject))
    rest = {name: one for name, one in value.data.items() if name not in _SHOWN_ELSEWHERE}
    said = f"  {paint(line(_compact(rest)), 'dim')}" if rest else ""
    kind = paint(line(value.kind), "cyan")
    return Rendered(f"{value.seq}  {when(value.at)}  {kind}  {about}  {line(value.actor)}{said}\n")


def event_list(value: EventList, view: View) -> Rendered:
    if not value.events:
        return Rendered(notes=["no events"])
    return Rendered("".join(str(event(one, view).out) for one in value.events), more(value.cursor))


def resync(value: Resync, view: View) -> Rendered:
    """The log no longer reaches back: the tasks as they stand take the place of what is gone."""
    whole = "all" if value.complete else "not all"
    lines = [
        f"{value.seq}  resync  the log begins at {value.horizon}; "
        f"{len(value.tasks)} tasks as they stand ({whole} of them):\n"
    ]
    for task in value.tasks:
        words = (line(str(task.get(name, ""))) for name in ("ref", "status", "title"))
        lines.append("    " + "  ".join(words) + "\n")
    return Rendered("".join(lines))


def _setting(value: Any) -> str:
    """Also one that is empty is shown: how else would anyone know that it is there?"""
    return value if isinstance(value, str) and value else _compact(value)


def _compact(value: Any) -> str:
    """JSON on one line, with what is not ASCII as it is."""
    return json.dumps(msgspec.to_builtins(value), ensure_ascii=False, separators=(",", ":"))
