"""What the command line learns from a declaration about choices."""

from __future__ import annotations

import pytest

from maestro.core.errors import Invalid
from maestro.operations.members import CreateMember, EditMember
from maestro.surfaces.cli import values
from maestro.surfaces.cli.parameters import Parameter, ValueKind, parameters_of

CREATE, EDIT = parameters_of(CreateMember), parameters_of(EditMember)


@pytest.mark.parametrize("tool", [CREATE["tool"], EDIT["tool"]], ids=["create", "edit"])
def test_an_enum_and_a_text_that_names_one_read_alike(tool: Parameter) -> None:
    assert (tool.kind, tool.choices) == (ValueKind.CHOICE, ("claude", "codex", "gemini", "command"))
    assert values.read_choice("claude-code", tool, name="--tool") == "claude"
    with pytest.raises(Invalid, match="did you mean `codex`"):
        values.read_choice("codx", tool, name="--tool")


def test_old_names_of_permissions_are_accepted() -> None:
    permission = CREATE["permission"]
    assert permission.placeholder == "plan|edit|full"
    assert values.read_choice("readOnly", permission, name="--permission") == "plan"
    assert values.read_choice("acceptEdits", permission, name="--permission") == "edit"


def test_an_empty_text_takes_a_choice_back_only_where_it_may() -> None:
    assert values.read_choice("", EDIT["tool"], name="--tool") == ""
    with pytest.raises(Invalid, match="--tool cannot be"):
        values.read_choice("", CREATE["tool"], name="--tool")
