"""How a template is written: front matter between two lines of dashes, then one heading for each phase.

    ---
    name: execute-simple
    mode: execute
    strategy: simple
    summary: One task, from its description to a verified result.
    phases: init, execute, verify, complete
    ---
    What holds for all phases, if anything does.

    ## init
    What to do first.

Pure: text in, a template out. What is wrong is told with file and line, and never by quoting the file: a link in a
project may lead to what is nobody's business.
"""

from __future__ import annotations

import re
from typing import NoReturn

import msgspec

from maestro.core import errors, limits
from maestro.domain.sessions import MODE_ALIASES, Mode
from maestro.domain.templates import Phase, Template
from maestro.prompts import calls, xml

_FENCE = "---"
_FIELD = re.compile(r"([a-z_]+)[ \t]*:[ \t]*(.*)")
_HEADING = re.compile(r"##[ \t]+(\S.*)")
_CODE = re.compile(r"[ \t]{0,3}(`{3,}|~{3,})")
_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")
_PHASE = re.compile(r"[a-z][a-z0-9_]{0,63}")
_REQUIRED = ("name", "mode", "strategy", "summary", "phases")
_KNOWN = (*_REQUIRED, "aliases")


class Section(msgspec.Struct, frozen=True):
    """A heading and what stands below it; `line` is the heading's."""

    name: str
    text: str
    line: int


class Field(msgspec.Struct, frozen=True):
    """A value of the front matter, and where it stands."""

    text: str
    line: int


def refuse(file: str, line: int, why: str, *, hint: str = "") -> NoReturn:
    """What is wrong with a file, and where."""
    raise errors.Invalid(f"{file}, line {line}: {why}", hint=hint, data={"file": file, "line": line})


def template(text: str, *, file: str, name: str, source: str) -> Template:
    """A template from its text; `name` is what the file's own name says it is called."""
    text = text.replace("\r\n", "\n")
    found, body_line = _front_matter(text, file)
    if found["name"].text != name:
        refuse(file, found["name"].line, f"The name must be that of the file, {name}.")
    before, sections = split(text, first_line=body_line)
    _check_calls(text, file)
    _check_size(text, file)
    return Template(
        name=_checked(_NAME, found["name"], file),
        mode=_mode(found["mode"], file),
        strategy=_checked(_NAME, found["strategy"], file),
        summary=_summary(found["summary"], file),
        phases=_phases(found["phases"], sections, file),
        intro=before,
        aliases=tuple(_listed(found["aliases"], file, _NAME)) if "aliases" in found else (),
        source=source,
    )


def split(text: str, *, first_line: int = 1) -> tuple[str, list[Section]]:
    """What stands before the first heading, and the sections; a heading in a block of code is none."""
    lines = text.split("\n")
    heads: list[tuple[int, str]] = []
    fence = ""
    for number, line in enumerate(lines[first_line - 1 :], first_line):
        code = _CODE.match(line)
        if code is not None:
            fence = _after(fence, code[1])
        heading = _HEADING.fullmatch(line.rstrip()) if not fence else None
        if heading is not None:
            heads.append((number, heading[1]))
    ends = [*(number for number, _ in heads[1:]), len(lines) + 1][: len(heads)]
    sections = [
        Section(name, "\n".join(lines[number : end - 1]).strip(), number)
        for (number, name), end in zip(heads, ends, strict=True)
    ]
    first = heads[0][0] if heads else len(lines) + 1
    return "\n".join(lines[first_line - 1 : first - 1]).strip(), sections


def _after(fence: str, mark: str) -> str:
    """Which block of code is open after a line of marks: only one like its own closes it."""
    if not fence:
        return mark
    return "" if mark[0] == fence[0] and len(mark) >= len(fence) else fence


