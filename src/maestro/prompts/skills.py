"""Which skills there are: folders with a SKILL.md. A project's own in `.maestro/skills/` come first, then those of
the data directory.

    ---
    name: sql
    description: How queries are written here. Use it before you touch one.
    ---
    What to do, in as many words as it takes.

Other programs read the same files, and more of them: here only the name and the description matter.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path

from maestro.core import errors, limits
from maestro.domain.manifests import Skill
from maestro.prompts import sources
from maestro.system.small_files import read_small

PROJECT, OWN = ".maestro/skills", "skills"  # below a project's directory, below the data directory
FILE = "SKILL.md"
_FENCE = "---"
_FIELD = re.compile(r"([A-Za-z][\w-]*)[ \t]*:(.*)")
_BLOCK = re.compile(r"[>|][+-]?\d?")  # a value that stands on the lines below


def chosen(
    asked: Sequence[str], members: Sequence[str], folders: Sequence[Path], *, whole: bool
) -> tuple[Skill, ...]:
    """The skills of a session, the first of each name: those asked for must be there, a member's may be a mere word.

    `whole`: with their texts, for a program that cannot be given the files.
    """
    found: dict[str, Skill] = {}
    for name in [*asked, *members]:
        if name in found:
            continue
        path = _path(name, folders)
        if path is None and name in asked:
            raise _unknown(name, folders)
        found[name] = Skill(name=name) if path is None else _read(path, name, whole=whole)
    return tuple(found.values())


def names(folders: Sequence[Path]) -> list[str]:
    """Those there are."""
    return sorted({name for folder in folders for name in _names(folder)})


def _unknown(name: str, folders: Sequence[Path]) -> errors.NotFound:
    there = names(folders)
    where = " and ".join(str(folder) for folder in folders)
    return errors.NotFound(
        f"There is no skill {name!r}: no {FILE} in a folder of that name in {where}.",
        hint=f"There are: {', '.join(there)}." if there else "There are none.",
        data={"name": name, "looked_in": [str(folder) for folder in folders], "skills": there},
    )


def _names(folder: Path) -> list[str]:
    try:
        with os.scandir(folder) as entries:
            return [entry.name for entry in entries if (folder / entry.name / FILE).is_file()]
    except OSError:
        return []  # most have none


def _path(name: str, folders: Sequence[Path]) -> Path | None:
    if name.startswith(".") or Path(name).name != name or not name.isprintable():
        return None  # a word, and no folder
    return next((folder / name / FILE for folder in folders if (folder / name / FILE).is_file()), None)


def _read(path: Path, name: str, *, whole: bool) -> Skill:
    file, content = str(path), read_small(str(path))
    if content is None:
        sources.refuse(file, 1, "This is no file that can be read.")
    text = _decoded(content, file).replace("\r\n", "\n")
    fields = _fields(text, file)
    if fields.get("name") != name:
        sources.refuse(file, 1, f"The name must be that of the folder, {name}.")
    if not fields.get("description"):
        sources.refuse(file, 1, "The front matter lacks a description.")
    kept = text[: limits.skill_text_chars_max] if whole else ""
    return Skill(name=name, summary=fields["description"], path=str(path.parent), text=kept)


def _decoded(content: bytes, file: str) -> str:
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        if len(content) - error.start < 4 and error.reason == "unexpected end of data":
            return content[: error.start].decode("utf-8-sig")  # a long one, of which this is the beginning
        sources.refuse(file, content.count(b"\n", 0, error.start) + 1, "This is not UTF-8.")


def _fields(text: str, file: str) -> dict[str, str]:
    """The front matter: each value on one line, whatever way it was broken."""
    first, *lines = text.split("\n")
    if first.strip() != _FENCE:
        sources.refuse(file, 1, f"A skill begins with a line {_FENCE}, then its name and description.")
    end = next((number for number, line in enumerate(lines) if line.strip() == _FENCE), None)
    if end is None:
        sources.refuse(file, len(lines), f"The front matter does not end: a line {_FENCE} is missing.")
    parts: dict[str, list[str]] = {}
    values: list[str] = []
    for line in lines[:end]:
        field = _FIELD.fullmatch(line.rstrip())
        if field is not None:
            values = parts[field[1]] = [field[2].strip()]
        elif line[:1].isspace():
            values.append(line.strip())
    return {name: _value(told) for name, told in parts.items()}


def _value(told: Sequence[str]) -> str:
    if _BLOCK.fullmatch(told[0]):
        told = told[1:]
    value = " ".join(part for part in told if part)
    if len(value) >= 2 and value[0] == value[-1] and value[0] in "\"'":
        return value[1:-1]
    return value
