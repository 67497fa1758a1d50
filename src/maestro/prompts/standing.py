"""What holds for every session of a mode, whatever its template: who it is, and the rules it keeps to.

The words are in `rules/*.md`, one heading a rule. Knows nothing of manifests.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files

from maestro.domain.sessions import Mode
from maestro.prompts.sources import Section, split

_IDENTITY = "identity"
# A mode's own file begins with who it is. The rules for everyone come first: they say whose word counts.
_FIRST = "everyone"
_OWN = {
    Mode.COORDINATE: ("coordinate",),
    Mode.EXECUTE: ("execute", "worker"),
    Mode.PLAN: ("plan", "worker"),
}


def identity(mode: Mode) -> str:
    """Who a session of this mode is."""
    return _own(mode)[0].text


def rules(mode: Mode) -> tuple[Section, ...]:
    """What a session of this mode keeps to."""
    return _read(_FIRST) + _own(mode)[1:]


@cache
def _own(mode: Mode) -> tuple[Section, ...]:
    found = tuple(section for name in _OWN[mode] for section in _read(name))
    assert found[0].name == _IDENTITY, f"the rules for {mode} do not begin with who it is"
    return found


@cache
def _read(name: str) -> tuple[Section, ...]:
    file = files("maestro.prompts") / "rules" / f"{name}.md"
    return tuple(split(file.read_text(encoding="utf-8"))[1])
