"""JSON as people write it, comments and trailing commas included, changed without touching a byte of anyone else's.

A document is read into nodes that know their places in the text. Changes are pieces to cut out or put in at such
places, so that whatever nobody asked to change stays as it stands.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Any

_DEPTH_MAX = 100
_TOKEN = re.compile(
    r"""(?P<space>[ \t\r\n]+)|(?P<comment>//[^\r\n]*|/\*.*?\*/)|(?P<string>"(?:[^"\\\x00-\x1f]|\\.)*")"""
    r"""|(?P<mark>[{}\[\]:,])|(?P<word>[^\s{}\[\]:,"/]+)""",
    re.DOTALL,
)


class Unreadable(Exception):
    """This is no JSON, or none that can be changed with certainty."""


@dataclass
class Node:
    """A value and its place in the text."""

    start: int
    end: int = 0
    value: Any = None  # of a plain value
    members: dict[str, Entry] | None = None  # of an object
    items: list[Entry] | None = None  # of an array
    repeated: set[str] = field(default_factory=set)  # keys that stand there twice
    inside: int = 0  # where what is in it ends: before the white space that leads to its closing mark

    @property
    def entries(self) -> list[Entry]:
        return list(self.members.values()) if self.members is not None else list(self.items or ())

    def data(self) -> Any:
        if self.members is not None:
            return {key: entry.node.data() for key, entry in self.members.items()}
        return [entry.node.data() for entry in self.items] if self.items is not None else self.value


@dataclass
class Entry:
    """A value in an object or array, from its key on, and the comma after it."""

    start: int
    node: Node
    comma: int | None = None


class Document:
    """A text and what stands in it."""

    def __init__(self, text: str) -> None:
        """Unreadable if it is no JSON. An empty text is an object without anything in it."""
        self.text = text
        self._tokens = _tokens(text)
        self._at = 0
        if not self._tokens:
            raise Unreadable("it is empty")
        self.root = self._value(0)
        if self._at < len(self._tokens):
            raise Unreadable(f"line {self.line(self._tokens[self._at][1])} goes on after its end")

    def line(self, place: int) -> int:
        return self.text.count("\n", 0, place) + 1

    def _next(self, wanted: str = "") -> tuple[str, int, int]:
        if self._at >= len(self._tokens):
            raise Unreadable("it ends in the middle")
        found = self._tokens[self._at]
        if wanted and self.text[found[1] : found[2]] not in wanted:
            raise Unreadable(f"line {self.line(found[1])}: {wanted[0]!r} should stand there")
        self._at += 1
        return found

    def _peek(self) -> str:
        if self._at >= len(self._tokens):
            return ""
        _, start, end = self._tokens[self._at]
        return self.text[start:end]

    def _value(self, depth: int) -> Node:
        if depth > _DEPTH_MAX:
            raise Unreadable("it is nested too deeply")
        kind, start, end = self._next()
        said = self.text[start:end]
        if said == "{":
            return self._object(Node(start, members={}), depth)
        if said == "[":
            return self._array(Node(start, items=[]), depth)
        if kind == "mark":
            raise Unreadable(f"line {self.line(start)}: a value should stand there")
        try:
            return Node(start, end, value=json.loads(said))
        except ValueError:
            raise Unreadable(f"line {self.line(start)}: {said[:40]!r} is no value") from None

    def _object(self, node: Node, depth: int) -> Node:
        assert node.members is not None
        while self._peek() != "}":
            kind, start, end = self._next()
            if kind != "string":
                raise Unreadable(f"line {self.line(start)}: a key should stand there")
            key = json.loads(self.text[start:end])
            self._next(":")
            entry = Entry(start, self._value(depth + 1))
            if key in node.members:
                node.repeated.add(key)
            node.members[key] = entry
            if not self._comma(entry):
                break
        return self._closed(node, "}")

    def _array(self, node: Node, depth: int) -> Node:
        assert node.items is not None
        while self._peek() != "]":
            value = self._value(depth + 1)
            entry = Entry(value.start, value)
            node.items.append(entry)
            if not self._comma(entry):
                break
        return self._closed(node, "]")

    def _comma(self, entry: Entry) -> bool:
        if self._peek() != ",":
            return False
        entry.comma = self._next()[1]
        return True

    def _closed(self, node: Node, mark: str) -> Node:
        node.end = self._next(mark)[2]
        closing = node.end - 1
        node.inside = len(self.text[:closing].rstrip(" \t\r\n"))
        return node


