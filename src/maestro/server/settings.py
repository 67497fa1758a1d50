"""What a person can set, in `config.toml` of the data directory. Everything has a sensible default."""

from __future__ import annotations

import getpass
import os
import tomllib
from pathlib import Path
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from maestro.core import errors, limits
from maestro.store.layout import SETTINGS
from maestro.system import small_files

DEFAULT_PORT = 4747


_Line = Annotated[str, Meta(max_length=255, pattern=r"^[^\x00-\x1f\x7f]*$(?!\n)")]


class Settings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Every setting, with its default."""

    # Your name on what you do; your login when empty.
    human: _Line = ""
    # The address to listen on.
    host: _Line = "127.0.0.1"
    # Names besides its own address under which others may call it, separated by commas.
    allowed_hosts: _Line = ""
    # The HTTP port; the next free one if it is taken.
    port: Annotated[int, Meta(ge=0, le=65535)] = DEFAULT_PORT
    # How long the event log is kept; 0 is for ever.
    events_days: Annotated[int, Meta(ge=0, le=36500)] = 90
    # How long mail is kept once nobody is still to read it; 0 is for ever.
    mail_days: Annotated[int, Meta(ge=0, le=36500)] = 0
    # How many messages a session may send to one recipient within a minute; 0 is without limit.
    mail_per_minute: Annotated[int, Meta(ge=0, le=1_000_000)] = limits.mail_per_minute_default
    # The same for a session and all those below it together, and for all sessions of a project together.
    family_mail_per_minute: Annotated[int, Meta(ge=0, le=1_000_000)] = limits.mail_per_minute_of_family_default
    project_mail_per_minute: Annotated[int, Meta(ge=0, le=1_000_000)] = limits.mail_per_minute_of_project_default
    # How many live sessions one session may have registered, and how many a family may register within a minute.
    sessions_per_parent: Annotated[int, Meta(ge=0, le=1_000_000)] = limits.sessions_per_parent_default
    sessions_per_minute: Annotated[int, Meta(ge=0, le=1_000_000)] = limits.sessions_per_minute_default
    # How many questions of one session, and of all sessions with the same parent, may be open; and asked in a minute.
    asks_per_session: Annotated[int, Meta(ge=0, le=1_000_000)] = limits.asks_per_session_default
    asks_per_parent: Annotated[int, Meta(ge=0, le=1_000_000)] = limits.asks_per_parent_default
    asks_per_minute: Annotated[int, Meta(ge=0, le=1_000_000)] = limits.asks_per_minute_default
    # How many tasks a family of sessions may create within a minute.
    tasks_per_minute: Annotated[int, Meta(ge=0, le=1_000_000)] = limits.tasks_per_minute_default
    # How many bytes of documents, attachments and long texts the sessions of a project may store in a day (UTC).
    project_bytes_per_day: Annotated[int, Meta(ge=0, le=2**50)] = limits.project_bytes_per_day_default
    # How many levels deep sessions start others.
    spawn_depth: Annotated[int, Meta(ge=0, le=64)] = limits.spawn_depth_max
    # How many started sessions one coordinator has at once, and one project.
    spawns_per_coordinator: Annotated[int, Meta(ge=0, le=10_000)] = limits.spawns_of_one_coordinator_max
    spawns_per_project: Annotated[int, Meta(ge=0, le=10_000)] = limits.spawns_of_one_project_max
    # Whether worktrees of a run stay when their work is merged.
    keep_worktrees: bool = False
    # How long what a session showed is kept after its end; 0 is for ever.
    transcript_days: Annotated[int, Meta(ge=0, le=36500)] = 30
    # How long one gate command may take.
    gate_seconds: Annotated[int, Meta(ge=1, le=24 * 3600)] = limits.gate_seconds_max
    # How long a program of a run may stay after its task is done.
    run_grace_seconds: Annotated[int, Meta(ge=0, le=24 * 3600)] = limits.run_grace_seconds
    # Whether an agent's question shows up on the desktop.
    notify_desktop: bool = True
    # An address that gets every question of an agent as JSON (POST).
    notify_webhook: Annotated[str, Meta(max_length=1000, pattern=r"^(https?://[^\x00-\x20\x7f]+)?$(?!\n)")] = ""
    # How often a tracker beside Maestro is read as a whole, and how long one call of its program may take.
    tracker_seconds: Annotated[int, Meta(ge=1, le=24 * 3600)] = limits.tracker_seconds_default
    tracker_call_seconds: Annotated[int, Meta(ge=1, le=3600)] = limits.tracker_call_seconds_default
    # Where the program of Beads is, if it is not on the PATH.
    bd: _Line = ""
    # The git remote that names a project: origin or upstream.
    remote: Annotated[_Line, Meta(min_length=1)] = "origin"


def load(home: Path) -> Settings:
    """The settings of a data directory; what is wrong in the file is said, not guessed around."""
    file = home / SETTINGS
    try:
        return msgspec.convert(tomllib.loads(file.read_text(encoding="utf-8")), Settings)
    except FileNotFoundError:
        return Settings()
    except (OSError, ValueError, RecursionError, msgspec.ValidationError) as error:
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
    try:
        small_files.write_whole(home / SETTINGS, "".join(lines))
    except OSError as error:
        raise errors.storage_fault(error, f"{home / SETTINGS} cannot be written") from error
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
        # A login may be any bytes; a name on a record is text.
        return getpass.getuser().encode("utf-8", "replace").decode() or f"uid-{os.getuid()}"
    except (KeyError, OSError):
        return f"uid-{os.getuid()}"


def _toml(value: Any) -> str:
    # TOML's basic strings and integers are written as JSON's are.
    return msgspec.json.encode(value).decode()
