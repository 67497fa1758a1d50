"""The pieces that prompts are put together from, each within its bounds; and how a whole prompt is made to fit.

Lists are cut after so many items. Long texts share the room that the rest of the prompt leaves: short ones come
whole, the others up to one level. Where something was cut, its element says so, with the call that reads the whole
of it: in attributes, which the text itself cannot forge.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, TypeVar

from maestro.core import limits
from maestro.domain.manifests import Reach
from maestro.prompts import calls, xml
from maestro.prompts.xml import Attributes, Markup, element, fill, group, hole, inside, shortened

_T = TypeVar("_T")

_FEWER_BY = 4
_FEWER_MAX = 1024
_BYTES_FOR_A_TEXT_MIN = 400


class Where(NamedTuple):
    """The call that reads the whole of something."""

    operation: str
    id: str | None = None
    switch: str | None = None


class _Text(NamedTuple):
    """A long text that waits to know how much of it there is room for."""

    name: str
    attributes: Attributes
    value: str
    read: Where
    chars: int


@dataclass(frozen=True)
class Bounds:
    """How many of everything come into a prompt."""

    line_chars: int
    items: int  # of a list inside one thing: acceptance lines, dependencies
    entries: int  # things: tasks, siblings, members, commands

    @classmethod
    def at(cls, fewer: int) -> Bounds:
        """The bounds of a prompt that has to do with so many times less; whole things are left out last."""
        return cls(
            line_chars=max(40, limits.prompt_line_chars_max // fewer),
            items=max(1, limits.prompt_items_max // fewer),
            entries=max(1, limits.prompt_entries_max * _FEWER_BY // max(_FEWER_BY, fewer)),
        )


@dataclass(frozen=True)
class Parts:
    """Makes elements within bounds, for one way to reach Maestro."""

    bounds: Bounds
    reach: Reach
    texts: list[_Text] = field(default_factory=list)

    def call(self, where: Where) -> str:
        """A call that reads something, as this reader writes it."""
        arguments: dict[str, list[str]] = {"id": [where.id]} if where.id is not None else {}
        if where.switch is not None:
            arguments[where.switch] = []
        return calls.spell(self.reach, where.operation, arguments)

    def line(self, value: str | None) -> str | None:
        """A short value."""
        if value is None or len(value) <= self.bounds.line_chars:
            return value
        return value[: self.bounds.line_chars - 1] + "…"

    def prose(
        self,
        name: str,
        value: str,
        read: Where,
        *,
        chars: int = limits.prompt_text_chars_max,
        attributes: Attributes | None = None,
    ) -> Markup:
        """A long value."""
        self.texts.append(_Text(name, attributes or {}, value, read, chars))
        return hole(len(self.texts) - 1)

    def items(self, name: str, values: Sequence[_T], make: Callable[[_T], Markup], read: Where) -> Markup | None:
        """A list inside one thing; none if it is empty."""
        return group(name, None, self._some(values, make, read, self.bounds.items)) if values else None

    def entries(self, name: str, values: Sequence[_T], make: Callable[[_T], Markup], read: Where) -> Markup | None:
        """A list of things, with how many there are; none if it is empty."""
        if not values:
            return None
        return group(name, {"count": str(len(values))}, self._some(values, make, read, self.bounds.entries))

    def _some(self, values: Sequence[_T], make: Callable[[_T], Markup], read: Where, most: int) -> list[Markup]:
        found = [make(value) for value in values[:most]]
        if len(values) > most:
            found.append(element("more", {"count": str(len(values) - most), "read_all": self.call(read)}))
        return found


def fit(build: Callable[[Parts], Markup], reach: Reach, *, bytes_max: int) -> str:
    """The prompt with as much in it as there is room for."""
    fewer = 1
    while True:
        parts = Parts(Bounds.at(fewer), reach)
        page = build(parts)
        room = bytes_max - len(page.encode()) - 1
        if room >= _BYTES_FOR_A_TEXT_MIN * len(parts.texts) or fewer >= _FEWER_MAX:
            return fill(page, _within(parts, room))
        fewer *= _FEWER_BY


def _within(parts: Parts, room: int) -> list[Markup]:
    """Each text as an element, all of them together in the room there is."""
    texts = parts.texts
    chars = [min(len(text.value), text.chars) for text in texts]
    if sum(chars) <= room:  # a character is a byte or more: only then can it be that all fit
        found = [_element(parts, text) for text in texts]
        if sum(len(one.encode()) for one in found) <= room:
            return found
    frames = [_frame(parts, text) for text in texts]
    room -= sum(len(frame.encode()) for frame in frames)
    most = _level(chars, room)
    heads = [xml.text(text.value[: min(text.chars, most)]) for text in texts]
    least = _level([len(head.encode()) for head in heads], room)
    found = []
    for text, frame, head in zip(texts, frames, heads, strict=True):
        shown = shortened(head, least)
        whole = shown is head and len(text.value) <= min(text.chars, most)
        found.append(_element(parts, text) if whole else inside(frame, shown))
    return found


def _element(parts: Parts, text: _Text) -> Markup:
    """A text as long as it may be where there is room for all."""
    if len(text.value) <= text.chars:
        return element(text.name, text.attributes, text.value)
    return inside(_frame(parts, text), xml.text(text.value[: text.chars]))


def _frame(parts: Parts, text: _Text) -> Markup:
    """The element of a text that is cut, without the text."""
    cut = {"truncated": "true", "length": str(len(text.value)), "read_all": parts.call(text.read)}
    return element(text.name, {**text.attributes, **cut}, "")


def _level(sizes: Sequence[int], room: int) -> int:
    """How large each may be at most, so that all have room: what the small ones leave is the large ones'."""
    for place, size in enumerate(sorted(sizes)):
        left = len(sizes) - place
        if size * left > room:
            return max(0, room // left)
        room -= size
    return max(sizes, default=0)