def _tokens(text: str) -> list[tuple[str, int, int]]:
    found, at = [], 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None or match.lastgroup is None:
            raise Unreadable(f"line {text.count(chr(10), 0, at) + 1}: {text[at : at + 20]!r} is no JSON")
        if match.lastgroup not in ("space", "comment"):
            found.append((match.lastgroup, match.start(), match.end()))
        at = match.end()
    return found


class Edits:
    """Changes to one document, made together."""

    def __init__(self, document: Document) -> None:
        self._document = document
        self._pieces: list[tuple[int, int, str]] = []  # from, to, what stands there instead
        self._newline = "\r\n" if "\r\n" in document.text else "\n"
        self._added: dict[int, list[tuple[str | None, Any]]] = {}
        self._nodes: dict[int, Node] = {}
        self._removed: dict[int, set[int]] = {}

    def add(self, node: Node, value: Any, key: str | None = None) -> None:
        """Put a value at the end of an object, under a key, or of an array."""
        self._added.setdefault(node.start, []).append((key, value))
        self._nodes[node.start] = node

    def remove(self, node: Node, entry: Entry) -> None:
        """Take a value out of an object or array, with its key and one comma."""
        self._removed.setdefault(node.start, set()).add(entry.start)
        self._nodes[node.start] = node

    def text(self) -> str:
        """The document with all changes made."""
        for start, node in self._nodes.items():
            gone = self._removed.get(start, set())
            self._cut(node, gone)
            if start in self._added:
                self._put(node, self._added[start], [one for one in node.entries if one.start not in gone])
        made = self._document.text
        # From the end; of two at one place, the one that was made first stands first.
        ordered = sorted(self._pieces, key=lambda piece: piece[:2])
        for begin, end, instead in ordered[::-1]:
            made = made[:begin] + instead + made[end:]
        return made

    def _cut(self, node: Node, gone: set[int]) -> None:
        entries = node.entries
        for number, entry in enumerate(entries):
            if entry.start not in gone:
                continue
            end = entry.node.end if entry.comma is None else entry.comma + 1
            self._pieces.append((self._begin_of_cut(entry.start, end), end, ""))
            if entry.comma is not None:
                continue
            before = [one for one in entries[:number] if one.start not in gone]
            if before and before[-1].comma is not None:  # it would be left over
                self._pieces.append((before[-1].comma, before[-1].comma + 1, ""))

    def _begin_of_cut(self, place: int, end: int) -> int:
        """Where the white space before a place begins; with its line break, if another one follows what is cut.

        Else a comment on the line before would swallow what comes after.
        """
        text = self._document.text
        begin = len(text[:place].rstrip(" \t"))
        if begin and text[begin - 1] == "\n" and text[end:].lstrip(" \t\r").startswith("\n"):
            begin -= 2 if text[max(0, begin - 2) : begin] == "\r\n" else 1
        return begin

    def _put(self, node: Node, added: list[tuple[str | None, Any]], left: list[Entry]) -> None:
        document = self._document
        closing = node.end - 1
        if left and left[-1].comma is None:
            self._pieces.append((left[-1].node.end, left[-1].node.end, ","))
        is_long = "\n" in document.text[node.start : node.end] or not left
        if not is_long:
            said = ", ".join(_written(key, value) for key, value in added)
            self._pieces.append((node.inside, node.inside, f" {said}"))
            return
        outer = self._indent(node.start)
        inner = self._indent(left[0].start) if left else ""
        if len(inner) <= len(outer):
            inner = outer + ("\t" if "\t" in outer else self._unit())
        unit = inner[len(outer) :]
        lines = [inner + _written(key, value, unit).replace("\n", self._newline + inner) for key, value in added]
        said = self._newline + f",{self._newline}".join(lines)
        if "\n" not in document.text[node.inside : closing]:
            said += self._newline + outer
        self._pieces.append((node.inside, node.inside, said))

    def _indent(self, place: int) -> str:
        """The white space that a place's line begins with."""
        text = self._document.text
        begin = text.rfind("\n", 0, place) + 1
        line = text[begin:place]
        return line[: len(line) - len(line.lstrip(" \t"))]

    def _unit(self) -> str:
        """By how much this document is indented."""
        root = self._document.root
        found = self._indent(root.entries[0].start) if root.entries else ""
        return found or "  "


def _written(key: str | None, value: Any, indent: str | None = None) -> str:
    written = json.dumps(value, indent=indent, ensure_ascii=False)
    return written if key is None else f"{json.dumps(key, ensure_ascii=False)}: {written}"
