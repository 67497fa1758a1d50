"""Bounded elements of prompts, and the fitting of a whole prompt into its size limit.

Lists are cut after a number of items. Long texts share the space that the rest of the prompt leaves: short texts come
whole, long texts are cut to an equal length. An element with a cut text or list names the call that reads the whole.
The call stands in attributes, which the text cannot forge.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, TypeVar

from maestro.core import limits
from maestro.domain.manifests import AgentReach
from maestro.prompts import call_names, xml
from maestro.prompts.xml import Attributes, Markup, element, fill_slots, group, insert_text, make_slot, shorten_text

_T = TypeVar("_T")

_DIVISOR_STEP = 4
_DIVISOR_MAX = 1024
_BYTES_PER_TEXT_MIN = 400


class ReadCall(NamedTuple):
    """The call that reads the whole of a cut text or list."""

    operation: str
    id: str | None = None
    switch: str | None = None


class _LongText(NamedTuple):
    """A long text whose share of the prompt is not yet known."""

    name: str
    attributes: Attributes
    value: str
    read: ReadCall
    chars: int


@dataclass(frozen=True)
class PromptBounds:
    """The largest line and the longest lists of a prompt."""

    line_chars: int
    items: int  # of a list inside an element: acceptance lines, dependencies
    entries: int  # of a top-level list: tasks, siblings, members, commands

    @classmethod
    def divided_by(cls, divisor: int) -> PromptBounds:
        """Return the default bounds divided by a number. Entries shrink last."""
        return cls(
            line_chars=max(40, limits.prompt_line_chars_max // divisor),
            items=max(1, limits.prompt_items_max // divisor),
            entries=max(1, limits.prompt_entries_max * _DIVISOR_STEP // max(_DIVISOR_STEP, divisor)),
        )


@dataclass(frozen=True)
class ElementBuilder:
    """A builder of bounded elements for agents that reach Maestro by `reach`. Collects the long texts."""

    bounds: PromptBounds
    reach: AgentReach
    long_texts: list[_LongText] = field(default_factory=list)

    def spell_read_call(self, read: ReadCall) -> str:
        """Return the call in the spelling of the agent: a command or an MCP tool."""
        arguments: dict[str, list[str]] = {"id": [read.id]} if read.id is not None else {}
        if read.switch is not None:
            arguments[read.switch] = []
        return call_names.spell_call(self.reach, read.operation, arguments)

    def short_text(self, value: str | None) -> str | None:
        """Return a short value, cut to one bounded line."""
        if value is None or len(value) <= self.bounds.line_chars:
            return value
        return value[: self.bounds.line_chars - 1] + "…"

    def long_text(
        self,
        name: str,
        value: str,
        read: ReadCall,
        *,
        chars: int = limits.prompt_text_chars_max,
        attributes: Attributes | None = None,
    ) -> Markup:
        """Add a long value and return its slot; `fit_prompt` fills the slot."""
        self.long_texts.append(_LongText(name, attributes or {}, value, read, chars))
        return make_slot(len(self.long_texts) - 1)

    def inner_list(
        self, name: str, values: Sequence[_T], make: Callable[[_T], Markup], read: ReadCall
    ) -> Markup | None:
        """Return a list inside an element, or None for an empty list."""
        return group(name, None, self._first_elements(values, make, read, self.bounds.items)) if values else None

    def counted_list(
        self, name: str, values: Sequence[_T], make: Callable[[_T], Markup], read: ReadCall
    ) -> Markup | None:
        """Return a top-level list with its count, or None for an empty list."""
        if not values:
            return None
        return group(name, {"count": str(len(values))}, self._first_elements(values, make, read, self.bounds.entries))

    def _first_elements(
        self, values: Sequence[_T], make: Callable[[_T], Markup], read: ReadCall, count_max: int
    ) -> list[Markup]:
        elements = [make(value) for value in values[:count_max]]
        if len(values) > count_max:
            elements.append(
                element("more", {"count": str(len(values) - count_max), "read_all": self.spell_read_call(read)})
            )
        return elements


def fit_prompt(build: Callable[[ElementBuilder], Markup], reach: AgentReach, *, bytes_max: int) -> str:
    """Return the prompt with as much content as fits into `bytes_max`."""
    divisor = 1
    while True:
        parts = ElementBuilder(PromptBounds.divided_by(divisor), reach)
        page = build(parts)
        room = bytes_max - len(page.encode()) - 1
        if room >= _BYTES_PER_TEXT_MIN * len(parts.long_texts) or divisor >= _DIVISOR_MAX:
            return fill_slots(page, _texts_within(parts, room))
        divisor *= _DIVISOR_STEP


def _texts_within(parts: ElementBuilder, room: int) -> list[Markup]:
    """Return each long text as an element; all elements together fit into `room` bytes."""
    texts = parts.long_texts
    chars = [min(len(text.value), text.chars) for text in texts]
    if sum(chars) <= room:  # a character has at least one byte: only then can all texts fit
        elements = [_text_element(parts, text) for text in texts]
        if sum(len(text_element.encode()) for text_element in elements) <= room:
            return elements
    frames = [_empty_cut_element(parts, text) for text in texts]
    room -= sum(len(frame.encode()) for frame in frames)
    chars_max = _share_level(chars, room)
    heads = [xml.escape_text(text.value[: min(text.chars, chars_max)]) for text in texts]
    head_bytes_max = _share_level([len(head.encode()) for head in heads], room)
    elements = []
    for text, frame, head in zip(texts, frames, heads, strict=True):
        shown = shorten_text(head, head_bytes_max)
        is_whole = shown is head and len(text.value) <= min(text.chars, chars_max)
        elements.append(_text_element(parts, text) if is_whole else insert_text(frame, shown))
    return elements


def _text_element(parts: ElementBuilder, text: _LongText) -> Markup:
    """Return a text as an element, cut only at the text's own limit."""
    if len(text.value) <= text.chars:
        return element(text.name, text.attributes, text.value)
    return insert_text(_empty_cut_element(parts, text), xml.escape_text(text.value[: text.chars]))


def _empty_cut_element(parts: ElementBuilder, text: _LongText) -> Markup:
    """Return the element of a cut text, without the text."""
    cut = {"truncated": "true", "length": str(len(text.value)), "read_all": parts.spell_read_call(text.read)}
    return element(text.name, {**text.attributes, **cut}, "")


def _share_level(sizes: Sequence[int], room: int) -> int:
    """Return the largest size per text at which all texts fit. Space that short texts leave goes to long texts."""
    for index, size in enumerate(sorted(sizes)):
        left = len(sizes) - index
        if size * left > room:
            return max(0, room // left)
        room -= size
    return max(sizes, default=0)
