"""Model tiers and permission levels of a tool are packaged, and a file of the user overrides single values."""

from __future__ import annotations

from pathlib import Path

import pytest

from maestro.core import errors
from maestro.domain.members import Permission
from maestro.tools import levels, registry
from maestro.tools.levels import ToolLevels

PACKAGED = {
    "one": ToolLevels(
        program="one",
        model="usual",
        models={"fast": "small", "best": "large"},
        permissions={Permission.PLAN: ["read"], Permission.EDIT: ["write"]},
    ),
    "two": ToolLevels(program="two"),
}


def levels_with(home: Path, text: str, tool: str = "one") -> ToolLevels:
    (home / levels.FILE_NAME).write_text(text)
    return levels.read_levels(tool, home, PACKAGED)


def test_without_overrides_the_packaged_levels_apply(tmp_path: Path) -> None:
    assert levels.read_levels("one", None, PACKAGED) is PACKAGED["one"]
    assert levels.read_levels("one", tmp_path, PACKAGED) is PACKAGED["one"]
    assert levels_with(tmp_path, '[two]\nprogram = "x"\n') is PACKAGED["one"]


def test_overrides_of_the_user_replace_single_values(tmp_path: Path) -> None:
    found = levels_with(tmp_path, '[one.models]\nbest = "own"\n[one.permissions]\nplan = ["-r"]\n')
    assert found == ToolLevels(
        program="one",
        model="usual",
        models={"fast": "small", "best": "own"},
        permissions={Permission.PLAN: ["-r"], Permission.EDIT: ["write"]},
    )


def test_an_empty_override_replaces_the_packaged_value(tmp_path: Path) -> None:
    found = levels_with(tmp_path, '[one]\nmodel = ""\nprogram = "/opt/one"\n')
    assert (found.model, found.program) == ("", "/opt/one")
    assert found.model_for(None) is None


def test_a_model_is_a_tier_a_name_or_the_default() -> None:
    one = PACKAGED["one"]
    assert [one.model_for(wanted) for wanted in ("best", "other", None, "")] == ["large", "other", "usual", "usual"]
    assert PACKAGED["two"].model_for(None) is None


def test_a_levels_file_that_is_not_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / levels.FILE_NAME).write_bytes(b"\xff")
    with pytest.raises(errors.Invalid, match="cannot be used"):
        levels.read_levels("one", tmp_path, PACKAGED)


def test_an_unknown_tool_is_refused_with_the_known_tools(tmp_path: Path) -> None:
    with pytest.raises(errors.Invalid, match="unknown tool 'three'") as refused:
        levels_with(tmp_path, "[three]\n")
    assert refused.value.hint == "Known tools: one, two."


@pytest.mark.parametrize(
    "text", ["[claude", "[nobody]\n", "[claude]\nprogramme = 1\n", "[claude.permissions]\nall = []\n"]
)
def test_an_invalid_levels_file_is_refused_with_its_name(text: str, tmp_path: Path) -> None:
    (tmp_path / levels.FILE_NAME).write_text(text)
    with pytest.raises(errors.Invalid, match=levels.FILE_NAME):
        registry.read_levels("claude", tmp_path)


def test_the_tiers_of_claude_can_be_overridden(tmp_path: Path) -> None:
    (tmp_path / levels.FILE_NAME).write_text('[claude.models]\nbest = "their-own"\n[codex]\nprogram = "/opt/codex"\n')
    claude = registry.read_levels("claude", tmp_path)
    assert [claude.model_for(name) for name in ("best", "fast", "a-full-name", None)] == [
        "their-own",
        "haiku",
        "a-full-name",
        None,
    ]
