"""The generated reference names every operation, error and event, with the facts of the declarations."""

from __future__ import annotations

from maestro.core import errors
from maestro.docs.generate import generated_files
from maestro.domain.callers import Callers
from maestro.domain.events import EventKind
from maestro.operations import projects, tasks
from maestro.operations.base import Operation
from maestro.operations.registry import REGISTRY
from maestro.surfaces.cli import error_exit_codes
from maestro.surfaces.rest.statuses import status_of


def page(name: str) -> str:
    return generated_files()[f"docs/reference/{name}"]


def row_of(text: str, first_cell: str) -> list[str]:
    """Return the cells after the first cell of the table row that starts with `first_cell`."""
    (line,) = [line for line in text.splitlines() if line.startswith(f"| {first_cell} |")]
    return [cell.strip() for cell in line.strip("|").split("|")][1:]


def permissions(operation: Operation) -> dict[str, str]:
    cells = row_of(page("permissions.md"), operation.name)
    return dict(zip(("person", "coordinator", "worker", "nobody"), cells, strict=False))


def test_every_operation_has_exactly_one_row_that_ends_with_its_route() -> None:
    for operation in REGISTRY.values():
        assert row_of(page("permissions.md"), operation.name)[-1] == f"`{operation.http.verb} {operation.http.path}`"


def test_operations_only_for_the_holder_of_the_task_show_held_in_the_worker_column() -> None:
    held = [operation for operation in REGISTRY.values() if permissions(operation)["worker"] == "held"]
    assert tasks.COMPLETE in held
    for operation in held:
        assert Callers.HOLDER in operation.callers and Callers.WORKER not in operation.callers


def test_the_columns_of_callers_agree_with_the_declaration() -> None:
    for operation in REGISTRY.values():
        shown = permissions(operation)
        assert (shown["person"] == "yes") is (Callers.PERSON in operation.callers), operation.name
        assert (shown["nobody"] == "yes") is (Callers.NOBODY in operation.callers), operation.name
    assert permissions(projects.LOCATE)["person"] == "yes"


def test_every_error_has_exactly_one_row_with_exit_code_status_and_meaning() -> None:
    for code, kind in errors.errors_by_code().items():
        exit_code, status, retryable, meaning = row_of(page("errors.md"), f"`{code}`")
        assert (int(exit_code), int(status)) == (error_exit_codes.exit_code_of(kind), status_of(kind))
        assert retryable == ("yes" if kind.retryable else "no")
        assert meaning == kind().message


def test_every_kind_of_event_is_listed_once() -> None:
    lines = page("events.md").splitlines()
    assert [line for line in lines if line.startswith("- ")] == [f"- `{kind.value}`" for kind in EventKind]
