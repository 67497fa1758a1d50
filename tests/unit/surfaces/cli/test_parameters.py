"""The declaration of a field decides which choices, aliases and empty texts the command line accepts."""

from __future__ import annotations

import pytest

from maestro.core.errors import Invalid
from maestro.operations.members import CreateMember, EditMember
from maestro.surfaces.cli import values
from maestro.surfaces.cli.parameters import Parameter, ValueKind, parameters_of

CREATE, EDIT = parameters_of(CreateMember), parameters_of(EditMember)


@pytest.mark.parametrize("tool", [CREATE["tool"], EDIT["tool"]], ids=["create", "edit"])
def test_an_enum_field_and_a_text_field_with_choices_are_read_in_the_same_way(tool: Parameter) -> None:
    assert (tool.kind, tool.choices) == (ValueKind.CHOICE, ("claude", "codex", "gemini", "command"))
    assert values.read_choice("claude-code", tool, name="--tool") == "claude"
    with pytest.raises(Invalid, match="did you mean `codex`"):
        values.read_choice("codx", tool, name="--tool")


def test_old_names_of_permissions_are_accepted() -> None:
    permission = CREATE["permission"]
    assert permission.placeholder == "plan|edit|full"
    assert values.read_choice("readOnly", permission, name="--permission") == "plan"
    assert values.read_choice("acceptEdits", permission, name="--permission") == "edit"


def test_an_empty_text_is_accepted_only_for_a_choice_that_can_be_removed() -> None:
    assert values.read_choice("", EDIT["tool"], name="--tool") == ""
    with pytest.raises(Invalid, match="--tool cannot be"):
        values.read_choice("", CREATE["tool"], name="--tool")
