"""Tables at the end of a TOML file: put there and taken away again as text, so that all else stays as it stands.

What comes out is read again, and must say what the file said before and the change, and nothing else.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping, Sequence
from typing import Any

_HEADER = re.compile(r"[ \t]*\[")


class Unreadable(Exception):
    """This is no TOML, or none that can be changed with certainty."""


def read(text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise Unreadable(str(error) or "it is nested too deeply") from None


def find(data: Mapping[str, Any], keys: Sequence[str]) -> Any:
    """What stands under some keys; None if nothing does."""
    found: Any = data
    for key in keys:
        if not isinstance(found, dict) or key not in found:
            return None
        found = found[key]
    return found


def add(text: str, keys: Sequence[str], table: Mapping[str, Any]) -> str:
    """The text with a table at its end; Unreadable if there is no way to put it there."""
    before = read(text)
    newline = "\r\n" if "\r\n" in text else "\n"
    lines = [f"[{_path(keys)}]", *(f"{_key(name)} = {_value(value)}" for name, value in table.items())]
    gap = "" if not text.strip() else newline if text.endswith("\n") else newline * 2
    made = text + gap + newline.join(lines) + newline
    _expect(made, _with(before, keys, dict(table)))
    return made


def remove(text: str, keys: Sequence[str]) -> str:
    """The text without a table; Unreadable if it is not one that stands by itself."""
    before = read(text)
    if find(before, keys) is None:
        return text
    wanted = _without(before, keys)
    lines = text.splitlines(keepends=True)
    for begin in range(len(lines)):
        if _HEADER.match(lines[begin]) and _named(lines[begin]) == list(keys):
            made = _cut(lines, begin)
            try:
                _expect(made, wanted)
            except Unreadable:
                continue  # a line of some text that only looks like it
            return made
    raise Unreadable(f"[{_path(keys)}] is not a table of its own there")


def _cut(lines: list[str], begin: int) -> str:
    """Lines without the table that begins at one of them."""
    end = begin + 1
    while end < len(lines) and not _HEADER.match(lines[end]):
        end += 1
    # What someone noted below it is not its own.
    while end > begin + 1 and (not lines[end - 1].strip() or lines[end - 1].lstrip().startswith("#")):
        end -= 1
    if begin and not lines[begin - 1].strip():
        begin -= 1  # the gap that came with it
    return "".join(lines[:begin] + lines[end:])


def _named(line: str) -> list[str] | None:
    """The keys of a table's header."""
    try:
        found: Any = tomllib.loads(line)
    except tomllib.TOMLDecodeError:
        return None
    keys = []
    while isinstance(found, dict) and len(found) == 1:
        key, found = next(iter(found.items()))
        keys.append(key)
    return keys if found == {} else None


def _expect(text: str, wanted: dict[str, Any]) -> None:
    if read(text) != wanted:
        raise Unreadable("the change cannot be made without changing something else")


def _with(data: dict[str, Any], keys: Sequence[str], table: dict[str, Any]) -> dict[str, Any]:
    if not keys:
        return table
    below = data.get(keys[0], {})
    if not isinstance(below, dict):
        raise Unreadable(f"{keys[0]} is no table there")
    return {**data, keys[0]: _with(below, keys[1:], table)}


def _without(data: dict[str, Any], keys: Sequence[str]) -> dict[str, Any]:
    """Without a table, and without those around it that held nothing else."""
    rest = {name: value for name, value in data.items() if name != keys[0]}
    if len(keys) > 1:
        below = _without(data[keys[0]], keys[1:])
        if below:
            return {**data, keys[0]: below}
    return rest


def _path(keys: Sequence[str]) -> str:
    return ".".join(map(_key, keys))


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else json.dumps(name, ensure_ascii=False)


def _value(value: Any) -> str:
    """A JSON string is one in TOML too, as long as nothing in it is left out."""
    if isinstance(value, dict):
        inside = ", ".join(f"{_key(name)} = {_value(one)}" for name, one in value.items())
        return f"{{ {inside} }}" if inside else "{}"
    if isinstance(value, list):
        return f"[{', '.join(map(_value, value))}]"
    return json.dumps(value, ensure_ascii=False)
