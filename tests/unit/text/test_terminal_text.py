"""The output of a terminal is turned into plain lines of text."""

from __future__ import annotations

import pytest

from maestro.text.terminal_text import TerminalLines, strip_sequences


@pytest.mark.parametrize(
    ("shown", "read"),
    [
        ("one\r\ntwo\r\n", "one\ntwo\n"),
        ("\x1b[1;32mgreen\x1b[0m\n", "green\n"),
        ("10%\r50%\r100%\r\ndone\n", "100%\ndone\n"),
        ("passwort\b\b\b\b\b\bword\n", "paword\n"),
        ("\x1b]0;title\x07text\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\\n", "textlink\n"),
        ("\x1b[2J\x1b[Htop\x1b[5;1Hmiddle\x1b[9;3Hbottom", "top\nmiddle\nbottom\n"),
        ("a\x1b[3Cb\n", "a   b\n"),
        ("\x1b[?1049h\x1b[?25lfull\x1b[?1049l\n", "full\n"),
        ("bell\x07 nul\x00 csi\x9b31m\n", "bell nul csi31m\n"),
        ("\n\n", "\n\n"),
        ("no end", "no end\n"),
        ("\x1bP+q544e\x1b\\x\x1b(By\n", "xy\n"),
    ],
)
@pytest.mark.parametrize("size", [1, 2, 3, 1000])
def test_terminal_output_in_pieces_of_any_size_becomes_plain_lines(shown: str, read: str, size: int) -> None:
    lines = TerminalLines()
    pieces = [lines.add_output(shown[at : at + size]) for at in range(0, len(shown), size)]
    assert "".join(pieces) + lines.finish_output() == read


@pytest.mark.parametrize(
    ("shown", "stripped"),
    [
        ("\x1b[1;32mgreen\x1b[0m\r\n", "green\n"),
        ("a\x1b(Bb", "ab"),
        ("a\x1bPpayload\x1b\\b", "ab"),
        ("a\x1b]0;title\x07b\x1b]8;;http://x\x1b\\c", "abc"),
        ("a\x1b7b\x1b=c", "abc"),
    ],
)
def test_stripping_removes_each_form_of_escape_sequence(shown: str, stripped: str) -> None:
    assert strip_sequences(shown) == stripped


def test_colours_stay_on_request_and_end_at_the_end_of_their_line() -> None:
    lines = TerminalLines(color=True)
    assert lines.add_output("\x1b[31mred\nplain\n") == "\x1b[31mred\x1b[0m\nplain\n"
    assert lines.add_output("\x1b[2K\rover\r\x1b[32mgreen\x1b[0m\n") == "\x1b[32mgreen\x1b[0m\n"


def test_an_unfinished_line_can_be_flushed_and_is_not_returned_twice() -> None:
    lines = TerminalLines()
    assert lines.add_output("Go on? ") == ""
    assert lines.flush_line() == "Go on? "
    assert lines.add_output("yes\n") == "yes\n"
    lines.add_output("10%")
    assert lines.flush_line() == "10%"
    assert lines.add_output("\r20%") == "\n"
    assert lines.finish_output() == "20%\n"


def test_text_after_an_escape_sequence_without_an_end_is_returned() -> None:
    lines = TerminalLines()
    told = lines.add_output("\x1b]0;" + "x" * 10_000) + lines.add_output("\nafter\n")
    assert "after" in told
