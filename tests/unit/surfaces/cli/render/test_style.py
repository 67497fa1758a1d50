"""Printed text has no control characters, has colours only on request, and is measured in columns of a terminal."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as some

from maestro.surfaces.cli.render import style


def is_harmless(text: str) -> bool:
    return all(char >= " " or char in "\n\t" for char in text) and not set(text) & set("\x7f\x9b\x9d\u202e\u2066")


@pytest.mark.parametrize(
    ("hostile", "shown"),
    [
        ("a\x1b[31mb", "a\\x1b[31mb"),
        ("title\x07", "title\\x07"),
        ("c1\x9b31m", "c1\\x9b31m"),
        ("\u202etxt.exe", "\\u202etxt.exe"),
        ("\U000e0041", "\\U000e0041"),
        ("two\r\nlines\tand a tab", "two lines and a tab"),
        ("plain äöü 漢字 🙂", "plain äöü 漢字 🙂"),
        ("\ufdd1not our colour", "not our colour"),
    ],
)
def test_a_safe_line_is_a_single_line_without_control_characters(hostile: str, shown: str) -> None:
    assert style.safe_line(hostile) == shown


def test_a_safe_body_keeps_its_lines_and_has_no_control_characters() -> None:
    assert style.safe_body("one\r\n\ttwo\x1b]0;x\x07") == "one\n\ttwo\\x1b]0;x\\x07"


@given(some.text())
def test_a_random_text_is_printed_without_control_characters(text: str) -> None:
    for shown in (
        style.finish_text(text),
        style.safe_line(text),
        style.safe_body(text),
        style.finish_text(style.safe_body(text), color=True),
    ):
        assert is_harmless(shown.replace("\x1b[", ""))
    assert "\x1b" not in style.finish_text(style.safe_line(text), color=True)
    assert "\n" not in style.safe_line(text)


def test_a_painted_text_has_colours_only_on_request() -> None:
    painted = style.paint("ready", "cyan")
    assert style.finish_text(painted, color=True) == "\x1b[36mready\x1b[0m"
    assert style.finish_text(painted) == "ready"
    assert style.text_width(painted) == 5


@pytest.mark.parametrize(("text", "columns"), [("abc", 3), ("äöü", 3), ("漢字", 4), ("e\u0301", 1), ("", 0)])
def test_the_width_of_a_text_counts_columns_of_the_terminal(text: str, columns: int) -> None:
    assert style.text_width(text) == columns


@pytest.mark.parametrize(
    ("text", "columns", "clipped"),
    [("abcdef", 6, "abcdef"), ("abcdef", 4, "abc…"), ("漢字漢", 4, "漢…"), ("abc", 0, "")],
)
def test_a_clipped_text_fits_into_the_columns(text: str, columns: int, clipped: str) -> None:
    assert style.clip_text(text, columns) == clipped
    assert style.text_width(style.clip_text(text, columns)) <= columns


def test_the_columns_of_rows_with_wide_or_painted_cells_are_aligned() -> None:
    rows = [["a", style.paint("bb", "red"), "end"], ["漢字", "c", "end"], ["x", "y", ""]]
    assert style.finish_text(style.align_rows(rows)) == "a     bb  end\n漢字  c   end\nx     y\n"
    assert style.align_rows([]) == ""
