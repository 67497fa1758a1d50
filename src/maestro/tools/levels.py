"""Model tiers and permission levels of each tool: from the package's data file and the user's overrides."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib import resources
from pathlib import Path

import msgspec

from maestro.core import errors
from maestro.domain.members import Permission

FILE_NAME = "tools.toml"


class ToolLevels(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The model tiers and permission levels of a tool."""

    program: str
    model: str = ""
    models: dict[str, str] = {}
    permissions: dict[Permission, list[str]]

    def model_for(self, wanted: str | None) -> str | None:
        """Return the model for a tier, or the given name unchanged. None leaves the choice to the program."""
        return self.models.get(wanted, wanted) if wanted else self.model or None


class _Overrides(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The user's overrides for a tool."""

    program: str | None = None
    model: str | None = None
    models: dict[str, str] = {}
    permissions: dict[Permission, list[str]] = {}


def read_levels(tool: str, home: Path | None) -> ToolLevels:
    """Return a tool's levels, with the overrides of the data directory."""
    packaged = _packaged_levels()[tool]
    overrides = _read_overrides(home).get(tool) if home is not None else None
    if overrides is None:
        return packaged
    return ToolLevels(
        program=overrides.program if overrides.program is not None else packaged.program,
        model=overrides.model if overrides.model is not None else packaged.model,
        models=packaged.models | overrides.models,
        permissions=packaged.permissions | overrides.permissions,
    )


@cache
def _packaged_levels() -> dict[str, ToolLevels]:
    text = resources.files(__package__).joinpath(FILE_NAME).read_text(encoding="utf-8")
    return msgspec.convert(tomllib.loads(text), dict[str, ToolLevels])


def _read_overrides(home: Path) -> dict[str, _Overrides]:
    file = home / FILE_NAME
    try:
        overrides = msgspec.convert(tomllib.loads(file.read_text(encoding="utf-8")), dict[str, _Overrides])
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError, msgspec.ValidationError) as error:
        raise errors.Invalid(f"{file} cannot be used: {error}.", hint="Correct the file, or move it away.") from error
    unknown = sorted(set(overrides) - set(_packaged_levels()))
    if unknown:
        raise errors.Invalid(
            f"{file} names the unknown tool {unknown[0]!r}.", hint=f"Known tools: {', '.join(_packaged_levels())}."
        )
    return overrides
