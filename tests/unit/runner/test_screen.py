"""The picture that whoever attaches gets."""

from __future__ import annotations

import pytest

from maestro.runner.screen import KEPT_BYTES, Screen


def picture(*pieces: bytes) -> bytes:
    screen = Screen()
    for piece in pieces:
        screen.add_output(piece)
    return screen.draw_picture().removeprefix(b"\x1b[0m")


def test_text_is_shown_as_it_came() -> None:
    assert picture(b"one\r\n", b"\x1b[32mtwo\x1b[0m") == b"one\r\n\x1b[32mtwo\x1b[0m"


def test_what_was_cleared_is_not_shown_but_its_modes_hold() -> None:
    assert picture(b"old \x1b[?2004h\x1b[?25l\x1b[2Jnew") == b"\x1b[?2004h\x1b[?25l\x1b[2Jnew"
    assert picture(b"\x1b[?25l\x1bcnew") == b"\x1b[?25l\x1bcnew"


def test_a_visit_to_the_other_screen_leaves_only_its_modes() -> None:
    assert picture(b"one \x1b[?1049h\x1b[2Jeditor\x1b[?1l\x1b[?1049ltwo") == b"one \x1b[?1ltwo"
    assert picture(b"one \x1b[?1049h\x1b[2Jeditor") == b"\x1b[?1049h\x1b[2Jeditor"


def test_it_stays_small_and_knows_the_modes_of_what_it_let_go() -> None:
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


def test_a_flood_without_a_line_is_cut_anywhere() -> None:
    assert len(picture(b"x" * 10_000_000)) == KEPT_BYTES


@pytest.mark.parametrize(
    "question",
    [
        *(b"\x1b[c", b"\x1b[>c", b"\x1b[6n", b"\x1b[?996n", b"\x1b[18t", b"\x1b[>q", b"\x1b[?u", b"\x1b[?2026$p"),
        *(b"\x1b]11;?\x07", b"\x1b]4;1;?\x1b\\", b"\x1bP+q544e\x1b\\", b"\x1b]52;c;aGk=\x07", b"\x07", b"\x05"),
    ],
)
def test_what_a_terminal_would_answer_is_not_asked_again(question: bytes) -> None:
    assert picture(b"a" + question + b"b") == b"ab"


def test_titles_and_drawing_stay() -> None:
    text = b"\x1b]0;title\x07\x1b[3;4Hhere\x1b[K\x1b[>4;2m"
    assert picture(text) == text
