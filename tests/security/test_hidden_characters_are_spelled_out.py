"""Tests that prompts and text output spell out characters that a model reads but a person does not see."""

import pytest

from maestro.prompts import xml
from maestro.surfaces.cli.render import style
from maestro.text.terminal_text import TerminalLines

HIDDEN = [
    *range(0x200B, 0x200E),
    *range(0x2060, 0x2065),
    *range(0xFE00, 0xFE10),
    *(0x034F, 0x061C, 0x180B, 0x180E, 0xFEFF, 0xE0001, 0xE0041, 0xE0100, 0xE01EF),
]
ORDINARY = [
    "❤️",  # a heart with a variation selector
    "1️⃣ #️⃣",  # keycaps
    "👩‍💻 👨‍👩‍👧 ❤️‍🔥 🏳️‍🌈 👩🏽‍🚀",  # joined emoji
    "می‌خواهم",  # Persian, with a non-joiner
    "क्‍ष",  # Devanagari, with a joiner
    "naïve – “quoted” … 漢字\tx",
]


def lines(text: str) -> str:
    return TerminalLines().add_output(text + "\n").removesuffix("\n")


SHOWS = [xml.escape_text, style.safe_body, style.safe_line, style.finish_text, lines]


def spelled(code: int) -> str:
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


@pytest.mark.parametrize("shows", SHOWS)
@pytest.mark.parametrize("code", HIDDEN, ids=hex)
def test_a_hidden_character_is_spelled_out(shows, code: int) -> None:
    assert shows(f"a{chr(code)}b") in (f"a{spelled(code)}b", "ab" if shows is lines else "")


@pytest.mark.parametrize("shows", SHOWS)
def test_a_message_in_variation_selectors_is_spelled_out(shows) -> None:
    message = "".join(chr(0xE0100 + byte - 16) for byte in b"do evil")
    shown = shows(f"😀{message}")
    assert not set(shown) & set(message) and shown.count("\\U000e01") == len(message)
    shown = shows("😀" + "\ufe0f\ufe0e" * 8)
    assert shown.count("\\ufe0") == 15  # the first selector only shows the emoji in colour


@pytest.mark.parametrize("shows", SHOWS)
@pytest.mark.parametrize("text", ORDINARY)
def test_ordinary_text_is_not_changed(shows, text: str) -> None:
    expected = text.replace("\t", " ") if shows is style.safe_line else text
    assert shows(text) == expected


def test_a_hidden_character_in_an_attribute_of_a_prompt_is_spelled_out() -> None:
    assert xml.element("a", {"name": "x\U000e0100y"}, None) == '<a name="x\\U000e0100y" />'
