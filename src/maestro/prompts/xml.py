"""XML as it is built for prompts. The one place that escapes: whatever is put in comes out as text of its element.

Markup is made by `element` and `group` alone, so no value can close a tag, open one, or start a CDATA section.
Nothing is indented: that would cost every reader a token a line.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from maestro.text.unseen import spell_out

Attributes = Mapping[str, str | None]

# Most short values are this, and need nothing.
_plain = re.compile(r"[ !#-%(-;=?-~]*").fullmatch
_short = 120
_HOLE = "\0"  # one of the characters that no value can bring in


class Markup(str):
    """An element, or several. Made here and nowhere else."""

    __slots__ = ()


class Escaped(str):
    """A text as it stands between two tags. Made here and nowhere else."""

    __slots__ = ()


def element(name: str, attributes: Attributes | None = None, *children: Markup | str | None) -> Markup:
    """A tag with what is in it: one text, or other elements. What is None is left out."""
    opening = _opening(name, attributes)
    if not children:
        return Markup(opening + " />")
    if len(children) == 1 and type(children[0]) is str:
        return Markup(f"{opening}>{text(children[0])}</{name}>")
    return _around(name, opening, [child for child in children if child is not None])


def group(name: str, attributes: Attributes | None, children: Sequence[Markup]) -> Markup:
    """An element with others in it, and no text."""
    if {*map(type, children)} != {Markup}:
        raise TypeError(f"<{name}> holds elements and nothing else")
    return Markup("\n".join([_opening(name, attributes) + ">", *children, f"</{name}>"]))


def text(value: str) -> Escaped:
    """A value between two tags. Quotes stay: they mean nothing there, and code is full of them."""
    if len(value) <= _short and _plain(value):
        return Escaped(value)
    return Escaped(_visible(value).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;"))


def shortened(value: Escaped, bytes_max: int) -> Escaped:
    """The text itself if it fits, else as much of it as does, with no character and no reference halved."""
    written = value.encode()
    if len(written) <= bytes_max:
        return value
    kept = written[: max(0, bytes_max)].decode(errors="ignore")
    begun = kept.rfind("&")
    return Escaped(kept[:begun] if begun >= 0 and ";" not in kept[begun:] else kept)


def inside(frame: Markup, value: Escaped) -> Markup:
    """An element that was made with an empty text, with this one in it."""
    end = frame.rindex("</")
    return Markup(f"{frame[:end]}{value}{frame[end:]}")


def attribute(value: str) -> str:
    """A value between double quotes; line breaks as references, which a parser does not turn into spaces."""
    escaped = text(value).replace('"', "&quot;").replace("'", "&apos;")
    return escaped.replace("\n", "&#10;").replace("\t", "&#9;")


def hole(number: int) -> Markup:
    """A place for an element that is made later, when it is known how large it may be."""
    return Markup(f"{_HOLE}{number}{_HOLE}")


def fill(page: Markup, elements: Sequence[Markup]) -> str:
    """A page with its holes filled: a whole prompt."""
    pieces = page.split(_HOLE)
    pieces[1::2] = [elements[int(number)] for number in pieces[1::2]]
    return "".join(pieces) + "\n"


def _opening(name: str, attributes: Attributes | None) -> str:
    """A tag without its end. Names are written in our code and values come from elsewhere: only these are escaped.

    Runs a thousand times for a large prompt, so whether anything needs it is found out once for all attributes.
    """
    opening = f"<{name}"
    if attributes:
        values = ""
        for key, value in attributes.items():
            if value is not None:
                opening += f' {key}="{value}"'
                values += value
        if not _plain(values):
            return _escaped(name, attributes)
    return opening


def _escaped(name: str, attributes: Attributes) -> str:
    """A tag without its end, each value in it escaped."""
    given = [f' {key}="{attribute(value)}"' for key, value in attributes.items() if value is not None]
    return "".join([f"<{name}", *given])


def _around(name: str, opening: str, inside: list[Markup | str]) -> Markup:
    if not inside:
        return Markup(opening + " />")
    for child in inside:
        if not isinstance(child, Markup):
            return _around_text(name, opening, inside)
    return Markup("\n".join([opening + ">", *inside, f"</{name}>"]))


def _around_text(name: str, opening: str, inside: list[Markup | str]) -> Markup:
    if len(inside) > 1:
        raise TypeError(f"<{name}> holds one text or elements, not both")
    return Markup(f"{opening}>{text(inside[0])}</{name}>")


def _visible(value: str) -> str:
    """Spell out what a reader would not see; a CR before a newline is only the end of a line."""
    return spell_out(value.replace("\r\n", "\n"))
