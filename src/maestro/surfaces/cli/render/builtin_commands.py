"""Render the answers of the command's own commands as text: the list of commands and the board."""

from __future__ import annotations

from maestro.surfaces.cli.local_commands import Board, CommandInfo, CommandList
from maestro.surfaces.cli.render import asks, runs, sessions, tasks
from maestro.surfaces.cli.render.base import Rendered, format_time
from maestro.surfaces.cli.render.projects import task_counts
from maestro.surfaces.cli.render.style import View, align_rows, paint, safe_line


def render_command(value: CommandInfo, view: View) -> Rendered:
    return Rendered(f"{value.usage}\n")


def render_command_list(value: CommandList, view: View) -> Rendered:
    rows = [[f"maestro {command.command}".strip(), command.summary] for command in value.commands]
    return Rendered(align_rows(rows))


def render_board(value: Board, view: View) -> Rendered:
    parts = []
    if value.asks:
        parts.append(f"{paint('needs you', 'bold')}\n{asks.ask_table(value.asks)}\n")
    if value.unread:
        parts.append(f"{paint(f'{value.unread} unread', 'bold')}  maestro mail inbox\n\n")
    if value.sessions:
        more = "… and more: maestro session list --active\n" if value.hidden_sessions else ""
        parts.append(f"{paint('sessions', 'bold')}\n{sessions.live_session_table(value.sessions, view)}{more}\n")
    if value.project:
        parts.append(
            f"{paint(safe_line(value.project.name), 'bold')}  {paint(safe_line(value.project.key), 'dim')}\n"
        )
        parts.append(f"tasks: {task_counts(value.project.tasks)}\n")
    for name, found in (("in progress", value.in_progress), ("ready", value.ready)):
        if found:
            notes_of_tasks = [tasks.holder_note(task) for task in found]
            parts.append(f"\n{paint(name, 'dim')}\n{tasks.task_table(found, view, notes=notes_of_tasks, head=False)}")
    if value.runs:
        parts.append(f"\n{paint('runs', 'dim')}\n{runs.run_table(value.runs)}")
    if value.troubled:
        rows = [
            [safe_line(session.name), sessions.status_word(session.status), format_time(session.status_at)]
            for session in value.troubled
        ]
        parts.append(f"\n{paint('lost or failed', 'dim')}\n{align_rows(rows)}")
    notes = [] if value.project else ["this directory belongs to no project"]
    return Rendered("".join(parts), [*notes, *(f"next: {step}" for step in value.next)])
