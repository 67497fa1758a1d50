"""A text in an element is read back as the text of this element only."""

from __future__ import annotations

import re
from xml.etree import ElementTree as ET

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from maestro.prompts.xml import Markup, element, escape_text, fill_slots, group, insert_text, make_slot, shorten_text

# All characters of Python, also unpaired surrogates, and frequently the special characters of XML.
ANYTHING = st.text(st.characters(exclude_categories=()) | st.sampled_from("&<>\"']\r\n\t\0\x1b"), max_size=60)
# Combining characters without a visible shape.
UNSEEN = "".join(map(chr, [0x34F, *range(0x180B, 0x1810), *range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0)]))
SHAPES = st.characters(categories=("L", "M", "N", "P", "S", "Zs"), exclude_characters=UNSEEN)
SEEN = st.text(SHAPES | st.sampled_from("\n\t"), max_size=60)


@given(SEEN)
@example("</a><b>")
@example("]]><![CDATA[x]]>")
@example("&lt;&#0;&amp;amp;")
@example("'\"\n\t")
def test_a_visible_text_in_an_element_is_read_back_unchanged(value: str) -> None:
    found = ET.fromstring(element("a", {"b": value}, value))
    assert (found.tag, found.attrib, found.text or "", len(found)) == ("a", {"b": value}, value, 0)


@given(ANYTHING, ANYTHING)
def test_no_text_changes_the_elements_and_attributes_around_it(first: str, second: str) -> None:
    page = element("a", {"b": first}, element("c", None, second), element("d", {"e": second}, first))
    found = ET.fromstring(page)
    assert [child.tag for child in found.iter()] == ["a", "c", "d"]
    assert list(found.attrib) == ["b"] and list(found[1].attrib) == ["e"]
    assert found[0].text == found[1].attrib["e"] or second == ""


@given(ANYTHING, st.integers(0, 200))
def test_a_shortened_escaped_text_is_valid_and_a_prefix_of_the_whole_text(value: str, size: int) -> None:
    kept = shorten_text(escape_text(value), size)
    assert len(kept.encode()) <= size or kept == escape_text(value)
    whole = ET.fromstring(f"<a>{escape_text(value)}</a>").text or ""
    assert whole.startswith(ET.fromstring(f"<a>{kept}</a>").text or "")


@pytest.mark.parametrize(
    ("value", "seen"),
    [
        ("\x1b[31m", "\\x1b[31m"),
        ("a\0b", "a\\x00b"),
        ("one\r\ntwo\rthree", "one\ntwo\\x0dthree"),
        ("\u202eltr", "\\u202eltr"),
        ("hidden\U000e0041", "hidden\\U000e0041"),
        ("\ud800\ufffe", "\\ud800\\ufffe"),
        ("🛠 ﷽ é", "🛠 ﷽ é"),
    ],
)
def test_an_invisible_character_is_escaped(value: str, seen: str) -> None:
    assert escape_text(value) == seen


def test_quotes_are_escaped_only_in_attributes() -> None:
    assert element("a", {"b": '"it\'s"'}, '"it\'s"') == '<a b="&quot;it&apos;s&quot;">"it\'s"</a>'


def test_attributes_and_children_that_are_none_are_left_out() -> None:
    assert element("a", {"b": None, "c": "1"}, None, element("d"), None) == '<a c="1">\n<d />\n</a>'
    assert element("a", None, None) == "<a />"
    assert element("a", None, "") == "<a></a>"


def test_an_element_with_text_and_elements_or_with_two_texts_is_refused() -> None:
    with pytest.raises(TypeError):
        element("a", None, "text", element("b"))
    with pytest.raises(TypeError):
        element("a", None, "two", "texts")
    with pytest.raises(TypeError):
        group("a", None, [element("b"), "text"])  # type: ignore[list-item]


@given(st.lists(ANYTHING, min_size=1, max_size=5))
def test_each_slot_is_replaced_by_its_own_element(values: list[str]) -> None:
    page = element("a", None, *[make_slot(place) for place, _ in enumerate(values)])
    found = ET.fromstring(fill_slots(page, [element("b", None, value) for value in values]))
    assert [child.text or "" for child in found] == [re.sub("^$", "", _read(value)) for value in values]


@given(ANYTHING)
def test_a_text_is_inserted_into_an_empty_element(value: str) -> None:
    assert insert_text(element("a", {"b": value}, ""), escape_text(value)) == element("a", {"b": value}, value)


def test_markup_is_inserted_unchanged_and_text_is_escaped() -> None:
    assert element("a", None, Markup("<b />")) == "<a>\n<b />\n</a>"
    assert element("a", None, "<b />") == "<a>&lt;b /&gt;</a>"


def _read(value: str) -> str:
    return ET.fromstring(f"<a>{escape_text(value)}</a>").text or ""
