"""Turn the output of a terminal into plain text, without the sequences that move the cursor or change colors."""

from __future__ import annotations

import re

from maestro.text.hidden_characters import escape_invisible

_SEQUENCE = re.compile(
    r"\x1b\[(?P<values>[0-?]*)[ -/]*(?P<final>[@-~])"
    r"|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)"
    r"|\x1b[PX^_][^\x1b]*\x1b\\"
    r"|\x1b[()*+][ -~]|\x1b[ -~]"
)
_SEQUENCE_OR_CONTROL = re.compile(
    rf"{_SEQUENCE.pattern}"
    r"|(?P<control>[\x00-\x08\x0a-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069])"
)
# The beginning of an escape sequence whose end has not come yet.
_UNFINISHED = re.compile(r"\x1b(?:\[[0-?]*[ -/]*|\][^\x07\x1b]*\x1b?|[PX^_][^\x1b]*\x1b?|[()*+])?\Z")
_UNFINISHED_CHARS_MAX = 4096
_KEY_CHARACTERS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
# Final bytes of sequences that move the cursor to another line, or insert, delete or scroll lines.
_MOVES_ELSEWHERE = frozenset("HfABEFdLMSTr")
_FORWARD_COLUMNS_MAX = 200


def strip_sequences(text: str) -> str:
    """Return the text without escape sequences, with plain line ends."""
    return _SEQUENCE.sub("", text).replace("\r\n", "\n")


def escape_keys(text: str) -> str:
    """Return a text that can be typed into a terminal. A control character would act as a key, so it is escaped."""
    return _KEY_CHARACTERS.sub(lambda found: f"\\x{ord(found[0]):02x}", text.replace("\r\n", "\n"))


class TerminalLines:
    """A filter that turns a terminal's output, piece by piece, into lines of text.

    Text that the program overwrites is left out. Text that the program draws elsewhere on the screen begins a new
    line.
    """

    def __init__(self, *, color: bool = False) -> None:
        self._color = color
        self._unfinished = ""  # the beginning of a sequence
        self._line: list[str] = []
        self._is_partly_returned = False  # whether a part of the line was returned already
        self._is_colored = False
        self._follows_carriage_return = False  # then the next text overwrites the line

    def add_output(self, text: str) -> str:
        """Return the lines that are complete after a piece of output."""
        text = self._unfinished + text
        unfinished = _UNFINISHED.search(text)
        self._unfinished = unfinished[0] if unfinished and len(unfinished[0]) < _UNFINISHED_CHARS_MAX else ""
        text = text[: len(text) - len(self._unfinished)]
        out: list[str] = []
        position = 0
        for found in _SEQUENCE_OR_CONTROL.finditer(text):
            self._write(text[position : found.start()], out)
            position = found.end()
            self._apply_sequence(found, out)
        self._write(text[position:], out)
        return "".join(out)

    def flush_line(self) -> str:
        """Return the present part of the unfinished line."""
        part = "".join(self._line)
        self._line.clear()
        self._is_partly_returned = self._is_partly_returned or bool(part)
        return part

    def finish_output(self) -> str:
        """Return the rest of the text at the end of the output."""
        out = [self.flush_line()]
        if self._is_partly_returned:
            self._end_line(out)
        return "".join(out)

    def _write(self, text: str, out: list[str]) -> None:
        if text:
            self._overwrite_line(out)
            self._line.append(escape_invisible(text))

    def _overwrite_line(self, out: list[str]) -> None:
        """Drop the unfinished line after a carriage return; end the line if a part of it was returned already."""
        if self._follows_carriage_return:
            self._line.clear()
            if self._is_partly_returned:
                self._end_line(out)
            self._follows_carriage_return = False

    def _apply_sequence(self, found: re.Match[str], out: list[str]) -> None:
        control, final, values = found["control"], found["final"], found["values"] or ""
        if control == "\n":
            self._end_line(out, always=True)
        elif control == "\r":
            self._follows_carriage_return = True
        elif control == "\b" and self._line and not self._line[-1].startswith("\x1b"):
            self._line[-1:] = [self._line[-1][:-1]] if len(self._line[-1]) > 1 else []
        elif final == "m" and self._color:
            self._overwrite_line(out)
            self._line.append(found[0])
            self._is_colored = values not in ("", "0")
        elif final == "C":
            self._write(" " * min(int(values) if values.isdigit() else 1, _FORWARD_COLUMNS_MAX), out)
        elif (final and final in _MOVES_ELSEWHERE) or (final == "J" and values in ("2", "3")):
            self._end_line(out)

    def _end_line(self, out: list[str], *, always: bool = False) -> None:
        """End the line. Without `always`, end only a line that has text or was partly returned."""
        line = "".join(self._line)
        if always or line.strip() or self._is_partly_returned:
            out.append(line + "\x1b[0m" if self._is_colored else line.rstrip())
            out.append("\n")
        self._line.clear()
        self._is_partly_returned = self._is_colored = self._follows_carriage_return = False
