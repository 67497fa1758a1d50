"""What agents ask, as text."""

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
    choices = "".join(f"  {place}. {line(choice)}\n" for place, choice in enumerate(value.choices, 1))
    step = [f"answer: maestro ask answer {value.id} …"] if value.status is Status.OPEN else []
    return Rendered(f"{value.id}  {value.kind}  {paint(line(value.title), 'bold')}\n{facts}{text}{choices}", step)


def ask_list(value: AskList, view: View) -> Rendered:
    return Rendered(table(value.asks), more(value.cursor) if value.asks else ["nobody needs you"])


def table(found: list[Ask]) -> str:
    """One line for each request."""
    rows = [
        [
            one.id,
            when(one.created_at),
            paint(one.kind, "red" if one.kind is Kind.PERMISSION else "yellow"),
            line(one.asked_by),
            line(one.title) + _outcome(one),
        ]
        for one in found
    ]
    return aligned(rows)


def _outcome(one: Ask) -> str:
    """What can be answered, or what was."""
    if one.status is Status.ANSWERED:
        return paint(f"  answered: {line(one.answer or '')}", "dim")
    if one.status is Status.WITHDRAWN:
        return paint("  withdrawn", "dim")
    return f"  [{' / '.join(map(line, one.choices))}]" if one.choices else ""
