"""Render asks as text."""

from __future__ import annotations

from maestro.domain.asks import Ask, Kind, Status
from maestro.operations.asks import AskList
from maestro.surfaces.cli.render.base import Rendered, more, pairs, when
from maestro.surfaces.cli.render.style import View, aligned, indented, line, paint


def ask(value: Ask, view: View) -> Rendered:
    facts = pairs(
        [
            ("from", line(value.asked_by)),
            ("asked", when(value.created_at)),
            ("status", paint(value.status, "yellow" if value.status is Status.OPEN else "")),
            ("answer", line(value.answer or "")),
            ("by", line(value.answered_by or "")),
        ]
    )
    text = f"\n{indented(value.text, '| ')}\n" if value.text else ""
    choices = "".join(f"  {number}. {line(choice)}\n" for number, choice in enumerate(value.choices, 1))
    notes = [f"answer: maestro ask answer {value.id} …"] if value.status is Status.OPEN else []
    return Rendered(f"{value.id}  {value.kind}  {paint(line(value.title), 'bold')}\n{facts}{text}{choices}", notes)


def ask_list(value: AskList, view: View) -> Rendered:
    return Rendered(table(value.asks), more(value.cursor) if value.asks else ["no open asks"])


def table(asks: list[Ask]) -> str:
    """Return one line for each ask."""
    rows = [
        [
            ask.id,
            when(ask.created_at),
            paint(ask.kind, "red" if ask.kind is Kind.PERMISSION else "yellow"),
            line(ask.asked_by),
            line(ask.title) + _ask_outcome(ask),
        ]
        for ask in asks
    ]
    return aligned(rows)


def _ask_outcome(ask: Ask) -> str:
    """Return the choices of an open ask, or the answer to a closed one."""
    if ask.status is Status.ANSWERED:
        return paint(f"  answered: {line(ask.answer or '')}", "dim")
    if ask.status is Status.WITHDRAWN:
        return paint("  withdrawn", "dim")
    return f"  [{' / '.join(map(line, ask.choices))}]" if ask.choices else ""
