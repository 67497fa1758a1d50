"""Read and edit JSON with comments and trailing commas. An edit changes no byte outside of the edited values.

A document is parsed into nodes with their positions in the text. An edit removes or inserts pieces of text at such
positions, so the other text of the person stays unchanged.
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


class JsoncUnreadable(Exception):
    """The text is not JSON, or cannot be edited safely."""


@dataclass
class JsoncNode:
    """A value and its position in the text."""

    start: int
    end: int = 0
    value: Any = None  # of a plain value
    members: dict[str, JsoncEntry] | None = None  # of an object
    items: list[JsoncEntry] | None = None  # of an array
    repeated: set[str] = field(default_factory=set)  # keys that occur twice
    content_end: int = 0  # the end of the last entry or comment, before the white space of the closing mark

    @property
    def entries(self) -> list[JsoncEntry]:
        return list(self.members.values()) if self.members is not None else list(self.items or ())

    def to_value(self) -> Any:
        if self.members is not None:
            return {key: entry.node.to_value() for key, entry in self.members.items()}
        return [entry.node.to_value() for entry in self.items] if self.items is not None else self.value


@dataclass
class JsoncEntry:
    """An entry of an object or array: its key, its value, and the position of the comma after it."""

    start: int
    node: JsoncNode
    comma: int | None = None


class JsoncDocument:
    """A text and its parsed nodes."""

    def __init__(self, text: str) -> None:
        """Parse the text; raise an error if the text is not JSON or is empty."""
        self.text = text
        self._tokens = _split_tokens(text)
        self._index = 0
        if not self._tokens:
            raise JsoncUnreadable("it is empty")
        self.root = self._parse_value(0)
        if self._index < len(self._tokens):
            raise JsoncUnreadable(
                f"line {self.line_at(self._tokens[self._index][1])}: text follows after the end of the document"
            )

    def line_at(self, position: int) -> int:
        return self.text.count("\n", 0, position) + 1

    def _read_token(self, wanted: str = "") -> tuple[str, int, int]:
        if self._index >= len(self._tokens):
            raise JsoncUnreadable("it ends too early")
        found = self._tokens[self._index]
        if wanted and self.text[found[1] : found[2]] not in wanted:
            raise JsoncUnreadable(f"line {self.line_at(found[1])}: {wanted[0]!r} is missing")
        self._index += 1
        return found

    def _peek_token(self) -> str:
        if self._index >= len(self._tokens):
            return ""
        _, start, end = self._tokens[self._index]
        return self.text[start:end]

    def _parse_value(self, depth: int) -> JsoncNode:
        if depth > _DEPTH_MAX:
            raise JsoncUnreadable("it is nested too deeply")
        kind, start, end = self._read_token()
        token = self.text[start:end]
        if token == "{":
            return self._parse_object(JsoncNode(start, members={}), depth)
        if token == "[":
            return self._parse_array(JsoncNode(start, items=[]), depth)
        if kind == "mark":
            raise JsoncUnreadable(f"line {self.line_at(start)}: a value is missing")
        try:
            return JsoncNode(start, end, value=json.loads(token))
        except ValueError:
            raise JsoncUnreadable(f"line {self.line_at(start)}: {token[:40]!r} is not a value") from None

    def _parse_object(self, node: JsoncNode, depth: int) -> JsoncNode:
        assert node.members is not None
        while self._peek_token() != "}":
            kind, start, end = self._read_token()
            if kind != "string":
                raise JsoncUnreadable(f"line {self.line_at(start)}: a key is missing")
            key = json.loads(self.text[start:end])
            self._read_token(":")
            entry = JsoncEntry(start, self._parse_value(depth + 1))
            if key in node.members:
                node.repeated.add(key)
            node.members[key] = entry
            if not self._read_comma(entry):
                break
        return self._close_node(node, "}")

    def _parse_array(self, node: JsoncNode, depth: int) -> JsoncNode:
        assert node.items is not None
        while self._peek_token() != "]":
            value = self._parse_value(depth + 1)
            entry = JsoncEntry(value.start, value)
            node.items.append(entry)
            if not self._read_comma(entry):
                break
        return self._close_node(node, "]")

    def _read_comma(self, entry: JsoncEntry) -> bool:
        if self._peek_token() != ",":
            return False
        entry.comma = self._read_token()[1]
        return True

    def _close_node(self, node: JsoncNode, mark: str) -> JsoncNode:
        node.end = self._read_token(mark)[2]
        closing = node.end - 1
        node.content_end = len(self.text[:closing].rstrip(" \t\r\n"))
        return node


def _split_tokens(text: str) -> list[tuple[str, int, int]]:
    tokens, position = [], 0
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None or match.lastgroup is None:
            line = text.count(chr(10), 0, position) + 1
            raise JsoncUnreadable(f"line {line}: {text[position : position + 20]!r} is not JSON")
        if match.lastgroup not in ("space", "comment"):
            tokens.append((match.lastgroup, match.start(), match.end()))
        position = match.end()
    return tokens


class JsoncEdits:
    """Edits of one document, applied together."""

    def __init__(self, document: JsoncDocument) -> None:
        self._document = document
        self._pieces: list[tuple[int, int, str]] = []  # start, end, replacement
        self._newline = "\r\n" if "\r\n" in document.text else "\n"
        self._added: dict[int, list[tuple[str | None, Any]]] = {}
        self._nodes: dict[int, JsoncNode] = {}
        self._removed: dict[int, set[int]] = {}

    def add_value(self, node: JsoncNode, value: Any, key: str | None = None) -> None:
        """Add a value at the end of an object, with a key, or at the end of an array."""
        self._added.setdefault(node.start, []).append((key, value))
        self._nodes[node.start] = node

    def remove_entry(self, node: JsoncNode, entry: JsoncEntry) -> None:
        """Remove an entry from an object or array, with its key and one comma."""
        self._removed.setdefault(node.start, set()).add(entry.start)
        self._nodes[node.start] = node

    def apply_edits(self) -> str:
        """Return the text of the document with all edits applied."""
        for start, node in self._nodes.items():
            removed = self._removed.get(start, set())
            self._remove_entries(node, removed)
            if start in self._added:
                kept = [entry for entry in node.entries if entry.start not in removed]
                self._add_values(node, self._added[start], kept)
        text = self._document.text
        # From the end. Of two pieces at one position the older piece comes first in the text.
        ordered = sorted(self._pieces, key=lambda piece: piece[:2])
        for start, end, replacement in ordered[::-1]:
            text = text[:start] + replacement + text[end:]
        return text

    def _remove_entries(self, node: JsoncNode, removed: set[int]) -> None:
        entries = node.entries
        for number, entry in enumerate(entries):
            if entry.start not in removed:
                continue
            end = entry.node.end if entry.comma is None else entry.comma + 1
            self._pieces.append((self._start_of_removal(entry.start, end), end, ""))
            if entry.comma is not None:
                continue
            before = [kept for kept in entries[:number] if kept.start not in removed]
            if before and before[-1].comma is not None:  # this comma would be the last token of the node
                self._pieces.append((before[-1].comma, before[-1].comma + 1, ""))

    def _start_of_removal(self, position: int, end: int) -> int:
        """Return the start of the white space before a position.

        The line break is included only if another line break follows the removed text. Otherwise a comment on the
        line before would take in the text after the removal.
        """
        text = self._document.text
        start = len(text[:position].rstrip(" \t"))
        if start and text[start - 1] == "\n" and text[end:].lstrip(" \t\r").startswith("\n"):
            start -= 2 if text[max(0, start - 2) : start] == "\r\n" else 1
        return start

    def _add_values(self, node: JsoncNode, added: list[tuple[str | None, Any]], kept: list[JsoncEntry]) -> None:
        document = self._document
        closing = node.end - 1
        if kept and kept[-1].comma is None:
            self._pieces.append((kept[-1].node.end, kept[-1].node.end, ","))
        is_multiline = "\n" in document.text[node.start : node.end] or not kept
        if not is_multiline:
            inserted = ", ".join(_encode_entry(key, value) for key, value in added)
            self._pieces.append((node.content_end, node.content_end, f" {inserted}"))
            return
        outer = self._indentation_at(node.start)
        inner = self._indentation_at(kept[0].start) if kept else ""
        if len(inner) <= len(outer):
            inner = outer + ("\t" if "\t" in outer else self._indentation_unit())
        unit = inner[len(outer) :]
        lines = [inner + _encode_entry(key, value, unit).replace("\n", self._newline + inner) for key, value in added]
        inserted = self._newline + f",{self._newline}".join(lines)
        if "\n" not in document.text[node.content_end : closing]:
            inserted += self._newline + outer
        self._pieces.append((node.content_end, node.content_end, inserted))

    def _indentation_at(self, position: int) -> str:
        """Return the white space at the beginning of the position's line."""
        text = self._document.text
        start = text.rfind("\n", 0, position) + 1
        line = text[start:position]
        return line[: len(line) - len(line.lstrip(" \t"))]

    def _indentation_unit(self) -> str:
        """Return the indentation of one level in the document; two spaces if the document shows none."""
        root = self._document.root
        found = self._indentation_at(root.entries[0].start) if root.entries else ""
        return found or "  "


def _encode_entry(key: str | None, value: Any, indent: str | None = None) -> str:
    encoded = json.dumps(value, indent=indent, ensure_ascii=False)
    return encoded if key is None else f"{json.dumps(key, ensure_ascii=False)}: {encoded}"
