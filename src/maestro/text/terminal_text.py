"""What a terminal showed, as plain text: without what moves its cursor or changes its colours."""

from __future__ import annotations

import re

from maestro.text.unseen import spell_out

_SEQUENCES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-_])")
_PIECES = re.compile(
    r"\x1b\[(?P<values>[0-?]*)[ -/]*(?P<final>[@-~])"
    r"|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)"
    r"|\x1b[PX^_][^\x1b]*\x1b\\"
    r"|\x1b[()*+][ -~]|\x1b[ -~]"
    r"|(?P<control>[\x00-\x08\x0a-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069])"
)
# The beginning of a sequence whose end has not come yet.
_UNFINISHED = re.compile(r"\x1b(?:\[[0-?]*[ -/]*|\][^\x07\x1b]*\x1b?|[PX^_][^\x1b]*\x1b?|[()*+])?\Z")
_UNFINISHED_MAX = 4096
_KEYS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_MOVES_ELSEWHERE = frozenset("HfABEFdLMSTr")  # to another line, or another picture altogether
_FORWARD_MAX = 200


def plain(text: str) -> str:
    """The text alone, its lines ended as usual."""
    return _SEQUENCES.sub("", text).replace("\r\n", "\n")


def typed(text: str) -> str:
    """Text that can be typed into a terminal: a control character would be a key there, so it is written out."""
    return _KEYS.sub(lambda found: f"\\x{ord(found[0]):02x}", text.replace("\r\n", "\n"))


class Lines:
    """Text for someone who reads it line by line, made from pieces of what a terminal was told.

    What was written over is not told again; what was drawn elsewhere on the screen begins a line of its own.
    """

    def __init__(self, *, color: bool = False) -> None:
        self._color = color
        self._left = ""  # the beginning of a sequence
        self._line: list[str] = []
        self._told = False  # whether a part of the line is out already
        self._painted = False
        self._at_start = False  # a carriage return was the last thing: what comes now writes over the line

    def take(self, text: str) -> str:
        """What can be told after this piece: whole lines."""
        text = self._left + text
        unfinished = _UNFINISHED.search(text)
        self._left = unfinished[0] if unfinished and len(unfinished[0]) < _UNFINISHED_MAX else ""
        text = text[: len(text) - len(self._left)]
        out: list[str] = []
        at = 0
        for found in _PIECES.finditer(text):
            self._write(text[at : found.start()], out)
            at = found.end()
            self._obey(found, out)
        self._write(text[at:], out)
        return "".join(out)

    def rest(self) -> str:
        """The line that has not ended yet, as far as it goes."""
        part = "".join(self._line)
        self._line.clear()
        self._told = self._told or bool(part)
        return part

    def end(self) -> str:
        """What is left when nothing more comes."""
        out = [self.rest()]
        if self._told:
            self._break(out)
        return "".join(out)

    def _write(self, text: str, out: list[str]) -> None:
        if text:
            self._write_over(out)
            self._line.append(spell_out(text))

    def _write_over(self, out: list[str]) -> None:
        """After a carriage return the line begins anew; what is out of it already stays."""
        if self._at_start:
            self._line.clear()
            if self._told:
                self._break(out)
            self._at_start = False

    def _obey(self, found: re.Match[str], out: list[str]) -> None:
        control, final, values = found["control"], found["final"], found["values"] or ""
        if control == "\n":
            self._break(out, always=True)
        elif control == "\r":
            self._at_start = True
        elif control == "\b" and self._line and not self._line[-1].startswith("\x1b"):
            self._line[-1:] = [self._line[-1][:-1]] if len(self._line[-1]) > 1 else []
        elif final == "m" and self._color:
            self._write_over(out)
            self._line.append(found[0])
            self._painted = values not in ("", "0")
        elif final == "C":
            self._write(" " * min(int(values) if values.isdigit() else 1, _FORWARD_MAX), out)
        elif (final and final in _MOVES_ELSEWHERE) or (final == "J" and values in ("2", "3")):
            self._break(out)

    def _break(self, out: list[str], *, always: bool = False) -> None:
        """End the line; without `always` only if there is something on it."""
        line = "".join(self._line)
        if always or line.strip() or self._told:
            out.append(line + "\x1b[0m" if self._painted else line.rstrip())
            out.append("\n")
        self._line.clear()
        self._told = self._painted = self._at_start = False
