"""Finds skills: folders with a SKILL.md. Skills in a project's `.maestro/skills/` precede skills in the data
directory.

    ---
    name: sql
    description: How queries are written here. Use it before you touch one.
    ---
    The instructions.

Agent programs read the same files whole. This module needs only the name and the description.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path

from maestro.core import errors, limits
from maestro.domain.manifests import ManifestSkill
from maestro.prompts import template_files
from maestro.system.small_files import read_small

PROJECT_FOLDER, HOME_FOLDER = ".maestro/skills", "skills"  # below a project's directory; below the data directory
SKILL_FILE = "SKILL.md"
_FENCE = "---"
_FIELD = re.compile(r"([A-Za-z][\w-]*)[ \t]*:(.*)")
_BLOCK = re.compile(r"[>|][+-]?\d?")  # marks a value on the following lines


def choose_skills(
    asked: Sequence[str], members: Sequence[str], folders: Sequence[Path], *, whole: bool
) -> tuple[ManifestSkill, ...]:
    """Return the skills of a session, each name once. Skills in `asked` must exist; `members` may be mere names.

    `whole` adds the texts, for a program that cannot load the files.
    """
    skills: dict[str, ManifestSkill] = {}
    for name in [*asked, *members]:
        if name in skills:
            continue
        path = _skill_path(name, folders)
        if path is None and name in asked:
            raise _unknown_skill(name, folders)
        skills[name] = ManifestSkill(name=name) if path is None else _read_skill(path, name, whole=whole)
    return tuple(skills.values())


def skill_names(folders: Sequence[Path]) -> list[str]:
    """Return the names of all skills in `folders`."""
    return sorted({name for folder in folders for name in _skill_names_in(folder)})


def _unknown_skill(name: str, folders: Sequence[Path]) -> errors.NotFound:
    known = skill_names(folders)
    searched = " and ".join(str(folder) for folder in folders)
    return errors.NotFound(
        f"The skill {name!r} does not exist: {searched} has no folder {name!r} with a {SKILL_FILE}.",
        hint=f"Known skills: {', '.join(known)}."
        if known
        else f"No skills exist. Create a folder with a {SKILL_FILE}.",
        data={"name": name, "looked_in": [str(folder) for folder in folders], "skills": known},
    )


def _skill_names_in(folder: Path) -> list[str]:
    try:
        with os.scandir(folder) as entries:
            return [entry.name for entry in entries if (folder / entry.name / SKILL_FILE).is_file()]
    except OSError:
        return []  # most folders do not exist


def _skill_path(name: str, folders: Sequence[Path]) -> Path | None:
    if name.startswith(".") or Path(name).name != name or not name.isprintable():
        return None  # a name that cannot be a folder
    return next((folder / name / SKILL_FILE for folder in folders if (folder / name / SKILL_FILE).is_file()), None)


def _read_skill(path: Path, name: str, *, whole: bool) -> ManifestSkill:
    file, content = str(path), read_small(str(path))
    if content is None:
        template_files.refuse_file(file, 1, "The file cannot be read.")
    text = _decode_skill(content, file).replace("\r\n", "\n")
    fields = _parse_front_matter(text, file)
    if fields.get("name") != name:
        template_files.refuse_file(file, 1, f"The name must be the folder's name, {name}.")
    if not fields.get("description"):
        template_files.refuse_file(file, 1, "The front matter has no description.")
    shown_text = text[: limits.skill_text_chars_max] if whole else ""
    return ManifestSkill(name=name, summary=fields["description"], path=str(path.parent), text=shown_text)


def _decode_skill(content: bytes, file: str) -> str:
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        if len(content) - error.start < 4 and error.reason == "unexpected end of data":
            return content[: error.start].decode("utf-8-sig")  # the content is cut inside a character
        template_files.refuse_file(file, content.count(b"\n", 0, error.start) + 1, "The file is not UTF-8.")


def _parse_front_matter(text: str, file: str) -> dict[str, str]:
    """Return the fields of the front matter. A value over several lines becomes one line."""
    first, *lines = text.split("\n")
    if first.strip() != _FENCE:
        template_files.refuse_file(
            file, 1, f"A skill must begin with a line {_FENCE}, followed by its name and description."
        )
    end = next((number for number, line in enumerate(lines) if line.strip() == _FENCE), None)
    if end is None:
        template_files.refuse_file(file, len(lines), f"The front matter does not end: a line {_FENCE} is missing.")
    parts: dict[str, list[str]] = {}
    values: list[str] = []
    for line in lines[:end]:
        field = _FIELD.fullmatch(line.rstrip())
        if field is not None:
            values = parts[field[1]] = [field[2].strip()]
        elif line[:1].isspace():
            values.append(line.strip())
    return {name: _join_value(lines) for name, lines in parts.items()}


def _join_value(lines: Sequence[str]) -> str:
    if _BLOCK.fullmatch(lines[0]):
        lines = lines[1:]
    value = " ".join(line for line in lines if line)
    if len(value) >= 2 and value[0] == value[-1] and value[0] in "\"'":
        return value[1:-1]
    return value