def _front_matter(text: str, file: str) -> tuple[dict[str, Field], int]:
    """The fields, and the line at which the rest begins."""
    lines = text.split("\n")
    if lines[0].strip() != _FENCE:
        refuse(file, 1, f"A template begins with a line {_FENCE}, then its fields.")
    found: dict[str, Field] = {}
    for number, line in enumerate(lines[1:], 2):
        if line.strip() == _FENCE:
            _check_complete(found, file, number)
            return found, number + 1
        if not line.strip() or line.startswith("#"):
            continue
        _take(found, line.rstrip(), file, number)
    refuse(file, len(lines), f"The front matter does not end: a line {_FENCE} is missing.")


def _take(found: dict[str, Field], line: str, file: str, number: int) -> None:
    field = _FIELD.fullmatch(line)
    if field is None:
        refuse(file, number, "Here a field is expected, as in `mode: execute`.")
    if field[1] not in _KNOWN:
        refuse(file, number, "There is no such field.", hint=f"There are: {', '.join(_KNOWN)}.")
    if field[1] in found:
        refuse(file, number, f"`{field[1]}` stands here twice.")
    value = field[2].strip()
    if len(value) >= 2 and value[0] == value[-1] and value[0] in "\"'":
        value = value[1:-1]
    found[field[1]] = Field(value, number)


def _check_complete(found: dict[str, Field], file: str, line: int) -> None:
    missing = [name for name in _REQUIRED if name not in found]
    if missing:
        refuse(file, line, f"The front matter lacks {', '.join(missing)}.")


def _checked(pattern: re.Pattern[str], field: Field, file: str) -> str:
    if not pattern.fullmatch(field.text):
        refuse(file, field.line, "This is no name: small letters, digits, dot, dash.")
    return field.text


def _mode(field: Field, file: str) -> Mode:
    if field.text in MODE_ALIASES:
        return MODE_ALIASES[field.text]
    if field.text not in list(Mode):
        refuse(file, field.line, "There is no such mode.", hint=f"There are: {', '.join(Mode)}.")
    return Mode(field.text)


def _summary(field: Field, file: str) -> str:
    if not 0 < len(field.text) <= limits.title_chars_max:
        refuse(file, field.line, f"A summary has 1 to {limits.title_chars_max} characters.")
    return field.text


def _listed(field: Field, file: str, pattern: re.Pattern[str]) -> list[str]:
    names = [name.strip() for name in re.split(r",|→", field.text)]
    if not all(pattern.fullmatch(name) for name in names) or len(set(names)) != len(names):
        refuse(file, field.line, "Here names are expected, each once, separated by commas.")
    return names


def _phases(field: Field, sections: list[Section], file: str) -> tuple[Phase, ...]:
    """The phases that are named, each with its section: the two must agree, so that neither is out of date."""
    names = _listed(field, file, _PHASE)
    if len(names) > limits.template_phases_max:
        refuse(file, field.line, f"A workflow has at most {limits.template_phases_max} phases.")
    for name, section in zip(names, sections, strict=False):
        if section.name != name:
            refuse(file, section.line, f"Here the phase {name} is expected, as `phases` says.")
        if not section.text:
            refuse(file, section.line, f"The phase {name} says nothing.")
    if len(sections) < len(names):
        refuse(file, field.line, f"The phase {names[len(sections)]} has no heading of its own.")
    if len(sections) > len(names):
        refuse(
            file, sections[len(names)].line, "This heading is no phase of `phases`.", hint="Write ### below a phase."
        )
    return tuple(Phase(section.name, section.text) for section in sections)


def _check_calls(text: str, file: str) -> None:
    try:
        for _ in calls.mentioned(text):
            pass
    except errors.Invalid as error:
        refuse(file, error.data["line"], error.message, hint=f"There are: {', '.join(calls.CALLS)}.")


def _check_size(text: str, file: str) -> None:
    """As it stands in a prompt, where an ampersand is five characters."""
    size = len(xml.text(text).encode())
    if size > limits.template_bytes_max:
        line = text.count("\n") + 1
        refuse(file, line, f"The template is too long: {size} bytes of {limits.template_bytes_max}.")
