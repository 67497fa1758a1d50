"""Parse git's configuration files as git does, without git. Pure: the caller bounds the size of a file.

The rules are those of git-config(1), section "Syntax". This module does not read included files.
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


class GitSetting(msgspec.Struct, frozen=True):
    """One setting, such as `remote.origin.url`, and its value. The value None means true: a key without a value."""

    key: str  # section and last part in lower case, the subsection as written
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
        """Return whether git reads the value as true."""
        if self.value is None or self.value.lower() in _TRUE:
            return True
        return self.value.isdecimal() and int(self.value[:20]) != 0


def parse_settings(text: str) -> list[GitSetting]:
    """Return the settings of one file in their order; refuse a file that git refuses, too."""
    return _Parser(text.removeprefix("\ufeff")).read_settings()


def remote_addresses(settings: Iterable[GitSetting]) -> dict[str, str]:
    """Return the fetch address of each remote: the first `url` setting counts.

    A remote whose address is its own name has no address.
    """
    found: dict[str, str] = {}
    for setting in settings:
        if setting.section == "remote" and setting.name == "url" and setting.subsection and setting.value:
            found.setdefault(setting.subsection, setting.value)
    usable = [
        (name, url) for name, url in found.items() if url != name and len(name + url) <= limits.remote_chars_max
    ]
    return dict(usable[: limits.remotes_max])


def rewrite_address(address: str, settings: Iterable[GitSetting]) -> str:
    """Return the address, rewritten by the longest `insteadOf` rule that matches."""
    rules = [
        (setting.value, setting.subsection)
        for setting in settings
        if setting.section == "url" and setting.name == "insteadof"
    ]
    matches = [(start, base) for start, base in rules if start and address.startswith(start)]
    if not matches:
        return address
    start, base = max(matches, key=lambda rule: len(rule[0]))
    return base + address.removeprefix(start)


class _Parser:
    def __init__(self, text: str) -> None:
        self._text = text.replace("\r\n", "\n")
        self._position = 0
        self._section = ""  # with its dot; empty before the first section, where git accepts keys, too
        self._settings: list[GitSetting] = []

    def read_settings(self) -> list[GitSetting]:
        while self._position < len(self._text):
            char = self._read_char()
            if char in "#;":
                self._skip_line()
            elif char == "[":
                self._section = self._read_section() + "."
            elif char not in _SPACE:
                self._read_setting(char)
        return self._settings

    def _read_char(self) -> str:
        """Return the next character. At the end of the file every call returns a line break."""
        char = self._text[self._position] if self._position < len(self._text) else "\n"
        self._position += 1
        return char

    def _skip_line(self) -> None:
        end = self._text.find("\n", self._position)
        self._position = end if end >= 0 else len(self._text)

    def _read_section(self) -> str:
        name = ""
        while (char := self._read_char()) != "]":
            if char in _SPACE:
                return f"{name}.{self._read_subsection(char)}"
            if char not in _KEY and char != ".":
                raise self._syntax_error("section")
            name += char.lower()
        return name

    def _read_subsection(self, char: str) -> str:
        while char in _SPACE:
            if char == "\n":
                raise self._syntax_error("section")
            char = self._read_char()
        if char != '"':
            raise self._syntax_error("section")
        name = ""
        while (char := self._read_char()) != '"':
            char = self._read_char() if char == "\\" else char
            if char == "\n":
                raise self._syntax_error("section")
            name += char
        if self._read_char() != "]":
            raise self._syntax_error("section")
        return name

    def _read_setting(self, char: str) -> None:
        if char not in string.ascii_letters:
            raise self._syntax_error("key")
        if len(self._settings) >= limits.git_config_settings_max:
            raise Invalid(f"A git configuration has more than {limits.git_config_settings_max} settings.")
        name = ""
        while char in _KEY:
            name += char.lower()
            char = self._read_char()
        while char in " \t":
            char = self._read_char()
        if char not in "\n=":
            raise self._syntax_error("key")
        value = self._read_value() if char == "=" else None
        self._settings.append(GitSetting(self._section + name, value))

    def _read_value(self) -> str:
        value: list[str] = []
        spaces, is_quoted = 0, False
        while (char := self._read_char()) != "\n":
            if char in _SPACE and not is_quoted:
                spaces += bool(value)
            elif char in "#;" and not is_quoted:
                self._skip_line()
            elif char == '"':
                is_quoted = not is_quoted
            else:
                value += [" "] * spaces
                spaces = 0
                value += self._read_escape() if char == "\\" else char
        if is_quoted:
            raise self._syntax_error("value")
        return "".join(value)

    def _read_escape(self) -> str:
        char = self._read_char()
        if char != "\n" and char not in _ESCAPES:
            raise self._syntax_error("value")
        return _ESCAPES.get(char, "")  # an escaped line break continues the line

    def _syntax_error(self, part: str) -> Invalid:
        line = self._text.count("\n", 0, self._position) + 1
        return Invalid(f"A git configuration has an invalid {part} in line {line}.")
