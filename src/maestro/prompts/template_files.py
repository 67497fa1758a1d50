"""Parses templates: front matter between two lines of dashes, then a heading for each phase.

    ---
    name: execute-simple
    mode: execute
    strategy: simple
    summary: One task, from its description to a verified result.
    phases: init, execute, verify, complete
    ---
    An optional text for all phases.

    ## init
    What to do first.

Pure: text in, a template out. Errors name file and line but never quote the file: a symbolic link in a project may
lead to a secret file.
"""

from __future__ import annotations

import re
from typing import NoReturn

import msgspec

from maestro.core import errors, limits
from maestro.domain.sessions import MODE_ALIASES, SessionMode
from maestro.domain.templates import WorkflowPhase, WorkflowTemplate
from maestro.prompts import call_names, xml

_FENCE = "---"
_FIELD_LINE = re.compile(r"([a-z_]+)[ \t]*:[ \t]*(.*)")
_HEADING = re.compile(r"##[ \t]+(\S.*)")
_CODE_FENCE = re.compile(r"[ \t]{0,3}(`{3,}|~{3,})")
_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")
_PHASE = re.compile(r"[a-z][a-z0-9_]{0,63}")
_REQUIRED = ("name", "mode", "strategy", "summary", "phases")
_FIELD_NAMES = (*_REQUIRED, "aliases")


class Section(msgspec.Struct, frozen=True):
    """A heading and the text below; `line` is the line of the heading."""

    name: str
    text: str
    line: int


class FrontMatterField(msgspec.Struct, frozen=True):
    """A value of the front matter, and its line."""

    text: str
    line: int


def refuse_file(file: str, line: int, reason: str, *, hint: str = "") -> NoReturn:
    """Raise Invalid with file, line and reason."""
    raise errors.Invalid(f"{file}, line {line}: {reason}", hint=hint, data={"file": file, "line": line})


def parse_template(text: str, *, file: str, name: str, source: str) -> WorkflowTemplate:
    """Return the template in `text`. `name` comes from the file's name."""
    text = text.replace("\r\n", "\n")
    front_matter, body_line = _parse_front_matter(text, file)
    if front_matter["name"].text != name:
        refuse_file(file, front_matter["name"].line, f"The name must be the file's name, {name}.")
    intro, sections = split_sections(text, first_line=body_line)
    _check_calls(text, file)
    _check_size(text, file)
    return WorkflowTemplate(
        name=_check_name(_NAME, front_matter["name"], file),
        mode=_parse_mode(front_matter["mode"], file),
        strategy=_check_name(_NAME, front_matter["strategy"], file),
        summary=_check_summary(front_matter["summary"], file),
        phases=_parse_phases(front_matter["phases"], sections, file),
        intro=intro,
        aliases=tuple(_parse_names(front_matter["aliases"], file, _NAME)) if "aliases" in front_matter else (),
        source=source,
    )


def split_sections(text: str, *, first_line: int = 1) -> tuple[str, list[Section]]:
    """Return the text before the first heading, and the sections. Headings in code blocks do not count."""
    lines = text.split("\n")
    heads: list[tuple[int, str]] = []
    fence = ""
    for number, line in enumerate(lines[first_line - 1 :], first_line):
        code_fence = _CODE_FENCE.match(line)
        if code_fence is not None:
            fence = _open_fence_after(fence, code_fence[1])
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


def _open_fence_after(fence: str, mark: str) -> str:
    """Return the fence of the code block that is open after a fence line. Only an equal fence closes a block."""
    if not fence:
        return mark
    return "" if mark[0] == fence[0] and len(mark) >= len(fence) else fence


def _parse_front_matter(text: str, file: str) -> tuple[dict[str, FrontMatterField], int]:
    """Return the fields, and the first line after the front matter."""
    lines = text.split("\n")
    if lines[0].strip() != _FENCE:
        refuse_file(file, 1, f"A template must begin with a line {_FENCE}, followed by its fields.")
    found: dict[str, FrontMatterField] = {}
    for number, line in enumerate(lines[1:], 2):
        if line.strip() == _FENCE:
            _check_complete(found, file, number)
            return found, number + 1
        if not line.strip() or line.startswith("#"):
            continue
        _add_field(found, line.rstrip(), file, number)
    refuse_file(file, len(lines), f"The front matter does not end: a line {_FENCE} is missing.")


