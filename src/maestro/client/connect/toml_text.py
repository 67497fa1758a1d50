"""Add a table to the end of a TOML text, and remove the table again. All other text stays the same.

The module parses each result again, and refuses a result that changes any other data.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping, Sequence
from typing import Any

_HEADER = re.compile(r"[ \t]*\[")


class UneditableToml(Exception):
    """The text is not TOML, or cannot be changed without a change of other data."""


def parse_toml(text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise UneditableToml(str(error) or "the TOML is nested too deeply") from None


def find_value(data: Mapping[str, Any], keys: Sequence[str]) -> Any:
    """Return the value under a path of keys; None if the path does not exist."""
    value: Any = data
    for key in keys:
        if not isinstance(value, dict) or key not in value:
            return None
        value = value[key]
    return value


def add_table(text: str, keys: Sequence[str], table: Mapping[str, Any]) -> str:
    """Return the text with a table at the end; raise UneditableToml if the table cannot be added."""
    before = parse_toml(text)
    newline = "\r\n" if "\r\n" in text else "\n"
    lines = [
        f"[{_format_keys(keys)}]",
        *(f"{_format_key(name)} = {_format_value(value)}" for name, value in table.items()),
    ]
    gap = "" if not text.strip() else newline if text.endswith("\n") else newline * 2
    new_text = text + gap + newline.join(lines) + newline
    _require_same_data(new_text, _data_with_table(before, keys, dict(table)))
    return new_text


def remove_table(text: str, keys: Sequence[str]) -> str:
    """Return the text without a table; raise UneditableToml if the table has no header line of its own."""
    before = parse_toml(text)
    if find_value(before, keys) is None:
        return text
    expected = _data_without_table(before, keys)
    lines = text.splitlines(keepends=True)
    for begin in range(len(lines)):
        if _HEADER.match(lines[begin]) and _header_keys(lines[begin]) == list(keys):
            new_text = _remove_lines(lines, begin)
            try:
                _require_same_data(new_text, expected)
            except UneditableToml:
                continue  # the line is part of a string that only looks like the header
            return new_text
    raise UneditableToml(f"[{_format_keys(keys)}] has no header line of its own")


def _remove_lines(lines: list[str], begin: int) -> str:
    """Return the text without the table whose header is the line `begin`."""
    end = begin + 1
    while end < len(lines) and not _HEADER.match(lines[end]):
        end += 1
    # Comments below the table do not belong to the table.
    while end > begin + 1 and (not lines[end - 1].strip() or lines[end - 1].lstrip().startswith("#")):
        end -= 1
    if begin and not lines[begin - 1].strip():
        begin -= 1  # the empty line that `add_table` wrote before the table
    return "".join(lines[:begin] + lines[end:])


def _header_keys(line: str) -> list[str] | None:
    """Return the keys of a table's header line; None if the line is no header."""
    try:
        value: Any = tomllib.loads(line)
    except tomllib.TOMLDecodeError:
        return None
    keys = []
    while isinstance(value, dict) and len(value) == 1:
        key, value = next(iter(value.items()))
        keys.append(key)
    return keys if value == {} else None


def _require_same_data(text: str, expected: dict[str, Any]) -> None:
    if parse_toml(text) != expected:
        raise UneditableToml("the change would also change other data")


def _data_with_table(data: dict[str, Any], keys: Sequence[str], table: dict[str, Any]) -> dict[str, Any]:
    if not keys:
        return table
    inner = data.get(keys[0], {})
    if not isinstance(inner, dict):
        raise UneditableToml(f"{keys[0]} in the file is not a table")
    return {**data, keys[0]: _data_with_table(inner, keys[1:], table)}


def _data_without_table(data: dict[str, Any], keys: Sequence[str]) -> dict[str, Any]:
    """Return the data without a table, and without the tables around it that become empty."""
    rest = {name: value for name, value in data.items() if name != keys[0]}
    if len(keys) > 1:
        inner = _data_without_table(data[keys[0]], keys[1:])
        if inner:
            return {**data, keys[0]: inner}
    return rest


def _format_keys(keys: Sequence[str]) -> str:
    return ".".join(map(_format_key, keys))


def _format_key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else json.dumps(name, ensure_ascii=False)


def _format_value(value: Any) -> str:
    """Return a value as TOML. A JSON string is also a TOML string, if JSON escapes no character beyond ASCII."""
    if isinstance(value, dict):
        fields = ", ".join(f"{_format_key(name)} = {_format_value(inner)}" for name, inner in value.items())
        return f"{{ {fields} }}" if fields else "{}"
    if isinstance(value, list):
        return f"[{', '.join(map(_format_value, value))}]"
    return json.dumps(value, ensure_ascii=False)
