from __future__ import annotations

from maestro.domain.callers import Callers
from maestro.operations.registry import REGISTRY
from maestro.surfaces.cli.grammar import Grammar
from maestro.surfaces.cli.reference import callers, reference


def test_the_reference_has_every_command_route_and_flag() -> None:
    page = reference()
    assert page == reference()
    for spec in Grammar(REGISTRY).specs:
        if spec.hidden:
            continue
        assert f"### maestro {spec.words}".strip() in page
        assert f"```\n{spec.usage}\n```" in page
        assert all(f"--{name}" in page for name in spec.flags)
    for operation in REGISTRY.values():
        if operation.command:
            assert f"`{operation.http.verb} {operation.http.path}`" in page
            assert all(example in page for example in operation.examples)
    assert "__complete" not in page


def test_tables_survive_choices() -> None:
    rows = [line for line in reference().splitlines() if line.startswith("|")]
    assert all(row.replace("\\|", "").count("|") == 3 for row in rows)


def test_who_may_call_in_words() -> None:
    assert callers(Callers.ANYONE) == "anyone"
    assert callers(Callers.KNOWN) == "the person and every session"
    assert callers(Callers.MOVERS) == "the person, a coordinator, a worker, on a task it holds"
    assert callers(Callers.PERSON) == "the person"
