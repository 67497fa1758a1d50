"""Plan the changes of settings files, carry them out, and undo them."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from maestro.client.connect import files, settings_text, toml_text
from maestro.client.connect.change_records import ConnectRecord, ConnectRecords, digest_content
from maestro.client.connect.entries import is_stale_mcp_entry
from maestro.client.connect.files import ChangedMeanwhile, SettingsContent
from maestro.client.connect.settings_text import NotChangeable
from maestro.tools.connect_support import SettingsFormat, SettingsTarget

_ATTEMPTS_MAX = 5


@dataclass(frozen=True)
class FileChange:
    """The content of a settings file before and after a change. `after` is None if the file is removed."""

    settings: SettingsContent
    after: bytes | None
    notes: list[str] = field(default_factory=list)
    mcp: Any = None
    tables: tuple[tuple[str, ...], ...] = ()

    @property
    def is_none(self) -> bool:
        return self.after == self.settings.content

    def format_diff(self, path: Path) -> str:
        """Return the change as a unified diff."""
        before = (self.settings.content or b"").decode(errors="replace").splitlines(keepends=True)
        after = (self.after or b"").decode(errors="replace").splitlines(keepends=True)
        names = (str(path) if self.settings.content is not None else "/dev/null", str(path))
        lines = difflib.unified_diff(before, after, *names)
        return "".join(line if line.endswith("\n") else f"{line}\n" for line in lines)


def plan_connect(target: SettingsTarget, records: ConnectRecords) -> FileChange:
    """Return the change that adds Maestro's entries to a file."""
    settings = files.read_settings(target.path)
    record = records.find_record(target.path)
    owned = record.mcp if record is not None else None
    _, present_mcp = settings_text.present_entries(target, settings.text)
    if present_mcp != target.mcp and is_stale_mcp_entry(present_mcp):
        owned = present_mcp
    text, notes = settings_text.add_entries(target, settings.text, owned=owned)
    # An entry that Maestro did not write belongs to the person.
    mcp = target.mcp if present_mcp is None or present_mcp == owned else None
    tables = tuple(tuple(keys) for keys in record.tables) if record is not None else ()
    return FileChange(settings, text.encode(), notes, mcp=mcp, tables=tables)


def plan_trust(
    target: SettingsTarget, records: ConnectRecords, marks: Sequence[tuple[tuple[str, ...], dict[str, str]]]
) -> FileChange:
    """Return the change that marks hooks as reviewed by the person. Each mark is a TOML table with its keys."""
    settings = files.read_settings(target.path)
    record = records.find_record(target.path)
    text = settings.text
    tables = [tuple(keys) for keys in record.tables] if record is not None else []
    try:
        for keys, table in marks:
            present_table = toml_text.find_value(toml_text.parse_toml(text), keys)
            if present_table is not None and keys in tables:
                text = toml_text.remove_table(text, keys)
            elif present_table is not None:
                continue  # the program or the person wrote the table
            text = toml_text.add_table(text, keys, table)
            tables = [*tables, keys] if keys not in tables else tables
    except toml_text.UneditableToml as error:
        raise NotChangeable(f"the file cannot be changed: {error}") from None
    return FileChange(settings, text.encode(), mcp=record.mcp if record else None, tables=tuple(tables))


def plan_disconnect(target: SettingsTarget, records: ConnectRecords) -> FileChange:
    """Return the change that removes Maestro's entries.

    If the file still has the content that Maestro wrote, the change restores the content before, byte by byte.
    """
    settings = files.read_settings(target.path)
    record = records.find_record(target.path)
    if record is not None and digest_content(settings.content) == record.after:
        return FileChange(settings, records.content_before(record))
    if settings.content is None:
        return FileChange(settings, None)
    text = _remove_our_entries(target, settings.text, record)
    if record is not None and record.before is None and _is_empty(target, text):
        return FileChange(settings, None)
    return FileChange(settings, text.encode())


def _remove_our_entries(target: SettingsTarget, text: str, record: ConnectRecord | None) -> str:
    """Return a file's text without Maestro's entries and tables."""
    for keys in record.tables if record is not None else ():
        try:
            text = toml_text.remove_table(text, keys)
        except toml_text.UneditableToml as error:
            raise NotChangeable(f"the file cannot be changed: {error}") from None
    return settings_text.remove_entries(target, text, owned=record.mcp if record is not None else target.mcp)


def _is_empty(target: SettingsTarget, text: str) -> bool:
    if target.format is SettingsFormat.TOML:
        return not text.strip()
    return "".join(text.split()) in ("", "{}")


def apply_connect(
    target: SettingsTarget, change: FileChange, records: ConnectRecords, *, tool: str, scope: str
) -> None:
    """Carry out a change, and record how to undo it. The copy is written before the file changes."""
    assert change.after is not None
    last = records.find_record(target.path)
    is_untouched = last is not None and digest_content(change.settings.content) == last.after
    folders = list(last.folders) if last is not None else []
    if is_untouched and last is not None:
        before = last.before
    else:
        bare = _content_to_restore(target, change, last)
        before = records.copy_content(target.path, bare) if bare is not None else None
    new_folders = files.write_settings(change.settings, change.after)
    folders += [str(folder) for folder in new_folders]
    tables = [list(keys) for keys in change.tables]
    records.save_record(
        ConnectRecord(
            tool, scope, str(target.path), before, digest_content(change.after), change.mcp, tables, folders=folders
        )
    )


def _content_to_restore(target: SettingsTarget, change: FileChange, last: ConnectRecord | None) -> bytes | None:
    """Return the file's content without Maestro's entries: the content that an undo restores."""
    if change.settings.content is None or last is None:
        return change.settings.content
    return _remove_our_entries(target, change.settings.text, last).encode()


def apply_disconnect(target: SettingsTarget, change: FileChange, records: ConnectRecords) -> None:
    """Carry out a change that removes Maestro's entries, and delete the file's record."""
    record = records.find_record(target.path)
    if change.after is None and change.settings.content is not None:
        files.remove_settings(change.settings)
    elif not change.is_none and change.after is not None:
        files.write_settings(change.settings, change.after)
    if record is not None:
        kept_folders = files.remove_folders([Path(folder) for folder in record.folders])
        records.delete_record(record)
        records.hand_over_folders(kept_folders)


def change_with_retries(plan: Any, apply: Any) -> FileChange:
    """Plan a change and carry it out. Repeat both if another process wrote to the file in between."""
    for _ in range(_ATTEMPTS_MAX):
        change: FileChange = plan()
        try:
            apply(change)
        except ChangedMeanwhile:
            continue
        return change
    raise NotChangeable("another process keeps writing to the file")
