"""Loads the named statements from sql/: what is common to all drivers, and what one driver does differently.

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
    """Every statement by its name, as this driver runs it."""
    texts: dict[str, str] = {}
    fragments: dict[str, str] = {}
    for folder in ("common", driver):
        seen: set[str] = set()
        for kind, name, text in _read(folder):
            if name in seen:
                raise ValueError(f"sql/{folder} names {name!r} twice")
            seen.add(name)
            (texts if kind == "name" else fragments)[name] = text
    return {name: _filled(text, fragments) for name, text in texts.items()}


def _filled(text: str, fragments: dict[str, str]) -> str:
    """A statement with its fragments, and theirs."""
    while _USE.search(text):
        text = _USE.sub(lambda use: fragments[use[1]], text)
    return text


def _read(folder: str) -> list[tuple[str, str, str]]:
    found = []
    directory = files("maestro.store") / "sql" / folder
    for file in sorted(directory.iterdir(), key=lambda entry: entry.name):
        if file.name.endswith(".sql"):
            found.extend(split(file.read_text(encoding="utf-8")))
    return found


def split(text: str) -> list[tuple[str, str, str]]:
    """A file's statements as (kind, name, text), comments left out."""
    headings = list(_HEADING.finditer(text))
    ends = [heading.start() for heading in headings[1:]] + [len(text)]
    return [
        (heading[1], heading[2], _bare(text[heading.end() : end]))
        for heading, end in zip(headings, ends, strict=True)
    ]


def _bare(text: str) -> str:
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("--")]
    return "\n".join(lines).rstrip(";")