def _add_field(found: dict[str, FrontMatterField], line: str, file: str, number: int) -> None:
    field = _FIELD_LINE.fullmatch(line)
    if field is None:
        refuse_file(file, number, "Expected a field, for example `mode: execute`.")
    if field[1] not in _FIELD_NAMES:
        refuse_file(file, number, "The field is unknown.", hint=f"Known fields: {', '.join(_FIELD_NAMES)}.")
    if field[1] in found:
        refuse_file(file, number, f"The field `{field[1]}` occurs twice.")
    value = field[2].strip()
    if len(value) >= 2 and value[0] == value[-1] and value[0] in "\"'":
        value = value[1:-1]
    found[field[1]] = FrontMatterField(value, number)


def _check_complete(found: dict[str, FrontMatterField], file: str, line: int) -> None:
    missing = [name for name in _REQUIRED if name not in found]
    if missing:
        refuse_file(file, line, f"The front matter lacks {', '.join(missing)}.")


def _check_name(pattern: re.Pattern[str], field: FrontMatterField, file: str) -> str:
    if not pattern.fullmatch(field.text):
        refuse_file(file, field.line, "The name is not valid: use lower-case letters, digits, dot and dash.")
    return field.text


def _parse_mode(field: FrontMatterField, file: str) -> SessionMode:
    if field.text in MODE_ALIASES:
        return MODE_ALIASES[field.text]
    if field.text not in list(SessionMode):
        refuse_file(file, field.line, "The mode is unknown.", hint=f"Known modes: {', '.join(SessionMode)}.")
    return SessionMode(field.text)


def _check_summary(field: FrontMatterField, file: str) -> str:
    if not 0 < len(field.text) <= limits.title_chars_max:
        refuse_file(file, field.line, f"The summary must have 1 to {limits.title_chars_max} characters.")
    return field.text


def _parse_names(field: FrontMatterField, file: str, pattern: re.Pattern[str]) -> list[str]:
    names = [name.strip() for name in re.split(r",|→", field.text)]
    if not all(pattern.fullmatch(name) for name in names) or len(set(names)) != len(names):
        refuse_file(file, field.line, "Expected different names, separated by commas.")
    return names


def _parse_phases(field: FrontMatterField, sections: list[Section], file: str) -> tuple[WorkflowPhase, ...]:
    """Return the phases with their sections. The names in `phases` and the headings must agree."""
    names = _parse_names(field, file, _PHASE)
    if len(names) > limits.template_phases_max:
        refuse_file(file, field.line, f"A workflow can have at most {limits.template_phases_max} phases.")
    for name, section in zip(names, sections, strict=False):
        if section.name != name:
            refuse_file(file, section.line, f"Expected the heading of phase {name}, the next in `phases`.")
        if not section.text:
            refuse_file(file, section.line, f"The phase {name} has no text.")
    if len(sections) < len(names):
        refuse_file(file, field.line, f"The phase {names[len(sections)]} has no heading.")
    if len(sections) > len(names):
        refuse_file(
            file, sections[len(names)].line, "The heading is not listed in `phases`.", hint="Use ### inside a phase."
        )
    return tuple(WorkflowPhase(section.name, section.text) for section in sections)


def _check_calls(text: str, file: str) -> None:
    try:
        for _ in call_names.find_placeholders(text):
            pass
    except errors.Invalid as error:
        refuse_file(file, error.data["line"], error.message, hint=f"Known calls: {', '.join(call_names.CALLS)}.")


def _check_size(text: str, file: str) -> None:
    """Refuse a template that is too long in a prompt, where escapes such as `&amp;` take more bytes."""
    size = len(xml.escape_text(text).encode())
    if size > limits.template_bytes_max:
        line = text.count("\n") + 1
        refuse_file(file, line, f"The template is too long: {size} bytes of {limits.template_bytes_max}.")
