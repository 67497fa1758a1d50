"""Long texts and lists in a prompt are cut, so that the prompt fits into its size limit."""

from __future__ import annotations

from collections.abc import Callable
from xml.etree import ElementTree as ET

import pytest

from maestro.core import limits
from maestro.domain.manifests import AgentReach
from maestro.prompts.compose import task_prompt
from maestro.prompts.parts import ElementBuilder, PromptBounds, ReadCall, fit_prompt
from maestro.prompts.xml import Markup, element, group
from maestro.testing.manifests import make_link, make_manifest, make_task

LONG = "</task>" + "x" * 1_000_000
READ = ReadCall("task.show", "vc#1")


@pytest.mark.parametrize(
    ("reach", "read"),
    [(AgentReach.COMMANDS, "maestro task show vc#12"), (AgentReach.MCP, 'tasks(action="show", id="vc#12")')],
)
def test_a_long_description_is_cut_and_names_the_call_that_reads_the_whole_text(reach: AgentReach, read: str) -> None:
    text = task_prompt(make_manifest(reach=reach, tasks=(make_task(description=LONG),)))
    found = ET.fromstring(text).find("tasks/task/description")
    assert found is not None and found.text is not None
    assert found.attrib == {"truncated": "true", "length": str(len(LONG)), "read_all": read}
    assert LONG.startswith(found.text) and len(found.text) == limits.prompt_text_chars_max


def test_a_text_that_fits_is_not_marked_as_cut() -> None:
    text = task_prompt(make_manifest(tasks=(make_task(description="x" * limits.prompt_text_chars_max),)))
    assert "truncated" not in text


def test_long_texts_share_the_space_and_short_texts_are_complete() -> None:
    tasks = [make_task(number, description="x" * 8_000, documents=()) for number in range(20)]
    tasks.append(make_task(99, description="A short one."))
    text = task_prompt(make_manifest(tasks=tuple(tasks)))
    found = ET.fromstring(text).findall("tasks/task/description")
    sizes = [len(description.text or "") for description in found]
    assert found[-1].attrib == {} and found[-1].text == "A short one."
    assert set(sizes[:-1]) == {sizes[0]} and 2_000 < sizes[0] < 8_000
    assert limits.task_prompt_bytes_max * 0.95 < len(text.encode()) <= limits.task_prompt_bytes_max


def test_a_long_list_is_cut_and_names_the_number_of_missing_items() -> None:
    task = make_task(depends_on=tuple(make_link(number) for number in range(1_000)))
    found = ET.fromstring(task_prompt(make_manifest(tasks=(task,)))).find("tasks/task/depends_on")
    assert found is not None and len(found) == limits.prompt_items_max + 1
    assert found[-1].attrib == {"count": "980", "read_all": "maestro task show vc#12"}


def element_builder(*, line_chars: int = 40, items: int = 2, entries: int = 3) -> ElementBuilder:
    return ElementBuilder(PromptBounds(line_chars, items, entries), AgentReach.COMMANDS)


def test_a_short_text_is_cut_only_over_the_length_of_a_line() -> None:
    parts = element_builder(line_chars=5)
    assert [parts.short_text(value) for value in (None, "", "12345", "123456")] == [None, "", "12345", "1234…"]


@pytest.mark.parametrize(("count", "shown"), [(1, 1), (2, 2), (3, 2)])
def test_an_inner_list_shows_as_many_items_as_the_bounds_allow(count: int, shown: int) -> None:
    markup = element_builder(items=2).inner_list("xs", range(count), lambda number: element("x"), READ)
    assert markup is not None
    found = ET.fromstring(markup)
    assert len(found.findall("x")) == shown
    assert [more.attrib for more in found.findall("more")] == (
        [{"count": str(count - shown), "read_all": "maestro task show vc#1"}] if count > shown else []
    )


def test_a_counted_list_names_the_full_count_and_shows_at_most_the_allowed_entries() -> None:
    markup = element_builder(items=1, entries=3).counted_list("xs", range(9), lambda number: element("x"), READ)
    assert markup is not None
    found = ET.fromstring(markup)
    assert found.get("count") == "9" and len(found.findall("x")) == 3


def test_an_empty_list_has_no_element() -> None:
    parts = element_builder()
    assert parts.inner_list("xs", (), lambda number: element("x"), READ) is None
    assert parts.counted_list("xs", (), lambda number: element("x"), READ) is None


def test_divided_bounds_shrink_to_a_minimum_and_the_entries_bound_shrinks_last() -> None:
    default, quarter, smallest = (PromptBounds.divided_by(divisor) for divisor in (1, 4, 1_000_000))
    assert default == PromptBounds(limits.prompt_line_chars_max, limits.prompt_items_max, limits.prompt_entries_max)
    assert quarter.entries == default.entries and quarter.items < default.items
    assert smallest == PromptBounds(40, 1, 1)


def page_of_texts(*values: str) -> Callable[[ElementBuilder], Markup]:
    """Return a function that builds a page with one long text for each value."""
    return lambda parts: group("page", None, [parts.long_text("t", value, READ) for value in values])


def test_a_text_is_cut_only_when_the_prompt_exceeds_its_bytes() -> None:
    whole = fit_prompt(page_of_texts("a" * 3_000), AgentReach.COMMANDS, bytes_max=10_000)
    size = len(whole.encode())
    slot_bytes = 3  # the slot of a text counts too
    assert fit_prompt(page_of_texts("a" * 3_000), AgentReach.COMMANDS, bytes_max=size + slot_bytes) == whole
    cut = fit_prompt(page_of_texts("a" * 3_000), AgentReach.COMMANDS, bytes_max=size - 1)
    assert 'truncated="true" length="3000"' in cut and len(cut.encode()) <= size - 1


@pytest.mark.parametrize("char", ["a", "&", "🛠", "\x1b"])
def test_a_prompt_with_wide_or_escaped_characters_stays_within_its_bytes(char: str) -> None:
    text = fit_prompt(page_of_texts(char * 3_000, char * 100), AgentReach.COMMANDS, bytes_max=2_000)
    assert 1_500 < len(text.encode()) <= 2_000
    ET.fromstring(text)


def test_a_long_text_with_a_limit_is_cut_at_this_limit() -> None:
    def build(parts: ElementBuilder) -> Markup:
        return group("page", None, [parts.long_text("t", "b" * 500, READ, chars=100, attributes={"by": "ada"})])

    found = ET.fromstring(fit_prompt(build, AgentReach.COMMANDS, bytes_max=10_000)).find("t")
    assert found is not None and found.text == "b" * 100
    assert found.get("by") == "ada" and found.get("length") == "500"


def test_a_complete_text_is_not_marked_beside_a_text_that_is_cut() -> None:
    text = fit_prompt(page_of_texts("a" * 1_000, "&" * 1_000), AgentReach.COMMANDS, bytes_max=4_000)
    complete, cut = ET.fromstring(text)
    assert complete.attrib == {} and complete.text == "a" * 1_000
    assert cut.get("truncated") == "true" and 400 < len(cut.text or "") < 1_000
