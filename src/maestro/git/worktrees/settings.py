"""The settings for new worktrees of a project: the `[worktree]` table of `.maestro/config.toml`."""

from __future__ import annotations

import asyncio
from pathlib import Path, PurePosixPath
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from maestro.core import limits
from maestro.core.errors import Conflict, Invalid, NotFound
from maestro.git import repositories
from maestro.git.worktrees import branches
from maestro.system import small_files
from maestro.text import bounded_toml

SETTINGS_FILE = ".maestro/config.toml"

_Pattern = Annotated[str, Meta(min_length=1, max_length=limits.copy_pattern_chars_max)]


class WorktreeSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The files to copy from the source checkout, and the set-up command to run afterwards."""

    setup: Annotated[str, Meta(max_length=limits.command_chars_max)] = ""
    # Patterns relative to the checkout: `*` and `?` match within a name, `**` matches any number of folders.
    copy: Annotated[tuple[_Pattern, ...], Meta(max_length=limits.copy_patterns_max)] = ()
    setup_seconds: Annotated[int, Meta(ge=1, le=limits.setup_seconds_max)] = limits.setup_seconds_default

    def __post_init__(self) -> None:
        if "\0" in self.setup:
            raise ValueError("the command holds a null byte")
        for pattern in self.copy:
            parts = PurePosixPath(pattern).parts
            if not parts or pattern.startswith(("/", "~")) or ".." in parts or ".git" in parts or "\0" in pattern:
                raise ValueError(f"{pattern!r} must name files inside the checkout")


def read_settings(checkout: str) -> WorktreeSettings:
    """Return the settings of a checkout; the defaults without a settings file. Refuse an invalid file."""
    file = Path(checkout, SETTINGS_FILE)
    text = small_files.read_small(str(file))
    if text is None:
        if file.exists():
            raise _invalid_settings(file, "it is not a plain file, or it is not readable")
        return WorktreeSettings()
    # `read_small` cuts the text at this size: a text of exactly this size may be longer.
    if len(text) >= limits.checkout_settings_bytes_max:
        raise _invalid_settings(file, f"it is larger than {limits.checkout_settings_bytes_max} bytes")
    try:
        table: Any = bounded_toml.parse_toml(text.decode()).get("worktree", {})
        return msgspec.convert(table, WorktreeSettings)
    except msgspec.ValidationError as error:
        raise _invalid_settings(file, f"in [worktree]: {error}") from error
    except (UnicodeDecodeError, bounded_toml.TomlUnreadable) as error:
        raise _invalid_settings(file, str(error)) from error


def parse_setup(text: str) -> str:
    """Return the set-up command in the text of a settings file; an empty text without a command."""
    try:
        return msgspec.convert(bounded_toml.parse_toml(text).get("worktree", {}), WorktreeSettings).setup
    except (msgspec.ValidationError, bounded_toml.TomlUnreadable):
        return ""


def _invalid_settings(file: Path, reason: str) -> Invalid:
    hint = "Correct the file, or move it away."
    return Invalid(f"{file} cannot be used: {reason}.", hint=hint, data={"file": str(file)})


async def require_ready(checkout: str) -> WorktreeSettings:
    """Return the worktree settings of a checkout. Refuse a checkout from which no worktree can be made."""
    if not Path(checkout).is_dir():
        raise NotFound(
            f"The folder {checkout} no longer exists, so no worktree can be made from it.",
            hint="If the folder was moved: run `maestro init` in the new folder.",
        )
    try:
        repositories.common_dir(checkout)
    except NotFound:
        raise Conflict(
            f"{checkout} is not in a git repository, so no worktree can be made from it.",
            hint="Create a repository (git init, git add -A, git commit -m first), or leave --worktree out.",
        ) from None
    await branches.require_commit(checkout, None)
    return await asyncio.to_thread(read_settings, checkout)
