"""An unknown word is answered with the nearest known words."""

from __future__ import annotations

import pytest

from maestro.surfaces.cli import suggest


@pytest.mark.parametrize(
    ("word", "choices", "found"),
    [
        ("lst", ["list", "show"], "list"),
        ("ls", ["list", "show"], "list"),
        ("new", ["create", "list"], "create"),
        ("desc", ["description", "depends-on"], "description"),
        ("dependson", ["description", "depends-on"], "depends-on"),
        ("depends_on", ["description", "depends-on"], "depends-on"),
        ("in-progress", ["todo", "in_progress"], "in_progress"),
        ("DONE", ["todo", "complete"], "complete"),
        ("urgent", ["critical", "low"], "critical"),
        ("create", ["open", "list", "show"], "open"),
        ("read", ["inbox", "send", "show"], "inbox"),
        ("show", ["list"], "list"),
    ],
)
def test_the_nearest_choice_is_found_for_a_misspelt_or_similar_word(
    word: str, choices: list[str], found: str
) -> None:
    assert suggest.nearest_choices(word, choices)[0] == found


def test_no_choice_is_suggested_for_an_unrelated_word() -> None:
    assert suggest.nearest_choices("xyzzy", ["list", "show"]) == []
    assert suggest.did_you_mean([]) == ""


def test_the_suggestion_names_all_nearest_choices() -> None:
    assert suggest.did_you_mean(["on", "depends-on"], dashes="--") == "; did you mean `--on` or `--depends-on`?"


def test_a_restore_is_never_suggested() -> None:
    assert suggest.nearest_choices("store", ["restore", "list"]) == []
