"""Render the answers of the command's own commands as text: the list of commands and the board."""

from __future__ import annotations

from maestro.surfaces.cli.own import Board, CommandInfo, CommandList
from maestro.surfaces.cli.render import asks, runs, sessions, tasks
from maestro.surfaces.cli.render.base import Rendered, when
from maestro.surfaces.cli.render.projects import counts
from maestro.surfaces.cli.render.style import View, aligned, line, paint


def command(value: CommandInfo, view: View) -> Rendered:
    return Rendered(f"{value.usage}\n")


def command_list(value: CommandList, view: View) -> Rendered:
    rows = [[f"maestro {command.command}".strip(), command.summary] for command in value.commands]
    return Rendered(aligned(rows))


def board(value: Board, view: View) -> Rendered:
    parts = []
    if value.asks:
        parts.append(f"{paint('needs you', 'bold')}\n{asks.table(value.asks)}\n")
    if value.unread:
        parts.append(f"{paint(f'{value.unread} unread', 'bold')}  maestro mail inbox\n\n")
    if value.project:
        parts.append(f"{paint(line(value.project.name), 'bold')}  {paint(line(value.project.key), 'dim')}\n")
        parts.append(f"tasks: {counts(value.project.tasks)}\n")
    for name, found in (("in progress", value.in_progress), ("ready", value.ready)):
        if found:
            notes_of_tasks = [tasks.standing(task) for task in found]
            parts.append(f"\n{paint(name, 'dim')}\n{tasks.table(found, view, notes=notes_of_tasks, head=False)}")
    if value.runs:
        parts.append(f"\n{paint('runs', 'dim')}\n{runs.table(value.runs)}")
    if value.troubled:
        rows = [
            [line(session.name), sessions.status_word(session.status), when(session.status_at)]
            for session in value.troubled
        ]
        parts.append(f"\n{paint('sessions', 'dim')}\n{aligned(rows)}")
    notes = [] if value.project else ["this directory belongs to no project"]
    return Rendered("".join(parts), [*notes, *(f"next: {step}" for step in value.next)])
