"""Whatever is put into an element comes out as its text, and as nothing else."""

from __future__ import annotations

import re
from xml.etree import ElementTree as ET

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from maestro.prompts.xml import Markup, element, escape_text, fill_slots, group, insert_text, make_slot, shorten_text

# Everything Python can hold, unpaired surrogates too; and often what means something to XML.
ANYTHING = st.text(st.characters(exclude_categories=()) | st.sampled_from("&<>\"']\r\n\t\0\x1b"), max_size=60)
# Marks without a shape of their own: they would not be seen.
UNSEEN = "".join(map(chr, [0x34F, *range(0x180B, 0x1810), *range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0)]))
SHAPES = st.characters(categories=("L", "M", "N", "P", "S", "Zs"), exclude_characters=UNSEEN)
SEEN = st.text(SHAPES | st.sampled_from("\n\t"), max_size=60)


@given(SEEN)
@example("</a><b>")
@example("]]><![CDATA[x]]>")
@example("&lt;&#0;&amp;amp;")
@example("'\"\n\t")
def test_what_can_be_seen_comes_out_as_it_went_in(value: str) -> None:
    found = ET.fromstring(element("a", {"b": value}, value))
    assert (found.tag, found.attrib, found.text or "", len(found)) == ("a", {"b": value}, value, 0)


@given(ANYTHING, ANYTHING)
def test_nothing_gets_out_of_its_element(first: str, second: str) -> None:
    page = element("a", {"b": first}, element("c", None, second), element("d", {"e": second}, first))
    found = ET.fromstring(page)
    assert [child.tag for child in found.iter()] == ["a", "c", "d"]
    assert list(found.attrib) == ["b"] and list(found[1].attrib) == ["e"]
    assert found[0].text == found[1].attrib["e"] or second == ""


@given(ANYTHING, st.integers(0, 200))
def test_a_shortened_text_is_still_one(value: str, size: int) -> None:
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
def test_what_would_not_be_seen_is_spelt_out(value: str, seen: str) -> None:
    assert escape_text(value) == seen


def test_quotes_matter_only_between_quotes() -> None:
    assert element("a", {"b": '"it\'s"'}, '"it\'s"') == '<a b="&quot;it&apos;s&quot;">"it\'s"</a>'


def test_what_is_none_is_left_out() -> None:
    assert element("a", {"b": None, "c": "1"}, None, element("d"), None) == '<a c="1">\n<d />\n</a>'
    assert element("a", None, None) == "<a />"
    assert element("a", None, "") == "<a></a>"


def test_an_element_holds_one_text_or_elements() -> None:
    with pytest.raises(TypeError):
        element("a", None, "text", element("b"))
    with pytest.raises(TypeError):
        element("a", None, "two", "texts")
    with pytest.raises(TypeError):
        group("a", None, [element("b"), "text"])  # type: ignore[list-item]


@given(st.lists(ANYTHING, min_size=1, max_size=5))
def test_what_fills_a_hole_stands_in_its_place(values: list[str]) -> None:
    page = element("a", None, *[make_slot(place) for place, _ in enumerate(values)])
    found = ET.fromstring(fill_slots(page, [element("b", None, value) for value in values]))
    assert [child.text or "" for child in found] == [re.sub("^$", "", _read(value)) for value in values]


@given(ANYTHING)
def test_a_text_is_put_into_an_empty_element(value: str) -> None:
    assert insert_text(element("a", {"b": value}, ""), escape_text(value)) == element("a", {"b": value}, value)


def test_markup_of_another_is_no_text() -> None:
    assert element("a", None, Markup("<b />")) == "<a>\n<b />\n</a>"
    assert element("a", None, "<b />") == "<a>&lt;b /&gt;</a>"


def _read(value: str) -> str:
    return ET.fromstring(f"<a>{escape_text(value)}</a>").text or ""
