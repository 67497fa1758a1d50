"""TOML from an untrusted source is parsed, or refused with a message of one line, in a bounded number of steps."""

from __future__ import annotations

import random
import sys
import tomllib
from types import FrameType
from typing import Any

import pytest

from maestro.core import limits
from maestro.text import bounded_toml

SIZE = limits.checkout_settings_bytes_max - 100
STEPS_MAX = 5_000_000  # five times the parser's steps for the slowest known text

GOOD = """
# a comment with "quotes and [brackets
remote = "upstream"
inbound = 'open'

[projects.beads]
remote = "https://github.com/acme/beads"   # a.b.c.d.e.f.g.h.i.j
[projects."with space"]
path = '../x'

[worktree]
setup = '''
make deps   # [[[[[[[[[[[[[[[[[[[[[[[[
'''
copy = [".env", "a/**/b.c.d.e.f.g.h.i.j.k", [1, 2.5, 1979-05-27T07:32:00Z]]
text = \"\"\"two "quotes" and a \\\\ in \\"it\\" ""\"\"\"
"""

HOSTILE = {
    "parts": "a." * 20_000 + "a = 1",
    "parts with spaces": "a . " * 10_000 + "a = 1",
    "quoted parts": '"a".' * 10_000 + "a = 1",
    "header": "[" + "a." * 20_000 + "a]",
    "arrays": "a = " + "[" * 30_000,
    "tables": "a = " + "{a=" * 15_000,
    "digits": "a = " + "1" * 5_000,
    "hex": "a = 0x" + "f" * 5_000,
    "lines": "\n" * SIZE,
    "values": "a = [" + "1," * (SIZE // 2) + "]",
    "an open string": 'a = "' + '\\"' * 20_000,
    "an open text": "a = '''" + "''" * 20_000,
    "size": "#" * (limits.checkout_settings_bytes_max + 1),
    "nulls": "\0" * 1000,
    "not TOML": "this is prose",
    "a bad date": "a = 2024-99-99",
}


def parse_in_bounded_steps(text: str) -> dict[str, Any]:
    """Parse a text; fail if the parser executes more than STEPS_MAX lines of Python.

    Steps do not depend on the load of the machine, as time does. Work in a C function, such as a regular expression,
    has no steps: the time limit of pytest ends a test with an endless match.
    """
    steps = 0

    def count_step(frame: FrameType, event: str, argument: object) -> Any:
        nonlocal steps
        steps += 1
        assert steps <= STEPS_MAX, "the parser takes too many steps"
        return count_step

    before = sys.gettrace()
    sys.settrace(count_step)
    try:
        return bounded_toml.parse_toml(text)
    finally:
        sys.settrace(before)


def test_valid_toml_is_parsed_as_tomllib_parses_the_text() -> None:
    assert bounded_toml.parse_toml(GOOD) == tomllib.loads(GOOD)


@pytest.mark.parametrize("text", HOSTILE.values(), ids=list(HOSTILE))
def test_a_hostile_text_is_refused_in_bounded_steps_with_a_message_of_one_line(text: str) -> None:
    with pytest.raises(bounded_toml.TomlUnreadable) as caught:
        parse_in_bounded_steps(text)
    assert "\n" not in str(caught.value) and len(str(caught.value)) < 200


def costly_texts() -> dict[str, str]:
    """Return texts just within the limits that take the parser longest; they were found by experiments."""
    header = "[" + ".".join("abcdefgh") + "]\n"
    lines = limits.toml_marks_max // 9 - 20
    return {
        "long keys below a long header": header + "".join(f"a.b.c.d.e.f.g.k{n}=1\n" for n in range(lines)),
        "long headers": "".join(f"[a.b.c.d.e.f.g.k{n}]\n" for n in range(limits.toml_marks_max // 10 - 20)),
        "tables in a list": "".join("[[a.b.c.d.e.f.g.h]]\n" for _ in range(limits.toml_marks_max // 12 - 20)),
        "flat": "".join(f"k{n}=1\n" for n in range(limits.toml_marks_max // 2 - 20)),
        "inline": "a={" + ",".join(f"a.b.c.d.e.f.g.k{n}=1" for n in range(lines)) + "}",
        "list": "a=[" + "{a=1}," * (limits.toml_marks_max // 4 - 20) + "]",
        "escapes": 'a="' + "\\n" * (SIZE // 2 - 10) + '"',
    }


@pytest.mark.parametrize("name", costly_texts())
def test_the_slowest_texts_within_the_limits_are_parsed_in_bounded_steps(name: str) -> None:
    assert parse_in_bounded_steps(costly_texts()[name])


def test_a_random_text_is_parsed_as_by_tomllib_or_refused() -> None:
    chance = random.Random(7)
    pieces = [
        "a",
        ".",
        "=",
        "[",
        "]",
        "{",
        "}",
        '"',
        "'",
        '"""',
        "'''",
        "\\",
        "\n",
        "#",
        ",",
        " ",
        "1",
        "-",
        "é",
        "\0",
    ]
    for _ in range(3_000):
        text = "".join(chance.choices(pieces, k=chance.randrange(1, 60)))
        try:
            expected = tomllib.loads(text)
        except tomllib.TOMLDecodeError:
            with pytest.raises(bounded_toml.TomlUnreadable):
                bounded_toml.parse_toml(text)
        else:
            try:
                assert bounded_toml.parse_toml(text) == expected
            except bounded_toml.TomlUnreadable as refused:
                assert "more than" in str(refused)  # valid TOML beyond the limits
