"""The person's settings, in `config.toml` of the data directory. Every setting has a default."""

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


class ServerSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """All settings, with their defaults."""

    # The person's name on records; empty means the login.
    human: _Line = ""
    # The address to listen on.
    host: _Line = "127.0.0.1"
    # Further host names under which clients may call the server, separated by commas.
    allowed_hosts: _Line = ""
    # The HTTP port; the server takes the next free port if another program uses this port.
    port: Annotated[int, Meta(ge=0, le=65535)] = DEFAULT_PORT
    # How long the event log is kept; 0 means for ever.
    events_days: Annotated[int, Meta(ge=0, le=36500)] = 90
    # How long mail is kept after the last recipient has read it; 0 means for ever.
    mail_days: Annotated[int, Meta(ge=0, le=36500)] = 0
    # How many messages a session may send to one recipient within a minute; 0 means no limit.
    mail_per_minute: Annotated[int, Meta(ge=0, le=1_000_000)] = limits.mail_per_minute_default
    # The same for a session with all sessions below it, and for all sessions of a project.
    family_mail_per_minute: Annotated[int, Meta(ge=0, le=1_000_000)] = limits.mail_per_minute_of_family_default
    project_mail_per_minute: Annotated[int, Meta(ge=0, le=1_000_000)] = limits.mail_per_minute_of_project_default
    # How many live sessions one session may have registered, and how many a family may register within a minute.
    sessions_per_parent: Annotated[int, Meta(ge=0, le=1_000_000)] = limits.sessions_per_parent_default
    sessions_per_minute: Annotated[int, Meta(ge=0, le=1_000_000)] = limits.sessions_per_minute_default
    # How many asks a session and all sessions of one parent may have open, and may open within a minute.
    asks_per_session: Annotated[int, Meta(ge=0, le=1_000_000)] = limits.asks_per_session_default
    asks_per_parent: Annotated[int, Meta(ge=0, le=1_000_000)] = limits.asks_per_parent_default
    asks_per_minute: Annotated[int, Meta(ge=0, le=1_000_000)] = limits.asks_per_minute_default
    # How many tasks a family of sessions may create within a minute.
    tasks_per_minute: Annotated[int, Meta(ge=0, le=1_000_000)] = limits.tasks_per_minute_default
    # How many bytes of documents, attachments and long texts the sessions of a project may store in a day (UTC).
    project_bytes_per_day: Annotated[int, Meta(ge=0, le=2**50)] = limits.project_bytes_per_day_default
    # How many levels deep sessions start further sessions.
    spawn_depth: Annotated[int, Meta(ge=0, le=64)] = limits.spawn_depth_max
    # How many started sessions one coordinator, and one project, may have at once.
    spawns_per_coordinator: Annotated[int, Meta(ge=0, le=10_000)] = limits.spawns_of_one_coordinator_max
    spawns_per_project: Annotated[int, Meta(ge=0, le=10_000)] = limits.spawns_of_one_project_max
    # Whether worktrees of a run stay when their work is merged.
    keep_worktrees: bool = False
    # How long a session's transcript is kept after the session's end; 0 means for ever.
    transcript_days: Annotated[int, Meta(ge=0, le=36500)] = 30
    # How long one gate command may take.
    gate_seconds: Annotated[int, Meta(ge=1, le=24 * 3600)] = limits.gate_seconds_max
    # How long a program of a run may stay after the end of its task.
    run_grace_seconds: Annotated[int, Meta(ge=0, le=24 * 3600)] = limits.run_grace_seconds
    # Whether agents that need the person show a desktop notification.
    notify_desktop: bool = True
    # Whether notifications contain the text of asks and reports, not only who needs the person, where and why.
    notify_content: bool = False
    # A URL that gets every notification as JSON (POST).
    notify_webhook: Annotated[str, Meta(max_length=1000, pattern=r"^(https?://[^\x00-\x20\x7f]+)?$(?!\n)")] = ""
    # How often a tracker is read as a whole, and how long one call of its program may take.
    tracker_seconds: Annotated[int, Meta(ge=1, le=24 * 3600)] = limits.tracker_seconds_default
    tracker_call_seconds: Annotated[int, Meta(ge=1, le=3600)] = limits.tracker_call_seconds_default
    # The path of the Beads program, if the program is not on the PATH.
    bd: _Line = ""
    # The git remote that names a project: origin or upstream.
    remote: Annotated[_Line, Meta(min_length=1)] = "origin"


def load_settings(home: Path) -> ServerSettings:
    """Return the settings of a data directory; refuse a file with errors instead of guessing."""
    return _decode_settings(home / SETTINGS, _read_text(home / SETTINGS))


def change_setting(home: Path, name: str, value: str) -> ServerSettings:
    """Change one setting in the file. Comments, order and format of the file stay; a file with errors is refused."""
    require_known_setting(name)
    file = home / SETTINGS
    text = _read_text(file)
    values = msgspec.structs.asdict(_decode_settings(file, text))
    value_type = type(getattr(ServerSettings(), name))
    try:
        values[name] = msgspec.convert(value, value_type, strict=False)
        settings = msgspec.convert(values, ServerSettings)
    except msgspec.ValidationError as error:
        raise errors.Invalid(f"{value!r} is not a valid value for {name}: {error}.") from error
    changed_text = _replace_value(file, text, name, values[name])
    try:
        small_files.write_durably(file, changed_text)
    except OSError as error:
        raise errors.storage_fault(error, f"{file} cannot be written") from error
    return settings


def _read_text(file: Path) -> str:
    """Return the text of the settings file with its own line ends; an empty text without a file."""
    try:
        return file.read_bytes().decode()
    except FileNotFoundError:
        return ""
    except (OSError, ValueError) as error:
        raise _unusable_file(file, error) from error


def _decode_settings(file: Path, text: str) -> ServerSettings:
    try:
        return msgspec.convert(tomllib.loads(text), ServerSettings)
    except (ValueError, RecursionError, msgspec.ValidationError) as error:
        raise _unusable_file(file, error) from error


def _replace_value(file: Path, text: str, name: str, value: Any) -> str:
    """Return the text of a settings file with one changed value."""
    import tomlkit  # only a change of a setting needs the library, and its import takes 20 ms

    try:
        document = tomlkit.parse(text)
        document[name] = value
        changed_text = tomlkit.dumps(document)
        is_changed = tomllib.loads(changed_text) == {**tomllib.loads(text), name: value}
    except (ValueError, RecursionError) as error:
        raise _unusable_file(file, error) from error
    if not is_changed:
        raise errors.Invalid(f"{name} cannot be changed in {file}.", hint="Change the file with an editor.")
    return changed_text


def _unusable_file(file: Path, error: Exception) -> errors.Invalid:
    return errors.Invalid(f"{file} cannot be used: {error}.", hint="Correct the file, or move it away.")


def require_known_setting(name: str) -> None:
    """Refuse a name that is not a setting."""
    if name not in ServerSettings.__struct_fields__:
        raise errors.NotFound(
            f"There is no setting {name!r}.", hint=f"The settings are: {', '.join(ServerSettings.__struct_fields__)}."
        )


def human_name(settings: ServerSettings) -> str:
    """Return the person's name from the settings, or the login."""
    if settings.human:
        return settings.human
    try:
        # A login may have any bytes; a name on a record must be text.
        return getpass.getuser().encode("utf-8", "replace").decode() or f"uid-{os.getuid()}"
    except (KeyError, OSError):
        return f"uid-{os.getuid()}"
