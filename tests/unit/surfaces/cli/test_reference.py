"""The reference page documents every command with its route, flags and callers."""

from __future__ import annotations

from maestro.domain.callers import Callers
from maestro.operations.registry import REGISTRY
from maestro.surfaces.cli.grammar import Grammar
from maestro.surfaces.cli.reference import callers_text, command_reference


def test_the_reference_has_every_command_route_and_flag() -> None:
    page = command_reference()
    assert page == command_reference()
    for spec in Grammar(REGISTRY).specs:
        if spec.hidden:
            continue
        assert f"### maestro {spec.words}".strip() in page
        assert f"```\n{spec.usage_line}\n```" in page
        assert all(f"--{name}" in page for name in spec.flags)
    for operation in REGISTRY.values():
        if operation.command:
            assert f"`{operation.http.verb} {operation.http.path}`" in page
            assert all(example in page for example in operation.examples)
    assert "__complete" not in page


def test_choices_do_not_break_the_tables_of_the_reference() -> None:
    rows = [line for line in command_reference().splitlines() if line.startswith("|")]
    assert all(row.replace("\\|", "").count("|") == 3 for row in rows)


def test_the_callers_of_an_operation_are_described_in_words() -> None:
    assert callers_text(Callers.ANYONE) == "anyone"
    assert callers_text(Callers.KNOWN) == "the person and every session"
    assert callers_text(Callers.MOVERS) == "the person, a coordinator, a worker, on a task it holds"
    assert callers_text(Callers.PERSON) == "the person"
