"""Render asks as text."""

from __future__ import annotations

from maestro.domain.asks import Ask, AskKind, AskStatus
from maestro.operations.asks import AskList
from maestro.surfaces.cli.render.base import Rendered, format_time, next_page_note, render_pairs
from maestro.surfaces.cli.render.style import View, align_rows, indent_text, paint, safe_line


def render_ask(value: Ask, view: View) -> Rendered:
    facts = render_pairs(
        [
            ("from", safe_line(value.asked_by)),
            ("window", safe_line(value.window)),
            ("asked", format_time(value.created_at)),
            ("status", paint(value.status, "yellow" if value.status is AskStatus.OPEN else "")),
            ("answer", safe_line(value.answer or "")),
            ("by", safe_line(value.answered_by or "")),
        ]
    )
    text = f"\n{indent_text(value.text, '| ')}\n" if value.text else ""
    choices = "".join(f"  {number}. {safe_line(choice)}\n" for number, choice in enumerate(value.choices, 1))
    notes = [f"answer: {_answer_way(value)}"] if value.status is AskStatus.OPEN else []
    return Rendered(
        f"{value.id}  {value.kind}  {paint(safe_line(value.title), 'bold')}\n{facts}{text}{choices}", notes
    )


def render_ask_list(value: AskList, view: View) -> Rendered:
    return Rendered(ask_table(value.asks), next_page_note(value.cursor) if value.asks else ["no open asks"])


def ask_table(asks: list[Ask]) -> str:
    """Return one line for each ask."""
    rows = [
        [
            ask.id,
            format_time(ask.created_at),
            paint(ask.kind, "red" if ask.kind is AskKind.PERMISSION else "yellow"),
            safe_line(ask.asked_by),
            safe_line(ask.title) + _ask_outcome(ask),
        ]
        for ask in asks
    ]
    return align_rows(rows)


def _ask_outcome(ask: Ask) -> str:
    """Return the choices of an open ask, or the answer to a closed one."""
    if ask.status is AskStatus.ANSWERED:
        return paint(f"  answered: {safe_line(ask.answer or '')}", "dim")
    if ask.status is AskStatus.WITHDRAWN:
        return paint("  withdrawn", "dim")
    if ask.in_own_window:
        return paint(f"  answer in its own window: {safe_line(ask.window)}".rstrip(": "), "dim")
    choices = f"  [{' / '.join(map(safe_line, ask.choices))}]" if ask.choices else ""
    return f"{choices}{paint(f'  in {safe_line(ask.window)}', 'dim')}" if ask.window else choices


def _answer_way(ask: Ask) -> str:
    """Return where the person answers: by a command, or in the session's own window."""
    if ask.in_own_window:
        return f"in its own window{': ' if ask.window else ''}{safe_line(ask.window)}"
    return f"maestro ask answer {ask.id} …"
