"""What a model tier and a permission level mean for each program: a data file, and the user's own beside it."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib import resources
from pathlib import Path

import msgspec

from maestro.core import errors
from maestro.domain.members import Permission

FILE = "tools.toml"


class Levels(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One program's."""

    program: str
    model: str = ""
    models: dict[str, str] = {}
    permissions: dict[Permission, list[str]]

    def model_for(self, wanted: str | None) -> str | None:
        """A tier by its meaning, anything else as it is; nothing leaves it to the program."""
        return self.models.get(wanted, wanted) if wanted else self.model or None


class _Own(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a user says of one program."""

    program: str | None = None
    model: str | None = None
    models: dict[str, str] = {}
    permissions: dict[Permission, list[str]] = {}


def of(tool: str, home: Path | None) -> Levels:
    """A program's levels, with what the data directory says instead."""
    shipped = _shipped()[tool]
    own = _own(home).get(tool) if home is not None else None
    if own is None:
        return shipped
    return Levels(
        program=own.program if own.program is not None else shipped.program,
        model=own.model if own.model is not None else shipped.model,
        models=shipped.models | own.models,
        permissions=shipped.permissions | own.permissions,
    )


@cache
def _shipped() -> dict[str, Levels]:
    text = resources.files(__package__).joinpath(FILE).read_text(encoding="utf-8")
    return msgspec.convert(tomllib.loads(text), dict[str, Levels])


def _own(home: Path) -> dict[str, _Own]:
    file = home / FILE
    try:
        found = msgspec.convert(tomllib.loads(file.read_text(encoding="utf-8")), dict[str, _Own])
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError, msgspec.ValidationError) as error:
        raise errors.Invalid(f"{file} cannot be used: {error}.", hint="Mend it, or move it away.") from error
    unknown = sorted(set(found) - set(_shipped()))
    if unknown:
        raise errors.Invalid(f"{file} names {unknown[0]!r}.", hint=f"There are: {', '.join(_shipped())}.")
    return found
