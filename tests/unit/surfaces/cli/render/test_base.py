"""The common helpers of the renderers format sizes, times, pairs, tables and notes."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

from tests.unit.surfaces.cli.render.conftest import AT, PLAIN, TTY, WHEN

from maestro.surfaces.cli.render.base import format_size, format_time, next_page_note, render_pairs, render_table
from maestro.surfaces.cli.render.style import finish_text


def test_a_size_is_shown_in_the_largest_unit_below_1024() -> None:
    assert [format_size(n) for n in (0, 1023, 1024, 5 * 1024**2, 3 * 1024**3)] == [
        "0 B",
        "1023 B",
        "1.0 KiB",
        "5.0 MiB",
        "3.0 GiB",
    ]


def test_a_time_is_shown_in_utc_to_the_second() -> None:
    assert format_time(AT) == WHEN
    berlin = datetime(2026, 1, 1, 13, 0, 0, 999_999, tzinfo=timezone(timedelta(hours=1)))
    assert format_time(berlin) == WHEN
    assert format_time(None) == ""


def test_pairs_without_a_value_are_left_out() -> None:
    text = render_pairs([("name", "vc"), ("url", None), ("note", ""), ("identity", "x")], indent="  ")
    assert finish_text(text) == "  name      vc\n  identity  x\n"


def test_only_a_terminal_gets_the_heading_of_a_table() -> None:
    rows = [["a", "1"]]
    assert finish_text(render_table(rows, ["NAME", "COUNT"], PLAIN)) == "a  1\n"
    assert finish_text(render_table(rows, ["NAME", "COUNT"], TTY)) == "NAME  COUNT\na     1\n"


def test_the_note_about_the_next_page_is_a_single_line_without_control_characters() -> None:
    assert next_page_note("a\x1b\nb") == ["more results: --cursor a\\x1b b"]
    assert next_page_note(None) == next_page_note("") == []
