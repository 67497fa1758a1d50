"""JSON with comments is read in any layout, and an edit changes only the edited member."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from maestro.text.jsonc import JsoncDocument, JsoncEdits, JsoncUnreadable

values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=12,
)
objects = st.dictionaries(st.text(max_size=5), values, max_size=5)
indents = st.sampled_from([None, 0, 1, 2, 4, "\t"])


@st.composite
def documents(draw: st.DrawFn) -> tuple[str, dict[str, Any]]:
    """Return an object and its text, with random indents, line ends, comments and a trailing comma."""
    data = draw(objects)
    text = json.dumps(data, indent=draw(indents), ensure_ascii=draw(st.booleans()))
    if data and draw(st.booleans()):
        text = text[:-1].rstrip() + draw(st.sampled_from([",}", " , }", ",\n}", ", // last, \n}", "/*,*/ , }"]))
    if draw(st.booleans()):
        text = "{" + draw(st.sampled_from([" // {\n", "/* } */", "\n\n"])) + text[1:]
    if draw(st.booleans()):
        text = text.replace("\n", "\r\n")
    return text, data


@given(documents())
def test_a_document_of_any_layout_is_read_with_all_its_values(document: tuple[str, dict[str, Any]]) -> None:
    text, data = document
    assert JsoncDocument(text).root.to_value() == data


@given(documents(), st.text(max_size=5), values)
def test_an_added_member_is_read_back_and_can_be_removed_again(
    document: tuple[str, dict[str, Any]], key: str, value: Any
) -> None:
    text, data = document
    if key in data:
        return
    read = JsoncDocument(text)
    edits = JsoncEdits(read)
    edits.add_value(read.root, value, key)
    made = JsoncDocument(edits.apply_edits())
    assert made.root.to_value() == {**data, key: value}
    again = JsoncEdits(made)
    assert made.root.members is not None
    again.remove_entry(made.root, made.root.members[key])
    assert JsoncDocument(again.apply_edits()).root.to_value() == data


@given(documents(), st.data())
def test_any_set_of_members_can_be_removed(document: tuple[str, dict[str, Any]], data: st.DataObject) -> None:
    text, held = document
    gone = data.draw(st.sets(st.sampled_from(sorted(held)))) if held else set()
    read = JsoncDocument(text)
    edits = JsoncEdits(read)
    assert read.root.members is not None
    for key in gone:
        edits.remove_entry(read.root, read.root.members[key])
    assert JsoncDocument(edits.apply_edits()).root.to_value() == {
        key: value for key, value in held.items() if key not in gone
    }


@given(st.text(max_size=40))
def test_a_text_that_is_not_json_is_refused_with_a_message(text: str) -> None:
    try:
        JsoncDocument(text)
    except JsoncUnreadable as error:
        assert str(error)


@pytest.mark.parametrize("text", ['{"a": 1}', '{"a": [1, {"b": null}], "c": "x\\n"}'])
def test_plain_json_is_read_as_the_json_module_reads_the_text(text: str) -> None:
    assert JsoncDocument(text).root.to_value() == json.loads(text)
