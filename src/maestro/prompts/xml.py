"""Builds XML for prompts. The only module that escapes: every value comes out as text of its element.

Only `element` and `group` make markup, so no value can open or close a tag or start a CDATA section.
Lines are not indented: indentation would cost a token per line.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from maestro.text.hidden_characters import escape_invisible

Attributes = Mapping[str, str | None]

# Characters that need no escape. Most short values consist of these.
_match_plain = re.compile(r"[ !#-%(-;=?-~]*").fullmatch
_SHORT_CHARS = 120
_SLOT_MARK = "\0"  # a character that no value can contain


class Markup(str):
    """An element or several elements. Only this module creates markup."""

    __slots__ = ()


class Escaped(str):
    """A text that is escaped for a place between two tags. Only this module creates escaped texts."""

    __slots__ = ()


def element(name: str, attributes: Attributes | None = None, *children: Markup | str | None) -> Markup:
    """Return an element with one text or with child elements. Children that are None are left out."""
    opening = _open_tag(name, attributes)
    if not children:
        return Markup(opening + " />")
    if len(children) == 1 and type(children[0]) is str:
        return Markup(f"{opening}>{escape_text(children[0])}</{name}>")
    return _enclose_children(name, opening, [child for child in children if child is not None])


def group(name: str, attributes: Attributes | None, children: Sequence[Markup]) -> Markup:
    """Return an element with child elements and no text."""
    if {*map(type, children)} != {Markup}:
        raise TypeError(f"<{name}> can hold only elements")
    return Markup("\n".join([_open_tag(name, attributes) + ">", *children, f"</{name}>"]))


def escape_text(value: str) -> Escaped:
    """Return a value escaped for a place between two tags. Quotes stay: only attributes need them escaped."""
    if len(value) <= _SHORT_CHARS and _match_plain(value):
        return Escaped(value)
    return Escaped(_spell_out_invisible(value).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;"))


def shorten_text(value: Escaped, bytes_max: int) -> Escaped:
    """Return the text, cut to `bytes_max`. The cut never splits a character or a reference such as `&amp;`."""
    encoded = value.encode()
    if len(encoded) <= bytes_max:
        return value
    kept = encoded[: max(0, bytes_max)].decode(errors="ignore")
    ampersand = kept.rfind("&")
    return Escaped(kept[:ampersand] if ampersand >= 0 and ";" not in kept[ampersand:] else kept)


def insert_text(frame: Markup, value: Escaped) -> Markup:
    """Return an element, made with an empty text, with `value` as its text."""
    end = frame.rindex("</")
    return Markup(f"{frame[:end]}{value}{frame[end:]}")


def escape_attribute(value: str) -> str:
    """Return a value escaped for an attribute. Line breaks become references, which parsers keep."""
    escaped = escape_text(value).replace('"', "&quot;").replace("'", "&apos;")
    return escaped.replace("\n", "&#10;").replace("\t", "&#9;")


def make_slot(number: int) -> Markup:
    """Return a slot for an element that is made later, when its size limit is known."""
    return Markup(f"{_SLOT_MARK}{number}{_SLOT_MARK}")


def fill_slots(page: Markup, elements: Sequence[Markup]) -> str:
    """Return a whole prompt: the page with each slot replaced by its element."""
    pieces = page.split(_SLOT_MARK)
    pieces[1::2] = [elements[int(number)] for number in pieces[1::2]]
    return "".join(pieces) + "\n"


def _open_tag(name: str, attributes: Attributes | None) -> str:
    """Return an opening tag without `>`. Only values are escaped: names come from Maestro's own code.

    A large prompt has a thousand tags, so one check decides for all attributes whether a value needs escapes.
    """
    opening = f"<{name}"
    if attributes:
        values = ""
        for key, value in attributes.items():
            if value is not None:
                opening += f' {key}="{value}"'
                values += value
        if not _match_plain(values):
            return _open_escaped_tag(name, attributes)
    return opening


def _open_escaped_tag(name: str, attributes: Attributes) -> str:
    """Return an opening tag without `>`, with each value escaped."""
    given = [f' {key}="{escape_attribute(value)}"' for key, value in attributes.items() if value is not None]
    return "".join([f"<{name}", *given])


def _enclose_children(name: str, opening: str, children: list[Markup | str]) -> Markup:
    if not children:
        return Markup(opening + " />")
    for child in children:
        if not isinstance(child, Markup):
            return _enclose_text(name, opening, children)
    return Markup("\n".join([opening + ">", *children, f"</{name}>"]))


def _enclose_text(name: str, opening: str, children: list[Markup | str]) -> Markup:
    if len(children) > 1:
        raise TypeError(f"<{name}> can hold one text or elements, not both")
    return Markup(f"{opening}>{escape_text(children[0])}</{name}>")


def _spell_out_invisible(value: str) -> str:
    """Spell out invisible characters. A CR before a newline belongs to the line end and is dropped."""
    return escape_invisible(value.replace("\r\n", "\n"))
