"""Reads git's configuration files as git does, without git. Pure; the size of a file is bounded by the caller.

The rules are those of `git config` (git-config(1), section "Syntax"). Included files are not read here.
"""

from __future__ import annotations

import string
from collections.abc import Iterable

import msgspec

from maestro.core import limits
from maestro.core.errors import Invalid

_KEY = frozenset(string.ascii_letters + string.digits + "-")
_SPACE = frozenset(" \t\r\n")
_ESCAPES = {"t": "\t", "b": "\b", "n": "\n", "\\": "\\", '"': '"'}
_TRUE = frozenset({"true", "yes", "on"})


class Setting(msgspec.Struct, frozen=True):
    """One line: `remote.origin.url` and its value; None for a key alone, which means true."""

    key: str  # section and last part in lower case, the part between as it is written
    value: str | None

    @property
    def section(self) -> str:
        return self.key.partition(".")[0]

    @property
    def subsection(self) -> str:
        return self.key.partition(".")[2].rpartition(".")[0]

    @property
    def name(self) -> str:
        return self.key.rpartition(".")[2]

    @property
    def is_true(self) -> bool:
        """Whether git takes the value for true."""
        if self.value is None or self.value.lower() in _TRUE:
            return True
        return self.value.isdecimal() and int(self.value[:20]) != 0


def parse(text: str) -> list[Setting]:
    """Return the settings of one file in their order; raise Invalid for a file that git does not read either."""
    return _Parser(text.removeprefix("\ufeff")).settings()


def remote_addresses(settings: Iterable[Setting]) -> dict[str, str]:
    """Return the fetch address of each remote: the first that is set. A remote with its name for one has none."""
    found: dict[str, str] = {}
    for one in settings:
        if one.section == "remote" and one.name == "url" and one.subsection and one.value:
            found.setdefault(one.subsection, one.value)
    fit = [(name, url) for name, url in found.items() if url != name and len(name + url) <= limits.remote_chars_max]
    return dict(fit[: limits.remotes_max])


def rewrite_address(address: str, settings: Iterable[Setting]) -> str:
    """Return an address after the longest `insteadOf` that fits."""
    rules = [(one.value, one.subsection) for one in settings if one.section == "url" and one.name == "insteadof"]
    fits = [(start, base) for start, base in rules if start and address.startswith(start)]
    if not fits:
        return address
    start, base = max(fits, key=lambda rule: len(rule[0]))
    return base + address.removeprefix(start)


class _Parser:
    def __init__(self, text: str) -> None:
        self._text = text.replace("\r\n", "\n")
        self._at = 0
        self._section = ""  # with its dot; git takes keys before the first section, too
        self._found: list[Setting] = []

    def settings(self) -> list[Setting]:
        while self._at < len(self._text):
            char = self._next()
            if char in "#;":
                self._skip_line()
            elif char == "[":
                self._section = self._read_section() + "."
            elif char not in _SPACE:
                self._read_setting(char)
        return self._found

    def _next(self) -> str:
        """The next character; the end of the file counts as the end of a line, as often as it is asked for."""
        char = self._text[self._at] if self._at < len(self._text) else "\n"
        self._at += 1
        return char

    def _skip_line(self) -> None:
        end = self._text.find("\n", self._at)
        self._at = end if end >= 0 else len(self._text)

    def _read_section(self) -> str:
        name = ""
        while (char := self._next()) != "]":
            if char in _SPACE:
                return f"{name}.{self._read_subsection(char)}"
            if char not in _KEY and char != ".":
                raise self._bad("section")
            name += char.lower()
        return name

    def _read_subsection(self, char: str) -> str:
        while char in _SPACE:
            if char == "\n":
                raise self._bad("section")
            char = self._next()
        if char != '"':
            raise self._bad("section")
        name = ""
        while (char := self._next()) != '"':
            char = self._next() if char == "\\" else char
            if char == "\n":
                raise self._bad("section")
            name += char
        if self._next() != "]":
            raise self._bad("section")
        return name

    def _read_setting(self, char: str) -> None:
        if char not in string.ascii_letters:
            raise self._bad("key")
        if len(self._found) >= limits.git_config_settings_max:
            raise Invalid(f"A git configuration has more than {limits.git_config_settings_max} settings.")
        name = ""
        while char in _KEY:
            name += char.lower()
            char = self._next()
        while char in " \t":
            char = self._next()
        if char not in "\n=":
            raise self._bad("key")
        value = self._read_value() if char == "=" else None
        self._found.append(Setting(self._section + name, value))

    def _read_value(self) -> str:
        value: list[str] = []
        spaces, is_quoted = 0, False
        while (char := self._next()) != "\n":
            if char in _SPACE and not is_quoted:
                spaces += bool(value)
            elif char in "#;" and not is_quoted:
                self._skip_line()
            elif char == '"':
                is_quoted = not is_quoted
            else:
                value += [" "] * spaces
                spaces = 0
                value += self._escaped() if char == "\\" else char
        if is_quoted:
            raise self._bad("value")
        return "".join(value)

    def _escaped(self) -> str:
        char = self._next()
        if char != "\n" and char not in _ESCAPES:
            raise self._bad("value")
        return _ESCAPES.get(char, "")  # an escaped line break continues the line

    def _bad(self, what: str) -> Invalid:
        line = self._text.count("\n", 0, self._at) + 1
        return Invalid(f"A git configuration has a bad {what} in line {line}.")
