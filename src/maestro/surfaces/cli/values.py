"""Read single values of the command line: numbers, durations, switches, choices."""

from __future__ import annotations

import re

from maestro.core.errors import Invalid
from maestro.surfaces.cli import suggest
from maestro.surfaces.cli.parameters import Parameter, ValueKind

_NUMBER = re.compile(r"[+-]?[0-9]{1,18}")
_DURATION = re.compile(r"([0-9]{1,12}(?:\.[0-9]{1,6})?) ?(ms|s|m|h)?")
_UNIT_MILLIS = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000}
_SWITCHES = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}


def read_number(text: str, *, name: str) -> int:
    if not _NUMBER.fullmatch(text):
        raise Invalid(f"{name} takes a whole number, not `{text}`.")
    return int(text)


def read_duration(text: str, *, name: str) -> int:
    """Return milliseconds for `500ms`, `30s`, `5m` or `2h`; a bare number is milliseconds."""
    match = _DURATION.fullmatch(text)
    if match is None:
        raise Invalid(f"{name} takes a time such as 500ms, 30s, 5m or 2h, not `{text}`.")
    return round(float(match[1]) * _UNIT_MILLIS[match[2] or "ms"])


def format_duration(millis: int) -> str:
    """Format a duration in its largest whole unit."""
    for unit in ("h", "m", "s"):
        if millis and millis % _UNIT_MILLIS[unit] == 0:
            return f"{millis // _UNIT_MILLIS[unit]}{unit}"
    return f"{millis}ms"


def read_switch(text: str, *, name: str) -> bool:
    if text.lower() not in _SWITCHES:
        raise Invalid(f"{name} takes no value, or `true` or `false`; not `{text}`.")
    return _SWITCHES[text.lower()]


def read_choice(text: str, parameter: Parameter, *, name: str) -> str:
    value = parameter.aliases.get(text, text)
    if value in parameter.choices or (parameter.is_clearable and not value):
        return value
    nearest = suggest.nearest_choices(text, [*parameter.choices, *parameter.aliases])
    raise Invalid(
        f"{name} cannot be `{text}`{suggest.did_you_mean(nearest) or '.'}",
        hint=f"Valid values: {', '.join(parameter.choices)}.",
        data={"value": text, "nearest": nearest, "choices": list(parameter.choices)},
    )


def read_value(text: str, parameter: Parameter, *, name: str) -> object:
    """Return a value of a parameter, read from text."""
    match parameter.kind:
        case ValueKind.NUMBER:
            return read_number(text, name=name)
        case ValueKind.DURATION:
            return read_duration(text, name=name)
        case ValueKind.CHOICE:
            return read_choice(text, parameter, name=name)
        case _:
            return text


def read_list(texts: list[str], parameter: Parameter, *, name: str) -> list[object]:
    """Return the values of a list: repeated, or separated by commas unless the declaration forbids it.

    A single empty value is an empty list.
    """
    if texts == [""]:
        return []
    if parameter.is_comma_separated:
        texts = [piece for text in texts for piece in map(str.strip, text.split(",")) if piece]
    return [read_value(text, parameter, name=name) for text in texts]
