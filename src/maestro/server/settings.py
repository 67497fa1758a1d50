"""What a person can set, in `config.toml` of the data directory. Everything has a sensible default."""

from __future__ import annotations

import getpass
import os
import tomllib
from pathlib import Path
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from maestro import errors
from maestro.store.layout import SETTINGS

DEFAULT_PORT = 4747


class Settings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Every setting, with its default."""

    human: Annotated[str, Meta(max_length=64, description="Your name on what you do; your login when empty.")] = ""
    host: Annotated[str, Meta(max_length=255, description="The address to listen on; loopback by default.")] = (
        "127.0.0.1"
    )
    port: Annotated[int, Meta(ge=0, le=65535, description="The HTTP port; the next free one if taken.")] = (
        DEFAULT_PORT
    )
    events_days: Annotated[
        int, Meta(ge=0, le=36500, description="How long the event log is kept; 0 is for ever.")
    ] = 90
    remote: Annotated[
        str,
        Meta(
            min_length=1,
            max_length=200,
            description="The git remote that names a project: origin or upstream.",
        ),
    ] = "origin"


def load(home: Path) -> Settings:
    """The settings of a data directory; what is wrong in the file is said, not guessed around."""
    file = home / SETTINGS
    try:
        return msgspec.convert(tomllib.loads(file.read_text(encoding="utf-8")), Settings)
    except FileNotFoundError:
        return Settings()
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError, msgspec.ValidationError) as error:
        raise errors.Invalid(f"{file} cannot be used: {error}.", hint="Mend it, or move it away.") from error


def change(home: Path, name: str, value: str) -> Settings:
    """Set one setting and write the file anew, whole or not at all."""
    known(name)
    present = msgspec.structs.asdict(load(home))
    kind = type(getattr(Settings(), name))
    try:
        present[name] = msgspec.convert(value, kind, strict=False)
        settings = msgspec.convert(present, Settings)
    except msgspec.ValidationError as error:
        raise errors.Invalid(f"{value!r} does not do for {name}: {error}.") from error
    default = msgspec.structs.asdict(Settings())
    lines = [f"{key} = {_toml(given)}\n" for key, given in present.items() if given != default[key]]
    part = home / f".{SETTINGS}.part"
    part.write_text("".join(lines), encoding="utf-8")
    part.rename(home / SETTINGS)
    return settings


def known(name: str) -> None:
    """Refuse a setting that there is not."""
    if name not in Settings.__struct_fields__:
        raise errors.NotFound(
            f"There is no setting {name!r}.", hint=f"There are: {', '.join(Settings.__struct_fields__)}."
        )


def human_name(settings: Settings) -> str:
    """The person's name: their login, or what their settings say."""
    if settings.human:
        return settings.human
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return f"uid-{os.getuid()}"


def _toml(value: Any) -> str:
    # TOML's basic strings and integers are written as JSON's are.
    return msgspec.json.encode(value).decode()
