"""Model tiers and permission levels: the levels of a tool's descriptor, with the user's overrides in `tools.toml`."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path

import msgspec

from maestro.core import errors
from maestro.domain.members import Permission

FILE_NAME = "tools.toml"


class ToolLevels(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The model tiers and permission levels of a tool."""

    program: str = ""  # the name or path of the program
    model: str = ""  # the default model; empty: the model of the program's own settings
    models: dict[str, str] = {}  # the model of each tier
    permissions: dict[Permission, list[str]] = {}  # the meaning of each level, in the terms of the program

    def model_for(self, wanted: str | None) -> str | None:
        """Return the model for a tier, or the given name unchanged. None leaves the choice to the program."""
        return self.models.get(wanted, wanted) if wanted else self.model or None


class _Overrides(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The user's overrides for a tool."""

    program: str | None = None
    model: str | None = None
    models: dict[str, str] = {}
    permissions: dict[Permission, list[str]] = {}


def read_levels(tool: str, home: Path | None, packaged: Mapping[str, ToolLevels]) -> ToolLevels:
    """Return a tool's levels, with the overrides of the data directory. `packaged` holds the levels of all tools."""
    levels = packaged[tool]
    overrides = _read_overrides(home, packaged).get(tool) if home is not None else None
    if overrides is None:
        return levels
    return ToolLevels(
        program=overrides.program if overrides.program is not None else levels.program,
        model=overrides.model if overrides.model is not None else levels.model,
        models=levels.models | overrides.models,
        permissions=levels.permissions | overrides.permissions,
    )


def _read_overrides(home: Path, packaged: Mapping[str, ToolLevels]) -> dict[str, _Overrides]:
    file = home / FILE_NAME
    try:
        overrides = msgspec.convert(tomllib.loads(file.read_text(encoding="utf-8")), dict[str, _Overrides])
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError, msgspec.ValidationError) as error:
        raise errors.Invalid(f"{file} cannot be used: {error}.", hint="Correct the file, or move it away.") from error
    unknown = sorted(set(overrides) - set(packaged))
    if unknown:
        raise errors.Invalid(
            f"{file} names the unknown tool {unknown[0]!r}.", hint=f"Known tools: {', '.join(packaged)}."
        )
    return overrides
