"""Which skills are found, where, and what is said of those that are not."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from maestro.core import errors, limits
from maestro.domain.manifests import ManifestSkill
from maestro.prompts import skills


@pytest.fixture
def folders(tmp_path: Path) -> list[Path]:
    return [tmp_path / "vc" / skills.PROJECT_FOLDER, tmp_path / "home" / skills.HOME_FOLDER]


def put(folder: Path, name: str, text: str | bytes = "") -> Path:
    made = folder / name
    made.mkdir(parents=True)
    told = text or f"---\nname: {name}\ndescription: About {name}.\n---\nThe rest.\n"
    (made / skills.SKILL_FILE).write_bytes(told if isinstance(told, bytes) else told.encode())
    return made


def one(name: str, folders: list[Path], *, whole: bool = False) -> ManifestSkill:
    (found,) = skills.choose_skills([name], [], folders, whole=whole)
    return found


def test_a_projects_own_come_first(folders: list[Path]) -> None:
    here, there = put(folders[0], "sql"), put(folders[1], "sql")
    other = put(folders[1], "go")
    found = skills.choose_skills(["sql", "go", "sql"], ["go"], folders, whole=False)
    assert found == (
        ManifestSkill(name="sql", summary="About sql.", path=str(here)),
        ManifestSkill(name="go", summary="About go.", path=str(other)),
    )
    assert there.exists()


def test_where_it_was_looked_for_and_what_there_is_are_said(folders: list[Path]) -> None:
    put(folders[0], "sql")
    put(folders[1], "go")
    (folders[1] / "empty").mkdir()
    with pytest.raises(errors.NotFound) as refused:
        one("rust", folders)
    assert all(str(folder) in str(refused.value) for folder in folders)
    assert refused.value.hint == "Known skills: go, sql."
    assert refused.value.data["skills"] == ["go", "sql"]


def test_where_there_are_none_that_is_said(folders: list[Path]) -> None:
    with pytest.raises(errors.NotFound) as refused:
        one("rust", folders)
    assert refused.value.hint == "No skills exist. Create a folder with a SKILL.md."


def test_what_a_member_can_do_may_be_a_word(folders: list[Path]) -> None:
    made = put(folders[0], "sql")
    found = skills.choose_skills([], ["data bases", "sql", "../../etc"], folders, whole=False)
    assert [(skill.name, skill.path) for skill in found] == [
        ("data bases", None),
        ("sql", str(made)),
        ("../../etc", None),
    ]


@pytest.mark.parametrize("name", ["../sql", "a/../sql", ".", "..", "", "sql/", ".hidden", "s\nql", "a\0b"])
def test_a_path_is_no_name(folders: list[Path], name: str) -> None:
    put(folders[0], "sql")
    put(folders[0], ".hidden")
    put(folders[0].parent, "sql")
    with pytest.raises(errors.NotFound):
        one(name, folders)


def test_the_whole_text_for_who_cannot_be_given_the_file(folders: list[Path]) -> None:
    put(folders[0], "sql")
    assert one("sql", folders, whole=True).text.endswith("---\nThe rest.\n")
    put(folders[0], "long", "---\nname: long\ndescription: D.\n---\n" + "ä" * 100_000)
    assert len(one("long", folders, whole=True).text) == limits.skill_text_chars_max


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("description: Plain: with a colon.", "Plain: with a colon."),
        ('description: "In quotes."', "In quotes."),
        ("description: >-\n  Over two\n  lines.\nlicense: MIT", "Over two lines."),
        ("description: |\n\n  Below.", "Below."),
        ("metadata:\n  description: not this\ndescription: This.", "This."),
        ("description: Begins here\n  and goes on.", "Begins here and goes on."),
    ],
)
def test_a_description_however_it_is_written(folders: list[Path], written: str, read: str) -> None:
    put(folders[0], "sql", f"\ufeff---\r\nname: sql\r\n{written}\n---\nText.")
    assert one("sql", folders).summary == read


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("Just text.", "line 1: A skill must begin with"),
        ("---\nname: sql\ndescription: x\n", "does not end"),
        ("---\nname: sql\n---\n", "has no description"),
        ("---\nname: other\ndescription: x\n---\n", "must be the folder's name, sql"),
        ("---\ndescription: x\n---\n", "must be the folder's name, sql"),
        (b"---\nname: sql\ndescription: \xff\n---\n", "line 3: The file is not UTF-8"),
    ],
)
def test_a_broken_one_is_refused_with_the_reason(folders: list[Path], text: str | bytes, why: str) -> None:
    made = put(folders[0], "sql", text)
    with pytest.raises(errors.Invalid, match=why) as refused:
        skills.choose_skills([], ["sql"], folders, whole=False)
    assert refused.value.data["file"] == str(made / skills.SKILL_FILE)


def test_a_pipe_in_its_place_holds_nobody_up(folders: list[Path]) -> None:
    (folders[0] / "sql").mkdir(parents=True)
    os.mkfifo(folders[0] / "sql" / skills.SKILL_FILE)
    with pytest.raises(errors.NotFound):
        one("sql", folders)
