"""A list cursor is a text of digits; an empty cursor means the beginning, and any other text is refused."""

from __future__ import annotations

import pytest

from maestro.core import errors
from maestro.services import cursors


def test_an_empty_cursor_means_the_beginning_of_the_list() -> None:
    assert cursors.parse_cursor("") == 0
    assert cursors.parse_cursor("", first=7) == 7
    assert cursors.parse_newest_first_cursor("") == cursors.NEWEST


def test_a_cursor_of_digits_is_parsed_as_a_number() -> None:
    assert cursors.parse_cursor("42", first=7) == cursors.parse_newest_first_cursor("42") == 42
    assert cursors.parse_cursor("9" * 18) < cursors.NEWEST


@pytest.mark.parametrize("text", ["yesterday", "-1", "1.5", " 1", "٣", "²", "1" * 19])
def test_a_cursor_that_is_no_number_is_refused(text: str) -> None:
    with pytest.raises(errors.Invalid, match="is not a cursor of this list"):
        cursors.parse_cursor(text)


def test_the_error_quotes_the_beginning_of_a_long_cursor() -> None:
    with pytest.raises(errors.Invalid) as refused:
        cursors.parse_cursor("x" * 1000)
    assert "x" * 40 in str(refused.value) and "x" * 41 not in str(refused.value)
