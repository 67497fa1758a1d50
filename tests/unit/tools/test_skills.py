"""The skills of a session are linked into a folder of the session."""

from __future__ import annotations

from pathlib import Path

import pytest

from maestro.tools.skills import link_skills


@pytest.fixture
def skill(tmp_path: Path) -> Path:
    """Return the folder of a skill."""
    folder = tmp_path / "theirs" / "sql"
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text("About queries.")
    return folder


def test_each_skill_is_linked_with_its_name(skill: Path, tmp_path: Path) -> None:
    linked = link_skills([str(skill)], str(tmp_path / "session"))
    assert linked.is_relative_to(tmp_path / "session")
    assert (linked / "sql").readlink() == skill
    assert (linked / "sql" / "SKILL.md").read_text() == "About queries."


def test_a_second_start_replaces_the_links_and_keeps_the_skills(skill: Path, tmp_path: Path) -> None:
    other = skill.with_name("git")
    other.mkdir()
    link_skills([str(skill)], str(tmp_path / "session"))
    linked = link_skills([str(other)], str(tmp_path / "session"))
    assert [link.name for link in linked.iterdir()] == ["git"]
    assert (skill / "SKILL.md").exists()
