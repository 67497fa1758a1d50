"""Tests of the screen text that a person sees, with control sequences that programs send to the terminal."""

from __future__ import annotations

import string

import pytest
from agent_programs import screens

GEMINI_ASKS = "\x1b[8m\x1b[?u\x1b]11;?\x1b\\\x1b[>q\x1b[>4;?m\x1b[c\x1b[2K\r\x1b[0m"


def test_questions_to_the_terminal_do_not_appear_in_the_screen_text() -> None:
    assert screens.seen(GEMINI_ASKS + "Ready.").strip() == "Ready."


@pytest.mark.parametrize("marker", "<>=?")
@pytest.mark.parametrize("final", string.ascii_letters + "@`{|}~")
def test_a_private_control_sequence_does_not_change_the_screen_text(marker: str, final: str) -> None:
    for parameters in ("", "4", "4;0", "4;?" if marker != "?" else "4;", "1:2"):
        assert "stays" in screens.seen(f"stays\x1b[{marker}{parameters}{final}\r\n")


def test_lines_that_scrolled_out_appear_in_the_screen_text() -> None:
    lines = [f"line {number}" for number in range(screens.ROWS * 2)]
    assert screens.seen("\r\n".join(lines)).split("\n") == lines


def test_erased_text_does_not_appear_in_the_screen_text() -> None:
    assert screens.seen("gone\r\x1b[2Khere").strip() == "here"
