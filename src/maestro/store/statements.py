"""Load the named SQL statements from sql/: the statements common to all drivers, and those of one driver.

A file holds statements (`-- name: task_get`) and fragments (`-- fragment: task`) that statements use as `{task}`.
"""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files

_HEADING = re.compile(r"^-- (name|fragment): (\w+)$", re.MULTILINE)
_USE = re.compile(r"\{(\w+)\}")


@cache
def load(driver: str) -> dict[str, str]:
    """Return the statements of a driver by name. A statement of the driver replaces a common one of the same name."""
    texts: dict[str, str] = {}
    fragments: dict[str, str] = {}
    for folder in ("common", driver):
        seen: set[str] = set()
        for kind, name, text in _read_folder(folder):
            if name in seen:
                raise ValueError(f"sql/{folder} names {name!r} twice")
            seen.add(name)
            (texts if kind == "name" else fragments)[name] = text
    return {name: _expand_fragments(text, fragments) for name, text in texts.items()}


def _expand_fragments(text: str, fragments: dict[str, str]) -> str:
    """Return a statement with its fragments filled in. A fragment may use other fragments."""
    while _USE.search(text):
        text = _USE.sub(lambda use: fragments[use[1]], text)
    return text


def _read_folder(folder: str) -> list[tuple[str, str, str]]:
    entries = []
    directory = files("maestro.store") / "sql" / folder
    for file in sorted(directory.iterdir(), key=lambda entry: entry.name):
        if file.name.endswith(".sql"):
            entries.extend(split_file(file.read_text(encoding="utf-8")))
    return entries


def split_file(text: str) -> list[tuple[str, str, str]]:
    """Return the statements and fragments of a file as (kind, name, text), without comments."""
    headings = list(_HEADING.finditer(text))
    ends = [heading.start() for heading in headings[1:]] + [len(text)]
    return [
        (heading[1], heading[2], _strip_comments(text[heading.end() : end]))
        for heading, end in zip(headings, ends, strict=True)
    ]


def _strip_comments(text: str) -> str:
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("--")]
    return "\n".join(lines).rstrip(";")
