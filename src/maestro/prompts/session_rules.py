"""The identity and the rules of every session of a mode, independent of the template.

The texts are in `rules/*.md`, with a heading for each rule. Does not know manifests.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files

from maestro.domain.sessions import SessionMode
from maestro.prompts.template_files import Section, split_sections

_IDENTITY = "identity"
# A mode's own file begins with the identity. The common rules come first: they say whose instructions count.
_COMMON_FILE = "everyone"
_MODE_FILES = {
    SessionMode.COORDINATE: ("coordinate",),
    SessionMode.EXECUTE: ("execute", "worker"),
    SessionMode.PLAN: ("plan", "worker"),
}


def identity_of_mode(mode: SessionMode) -> str:
    """Return the identity text of a mode."""
    return _mode_sections(mode)[0].text


def rules_of_mode(mode: SessionMode) -> tuple[Section, ...]:
    """Return the rules of a mode: the common rules, then the mode's own."""
    return _read_sections(_COMMON_FILE) + _mode_sections(mode)[1:]


@cache
def _mode_sections(mode: SessionMode) -> tuple[Section, ...]:
    sections = tuple(section for name in _MODE_FILES[mode] for section in _read_sections(name))
    assert sections[0].name == _IDENTITY, f"the rules for {mode} do not begin with the identity"
    return sections


@cache
def _read_sections(name: str) -> tuple[Section, ...]:
    file = files("maestro.prompts") / "rules" / f"{name}.md"
    return tuple(split_sections(file.read_text(encoding="utf-8"))[1])
