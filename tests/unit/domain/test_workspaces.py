"""The name of a workspace follows from the path of its checkout, and equal names get a number."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from maestro.core import limits
from maestro.core.errors import NameTaken
from maestro.domain.workspaces import COLLECTING_FOLDERS, next_free_name, same_name_max, workspace_name

HOME = "/home/dave"


@pytest.mark.parametrize(
    ("path", "name"),
    [
        # a folder that names the owner
        ("/home/dave/src/dave/vc", "dave"),
        ("/home/dave/src/Fred/vc", "fred"),
        ("/home/dave/src/fred/vc/", "fred"),
        ("/home/dave/src/fred/vc-again", "fred"),
        ("/home/dave/src/github.com/steveyegge/vc", "steveyegge"),
        ("/home/dave/go/src/github.com/steveyegge/vc", "steveyegge"),
        ("/home/dave/my stuff/vc", "my-stuff"),
        ("/home/dave/.cache/vc", "cache"),
        ("/home/fred/vc", "fred"),
        ("/home/dave/src/team/vc", "the-team"),
        # collecting folders
        ("/home/dave/src/vc", "main"),
        ("/home/dave/Code/vc", "main"),
        ("/home/dave/Documents/vc", "main"),
        ("/home/dave/go/src/vc", "main"),
        ("/home/dave/src/github.com/vc", "main"),
        ("/srv/vc", "main"),
        ("/opt/vc", "main"),
        ("/tmp/vc", "main"),
        ("/home/vc", "main"),
        ("/home/dave/漢字/vc", "main"),
        # directly below the home directory, the home directory itself, and the root
        ("/home/dave/vc", "main"),
        ("/home/dave", "main"),
        ("/home/dave/", "main"),
        ("/vc", "main"),
        ("/", "main"),
        # folders with the worktrees of a single project
        ("/home/dave/src/vc/fred", "fred"),
        ("/home/dave/src/vc/main", "main"),
        ("/home/dave/src/vc/vc", "main"),
        ("/home/dave/src/VC/Fix Crash", "fix-crash"),
        ("/home/dave/src/vc/.worktrees/fix", "fix"),
        ("/home/dave/src/vc/.claude/worktrees/fix", "fix"),
        ("/home/dave/src/vc-worktrees/fix", "fix"),
        ("/home/dave/src/vc.worktrees/fix", "fix"),
        ("/home/dave/src/worktrees/vc", "main"),
        ("/home/dave/src/other-worktrees/vc", "other-worktrees"),
    ],
)
def test_a_workspace_gets_its_name_from_the_folders_around_its_checkout(path: str, name: str) -> None:
    assert workspace_name(path, home=HOME, project="vc") == name


def test_the_workspace_of_a_submodule_gets_the_name_of_the_outer_repository() -> None:
    assert workspace_name("/home/dave/src/vc/beads", home=HOME, project="beads") == "vc"


def test_a_setting_adds_collecting_folders() -> None:
    more = COLLECTING_FOLDERS | {"Kunden"}
    assert workspace_name("/home/dave/Kunden/vc", home=HOME, project="vc", collecting_folders=more) == "main"


def test_the_names_of_collecting_folders_are_in_lower_case() -> None:
    assert {name.lower() for name in COLLECTING_FOLDERS} == COLLECTING_FOLDERS


@pytest.mark.parametrize(
    ("taken", "name"), [(set(), "dave"), ({"dave"}, "dave-2"), ({"dave", "dave-2", "dave-4"}, "dave-3")]
)
def test_a_taken_workspace_name_gets_the_lowest_free_number(taken: set[str], name: str) -> None:
    assert next_free_name("dave", taken.__contains__) == name


def test_a_numbered_name_is_not_longer_than_the_limit() -> None:
    long = "x" * limits.name_chars_max
    assert next_free_name(long, {long}.__contains__) == "x" * (limits.name_chars_max - 2) + "-2"


def test_the_search_for_a_free_name_ends_at_the_limit() -> None:
    asked: list[str] = []

    def taken(name: str) -> bool:
        asked.append(name)
        return True

    with pytest.raises(NameTaken):
        next_free_name("dave", taken)
    assert len(asked) == same_name_max


@given(st.text(min_size=1, max_size=40))
def test_any_path_gives_a_workspace_name(path: str) -> None:
    assert workspace_name(path, home=HOME, project="vc")
