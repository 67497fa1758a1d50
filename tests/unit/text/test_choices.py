"""A list of choices is written for a sentence."""

from __future__ import annotations

import pytest

from maestro.text.choices import join_choices


@pytest.mark.parametrize(
    ("choices", "sentence"), [(["a"], "a"), (["a", "b"], "a or b"), (["a", "b", "c"], "a, b or c")]
)
def test_choices_are_joined_by_commas_and_the_word_or(choices: list[str], sentence: str) -> None:
    assert join_choices(choices) == sentence
