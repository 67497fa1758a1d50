"""The project of a checkout follows from its remotes, its first commit or its path."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from maestro.core import ids
from maestro.core.clock import UNIX_EPOCH
from maestro.domain import identity
from maestro.domain.identity import RESERVED_NAMES, Checkout, clean_name, identify_project

ROOT = "a" * 40


def checkout(
    path: str = "/home/dave/src/vc",
    *,
    git_dir: str = "",
    common_dir: str = "",
    root_commit: str | None = None,
    is_shallow: bool = False,
    origin: str = "",
    remotes: dict[str, str] | None = None,
) -> Checkout:
    return Checkout(
        toplevel=path,
        git_dir=git_dir or f"{path}/.git",
        common_dir=common_dir or git_dir or f"{path}/.git",
        remotes=remotes or ({"origin": origin} if origin else {}),
        root_commit=root_commit,
        is_shallow=is_shallow,
    )


def test_two_clones_of_the_same_remote_belong_to_the_same_project() -> None:
    one = identify_project(checkout("/home/dave/src/dave/vc", origin="git@github.com:steveyegge/vc.git"))
    other = identify_project(checkout("/home/dave/src/fred/vc", origin="https://github.com/steveyegge/vc"))
    assert one.key == other.key == "github.com/steveyegge/vc"
    assert (one.name, one.source) == ("vc", "remote")


FORK = {"origin": "git@github.com:dave/vc.git", "upstream": "git@github.com:steveyegge/vc.git"}


@pytest.mark.parametrize(
    ("remotes", "prefer", "key"),
    [
        (FORK, "origin", "github.com/dave/vc"),
        (FORK, "upstream", "github.com/steveyegge/vc"),
        (FORK, "elsewhere", "github.com/dave/vc"),
        ({"upstream": "host:up/vc", "backup": "host:back/vc"}, "origin", "host/up/vc"),
        ({"origin": "host:own/vc"}, "upstream", "host/own/vc"),
        ({"only": "host:only/vc"}, "origin", "host/only/vc"),
        ({"zeta": "host:z/vc", "alpha": "host:a/vc"}, "origin", "host/a/vc"),
        ({"zeta": "host:z/vc", "alpha": "host:a/vc"}, "zeta", "host/z/vc"),
        ({"origin": "ext::command", "upstream": "host:up/vc"}, "origin", "host/up/vc"),
        ({"origin": "", "zeta": "host:z/vc"}, "origin", "host/z/vc"),
    ],
)
def test_the_preferred_remote_or_a_fixed_order_selects_one_of_several_remotes(
    remotes: dict[str, str], prefer: str, key: str
) -> None:
    assert identify_project(checkout(remotes=remotes), prefer=prefer).key == key


def test_a_checkout_without_a_remote_is_identified_by_its_first_commit_and_path() -> None:
    found = identify_project(checkout(root_commit=ROOT))
    assert found.key == f"root:{ROOT}:/home/dave/src/vc"
    assert (found.name, found.source) == ("vc", "root")


def test_two_repositories_with_the_same_first_commit_are_two_projects() -> None:
    one, other = (identify_project(checkout(path, root_commit=ROOT)) for path in ("/src/one", "/src/other"))
    assert one.key != other.key


def test_linked_worktrees_of_a_repository_without_a_remote_have_the_same_project() -> None:
    main = identify_project(checkout("/src/vc", root_commit=ROOT))
    linked = identify_project(
        checkout("/trees/dave", git_dir="/src/vc/.git/worktrees/dave", common_dir="/src/vc/.git", root_commit=ROOT)
    )
    assert linked == main


def test_a_relative_remote_gives_all_linked_worktrees_the_same_project() -> None:
    main = identify_project(checkout("/src/vc", origin="../hub/vc.git"))
    linked = identify_project(
        checkout(
            "/trees/dave",
            git_dir="/src/vc/.git/worktrees/dave",
            common_dir="/src/vc/.git",
            origin="../hub/vc.git",
        )
    )
    assert linked.key == main.key == "file:/src/hub/vc"


def test_a_shallow_clone_without_a_remote_is_identified_by_its_path() -> None:
    found = identify_project(checkout(root_commit=ROOT, is_shallow=True))
    assert (found.key, found.source) == ("path:/home/dave/src/vc", "path")


def test_a_checkout_without_a_remote_and_a_commit_is_identified_by_its_path() -> None:
    found = identify_project(checkout("/home/dave/my code/VC"))
    assert (found.key, found.name, found.source) == ("path:/home/dave/my%20code/VC", "vc", "path")


def test_a_remote_with_an_invalid_address_is_ignored() -> None:
    assert identify_project(checkout(origin="https://host", root_commit=ROOT)).source == "root"


def test_the_path_key_stays_the_same_when_the_key_changes() -> None:
    stages = [
        identify_project(checkout()),
        identify_project(checkout(root_commit=ROOT)),
        identify_project(checkout(origin="git@github.com:steveyegge/vc.git")),
    ]
    assert [stage.source for stage in stages] == ["path", "root", "remote"]
    assert {stage.path_key for stage in stages} == {stages[0].key}


def test_a_bare_repository_and_the_checkout_beside_it_are_two_projects() -> None:
    bare = identify_project(checkout("/srv/vc.git", git_dir="/srv/vc.git"))
    beside = identify_project(checkout("/srv/vc"))
    assert bare.key != beside.key
    assert bare.name == beside.name == "vc"


def test_a_hidden_bare_repository_gets_the_name_of_its_folder() -> None:
    found = identify_project(
        checkout("/src/vc/dave", git_dir="/src/vc/.bare/worktrees/dave", common_dir="/src/vc/.bare")
    )
    assert (found.key, found.name) == ("path:/src/vc", "vc")


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("vc", "vc"),
        ("My Repo", "my-repo"),
        ("Grün_v1.2", "grun_v1.2"),
        (".dotfiles", "dotfiles"),
        ("--x--", "x"),
        ("a/b", "a-b"),
        ("x" * 80, "x" * 64),
        ("x" * 63 + "-y", "x" * 63),
        ("漢字", "the-project"),
        ("", "the-project"),
        ("Team", "the-team"),
        ("main", "main"),
    ],
)
def test_a_text_is_turned_into_a_plain_name(text: str, name: str) -> None:
    assert clean_name(text) == name


def test_an_id_is_turned_into_a_name_that_is_not_an_id() -> None:
    assert not ids.is_id(clean_name(ids.new_id("ses", UNIX_EPOCH)))


@pytest.mark.parametrize("word", sorted(RESERVED_NAMES))
def test_a_project_with_a_reserved_name_gets_a_prefix(word: str) -> None:
    found = identify_project(checkout(origin=f"git@github.com:dave/{word}.git"))
    assert found.key == f"github.com/dave/{word}"
    assert found.name == f"the-{word}"


@given(st.text(max_size=100))
def test_any_text_gives_a_valid_name_that_stays_the_same_when_cleaned_again(text: str) -> None:
    name = clean_name(text)
    assert re.fullmatch(r"[a-z0-9][a-z0-9._-]{0,63}", name)
    assert name not in RESERVED_NAMES
    assert clean_name(name) == name


def test_the_repository_path_is_the_git_folder_when_it_is_outside_the_checkout() -> None:
    assert identity.repository_path(checkout("/src/vc", git_dir="/elsewhere/vc-git")) == "/elsewhere/vc-git"
