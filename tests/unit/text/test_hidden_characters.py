"""Invisible characters are escaped, except characters that an emoji or a script needs at their position."""

from __future__ import annotations

import pytest

from maestro.text.hidden_characters import escape_invisible


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a\x00b", "a\\x00b"),
        ("a\x1b[2Jb", "a\\x1b[2Jb"),
        ("a\rb", "a\\x0db"),
        ("a\x7fb", "a\\x7fb"),
        ("a\x9bb", "a\\x9bb"),
        ("a\u202eb", "a\\u202eb"),
        ("a\u2066b", "a\\u2066b"),
        ("a\ud800b", "a\\ud800b"),
        ("a\uffffb", "a\\uffffb"),
        ("a\U000e0041b", "a\\U000e0041b"),
    ],
    ids=ascii,
)
def test_a_control_or_direction_character_is_escaped(text: str, expected: str) -> None:
    assert escape_invisible(text) == expected


@pytest.mark.parametrize("text", ["", "plain", "two\nlines\tand a tab", "naïve – “quoted” 漢字", "no-break\xa0space"])
def test_visible_text_tabs_and_newlines_stay_unchanged(text: str) -> None:
    assert escape_invisible(text) == text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("❤\ufe0f", "❤\ufe0f"),
        ("a\ufe0f", "a\\ufe0f"),
        ("1\ufe0f\u20e3", "1\ufe0f\u20e3"),
        ("1\ufe0f2", "1\\ufe0f2"),
        ("x\ufe0f\u20e3", "x\\ufe0f\u20e3"),
        ("❤\ufe0f\ufe0f", "❤\ufe0f\\ufe0f"),
        ("❤\ufe00", "❤\\ufe00"),
    ],
    ids=ascii,
)
def test_a_variation_selector_stays_only_once_after_an_emoji_or_in_a_keycap(text: str, expected: str) -> None:
    assert escape_invisible(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("👩\u200d💻", "👩\u200d💻"),
        ("❤\ufe0f\u200d🔥", "❤\ufe0f\u200d🔥"),
        ("می\u200cخواهم", "می\u200cخواهم"),
        ("a\u200db", "a\\u200db"),
        ("👩\u200d", "👩\\u200d"),
        ("\u200d💻", "\\u200d💻"),
        ("👩\u200d\u200d\u200d💻", "👩\\u200d\\u200d\u200d💻"),
        ("👩\u200b💻", "👩\\u200b💻"),
    ],
    ids=ascii,
)
def test_a_joiner_stays_only_between_two_characters_beyond_ascii(text: str, expected: str) -> None:
    assert escape_invisible(text) == expected
