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
    ],
)
def test_what_someone_may_have_meant(word: str, choices: list[str], found: str) -> None:
    assert suggest.nearest_choices(word, choices)[0] == found


def test_nothing_is_suggested_for_something_else_entirely() -> None:
    assert suggest.nearest_choices("xyzzy", ["list", "show"]) == []
    assert suggest.did_you_mean([]) == ""


def test_the_question_names_them_all() -> None:
    assert suggest.did_you_mean(["on", "depends-on"], dashes="--") == "; did you mean `--on` or `--depends-on`?"
