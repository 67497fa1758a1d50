"""Skills are found in the project and in the home directory, and missing or invalid skills are refused."""

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


def test_a_skill_of_the_project_comes_before_a_skill_of_the_home_directory(folders: list[Path]) -> None:
    here, there = put(folders[0], "sql"), put(folders[1], "sql")
    other = put(folders[1], "go")
    found = skills.choose_skills(["sql", "go", "sql"], ["go"], folders, whole=False)
    assert found == (
        ManifestSkill(name="sql", summary="About sql.", path=str(here)),
        ManifestSkill(name="go", summary="About go.", path=str(other)),
    )
    assert there.exists()


def test_the_refusal_of_a_missing_skill_names_the_searched_folders_and_the_known_skills(folders: list[Path]) -> None:
    put(folders[0], "sql")
    put(folders[1], "go")
    (folders[1] / "empty").mkdir()
    with pytest.raises(errors.NotFound) as refused:
        one("rust", folders)
    assert all(str(folder) in str(refused.value) for folder in folders)
    assert refused.value.hint == "Known skills: go, sql."
    assert refused.value.data["skills"] == ["go", "sql"]


def test_the_refusal_of_a_missing_skill_says_that_no_skills_exist(folders: list[Path]) -> None:
    with pytest.raises(errors.NotFound) as refused:
        one("rust", folders)
    assert refused.value.hint == "No skills exist. Create a folder with a SKILL.md."


def test_a_skill_of_a_member_without_a_file_is_kept_as_a_name(folders: list[Path]) -> None:
    made = put(folders[0], "sql")
    found = skills.choose_skills([], ["data bases", "sql", "../../etc"], folders, whole=False)
    assert [(skill.name, skill.path) for skill in found] == [
        ("data bases", None),
        ("sql", str(made)),
        ("../../etc", None),
    ]


@pytest.mark.parametrize("name", ["../sql", "a/../sql", ".", "..", "", "sql/", ".hidden", "s\nql", "a\0b"])
def test_a_path_or_a_hidden_name_is_not_found_as_a_skill(folders: list[Path], name: str) -> None:
    put(folders[0], "sql")
    put(folders[0], ".hidden")
    put(folders[0].parent, "sql")
    with pytest.raises(errors.NotFound):
        one(name, folders)


def test_a_skill_includes_its_text_up_to_the_limit_on_request(folders: list[Path]) -> None:
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
def test_the_description_of_a_skill_is_read_in_each_yaml_form(folders: list[Path], written: str, read: str) -> None:
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
def test_an_invalid_skill_file_is_refused_with_the_reason(folders: list[Path], text: str | bytes, why: str) -> None:
    made = put(folders[0], "sql", text)
    with pytest.raises(errors.Invalid, match=why) as refused:
        skills.choose_skills([], ["sql"], folders, whole=False)
    assert refused.value.data["file"] == str(made / skills.SKILL_FILE)


def test_a_pipe_in_the_place_of_a_skill_file_does_not_block_the_search(folders: list[Path]) -> None:
    (folders[0] / "sql").mkdir(parents=True)
    os.mkfifo(folders[0] / "sql" / skills.SKILL_FILE)
    with pytest.raises(errors.NotFound):
        one("sql", folders)
