"""The skills of a session become a plugin of Claude Code."""

from __future__ import annotations

import json
from pathlib import Path

from maestro.tools.claude.plugin import plugin_arguments


def test_without_skills_no_plugin_is_created(tmp_path: Path) -> None:
    assert plugin_arguments([], str(tmp_path)) == []
    assert list(tmp_path.iterdir()) == []


def test_the_plugin_has_a_manifest_and_the_skills_of_the_session(tmp_path: Path) -> None:
    skill = tmp_path / "theirs" / "sql"
    skill.mkdir(parents=True)
    for _ in range(2):  # a second start finds the folders of the first start
        flag, root = plugin_arguments([str(skill)], str(tmp_path / "session"))
    assert flag == "--plugin-dir"
    assert json.loads((Path(root) / ".claude-plugin" / "plugin.json").read_text())["name"] == "maestro"
    assert (Path(root) / "skills" / "sql").resolve() == skill
