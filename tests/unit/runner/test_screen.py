"""The screen keeps a bounded picture of the terminal for a client that attaches later."""

from __future__ import annotations

import pytest

from maestro.runner.screen import KEPT_BYTES, Screen


def picture(*pieces: bytes) -> bytes:
    screen = Screen()
    for piece in pieces:
        screen.add_output(piece)
    return screen.draw_picture().removeprefix(b"\x1b[0m")


def test_the_picture_contains_text_and_colours_unchanged() -> None:
    assert picture(b"one\r\n", b"\x1b[32mtwo\x1b[0m") == b"one\r\n\x1b[32mtwo\x1b[0m"


def test_cleared_text_is_not_in_the_picture_but_earlier_modes_are() -> None:
    assert picture(b"old \x1b[?2004h\x1b[?25l\x1b[2Jnew") == b"\x1b[?2004h\x1b[?25l\x1b[2Jnew"
    assert picture(b"\x1b[?25l\x1bcnew") == b"\x1b[?25l\x1bcnew"


def test_after_the_alternate_screen_only_its_modes_stay_in_the_picture() -> None:
    assert picture(b"one \x1b[?1049h\x1b[2Jeditor\x1b[?1l\x1b[?1049ltwo") == b"one \x1b[?1ltwo"
    assert picture(b"one \x1b[?1049h\x1b[2Jeditor") == b"\x1b[?1049h\x1b[2Jeditor"


def test_a_long_output_is_cut_and_the_picture_keeps_the_modes_of_the_removed_part() -> None:
    screen = Screen()
    screen.add_output(b"\x1b[?1049h\x1b[?1000h\x1b[2;9r\x1b=\x1b[>1u\x1b[>3u\x1b[<u")
    for number in range(100_000):
        screen.add_output(b"line %d\r\n" % number)
    shown = screen.draw_picture()
    assert len(shown) < 2 * KEPT_BYTES + 100
    assert shown.startswith(b"\x1b[0m\x1b[?1049h\x1b[?1000h\x1b[2;9r\x1b=\x1b[>1u\nline ")
    assert shown.endswith(b"line 99999\r\n")
    screen.add_output(b"\x1b[?1049lback")
    assert screen.draw_picture() == b"\x1b[0m\x1b[?1000h\x1b=\x1b[>1uback"


def test_a_long_output_without_line_ends_is_cut_to_the_limit() -> None:
    assert len(picture(b"x" * 10_000_000)) == KEPT_BYTES


@pytest.mark.parametrize(
    "question",
    [
        *(b"\x1b[c", b"\x1b[>c", b"\x1b[6n", b"\x1b[?996n", b"\x1b[18t", b"\x1b[>q", b"\x1b[?u", b"\x1b[?2026$p"),
        *(b"\x1b]11;?\x07", b"\x1b]4;1;?\x1b\\", b"\x1bP+q544e\x1b\\", b"\x1b]52;c;aGk=\x07", b"\x07", b"\x05"),
    ],
)
def test_sequences_that_a_terminal_answers_are_not_in_the_picture(question: bytes) -> None:
    assert picture(b"a" + question + b"b") == b"ab"


def test_titles_and_cursor_movements_stay_in_the_picture() -> None:
    text = b"\x1b]0;title\x07\x1b[3;4Hhere\x1b[K\x1b[>4;2m"
    assert picture(text) == text
