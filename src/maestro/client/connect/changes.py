"""Plan the changes of settings files, carry them out, and undo them."""

from __future__ import annotations

import difflib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from maestro.client.connect import files, merging, toml_text
from maestro.client.connect.entries import Format, Target, is_left_over
from maestro.client.connect.files import ChangedMeanwhile, Found
from maestro.client.connect.merging import LeftAlone
from maestro.client.connect.records import Record, Records, digest

_ATTEMPTS_MAX = 5


@dataclass(frozen=True)
class Change:
    """The content of a settings file before and after a change. `after` is None if the file is removed."""

    found: Found
    after: bytes | None
    notes: list[str] = field(default_factory=list)
    mcp: Any = None
    tables: tuple[tuple[str, ...], ...] = ()

    @property
    def is_none(self) -> bool:
        return self.after == self.found.content

    def diff(self, path: Path) -> str:
        """Return the change as a unified diff."""
        before = (self.found.content or b"").decode(errors="replace").splitlines(keepends=True)
        after = (self.after or b"").decode(errors="replace").splitlines(keepends=True)
        names = (str(path) if self.found.content is not None else "/dev/null", str(path))
        lines = difflib.unified_diff(before, after, *names)
        return "".join(line if line.endswith("\n") else f"{line}\n" for line in lines)


def connecting(target: Target, records: Records) -> Change:
    """Return the change that adds Maestro's entries to a file."""
    settings = files.read(target.path)
    record = records.get(target.path)
    owned = record.mcp if record is not None else None
    _, present_mcp = merging.present(target, settings.text)
    if present_mcp != target.mcp and is_left_over(present_mcp):
        owned = present_mcp
    text, notes = merging.merged(target, settings.text, owned=owned)
    # An entry that Maestro did not write belongs to the person.
    mcp = target.mcp if present_mcp is None or present_mcp == owned else None
    tables = tuple(tuple(keys) for keys in record.tables) if record is not None else ()
    return Change(settings, text.encode(), notes, mcp=mcp, tables=tables)


def trusting(target: Target, records: Records, hashes: dict[str, str]) -> Change:
    """Return the change that marks hooks as reviewed by the person, for codex."""
    settings = files.read(target.path)
    record = records.get(target.path)
    text = settings.text
    tables = [tuple(keys) for keys in record.tables] if record is not None else []
    try:
        for key, value in hashes.items():
            keys = ("hooks", "state", key)
            present_table = toml_text.find(toml_text.read(text), keys)
            if present_table is not None and keys in tables:
                text = toml_text.remove(text, keys)
            elif present_table is not None:
                continue  # codex or the person wrote the table
            text = toml_text.add(text, keys, {"trusted_hash": value})
            tables = [*tables, keys] if keys not in tables else tables
    except toml_text.Unreadable as error:
        raise LeftAlone(f"the file cannot be changed: {error}") from None
    return Change(settings, text.encode(), mcp=record.mcp if record else None, tables=tuple(tables))


def disconnecting(target: Target, records: Records) -> Change:
    """Return the change that removes Maestro's entries.

    If the file still has the content that Maestro wrote, the change restores the content before, byte by byte.
    """
    settings = files.read(target.path)
    record = records.get(target.path)
    if record is not None and digest(settings.content) == record.after:
        return Change(settings, records.content_before(record))
    if settings.content is None:
        return Change(settings, None)
    text = _remove_our_entries(target, settings.text, record)
    if record is not None and record.before is None and _is_empty(target, text):
        return Change(settings, None)
    return Change(settings, text.encode())


def _remove_our_entries(target: Target, text: str, record: Record | None) -> str:
    """Return a file's text without Maestro's entries and tables."""
    for keys in record.tables if record is not None else ():
        try:
            text = toml_text.remove(text, keys)
        except toml_text.Unreadable as error:
            raise LeftAlone(f"the file cannot be changed: {error}") from None
    return merging.without(target, text, owned=record.mcp if record is not None else target.mcp)


def _is_empty(target: Target, text: str) -> bool:
    if target.format is Format.TOML:
        return not text.strip()
    return "".join(text.split()) in ("", "{}")


def connect(target: Target, change: Change, records: Records, *, tool: str, scope: str) -> None:
    """Carry out a change, and record how to undo it. The copy is written before the file changes."""
    assert change.after is not None
    last = records.get(target.path)
    is_untouched = last is not None and digest(change.found.content) == last.after
    folders = list(last.folders) if last is not None else []
    if is_untouched and last is not None:
        before = last.before
    else:
        bare = _content_to_restore(target, change, last)
        before = records.keep(target.path, bare) if bare is not None else None
    new_folders = files.write(change.found, change.after)
    folders += [str(folder) for folder in new_folders]
    tables = [list(keys) for keys in change.tables]
    records.put(
        Record(tool, scope, str(target.path), before, digest(change.after), change.mcp, tables, folders=folders)
    )


def _content_to_restore(target: Target, change: Change, last: Record | None) -> bytes | None:
    """Return the file's content without Maestro's entries: the content that an undo restores."""
    if change.found.content is None or last is None:
        return change.found.content
    return _remove_our_entries(target, change.found.text, last).encode()


def disconnect(target: Target, change: Change, records: Records) -> None:
    """Carry out a change that removes Maestro's entries, and delete the file's record."""
    record = records.get(target.path)
    if change.after is None and change.found.content is not None:
        files.remove(change.found)
    elif not change.is_none and change.after is not None:
        files.write(change.found, change.after)
    if record is not None:
        files.remove_folders([Path(folder) for folder in record.folders])
        records.drop(record)


def persistently(make: Any, do: Any) -> Change:
    """Plan a change and carry it out. Repeat both if another process wrote to the file in between."""
    for _ in range(_ATTEMPTS_MAX):
        change: Change = make()
        try:
            do(change)
        except ChangedMeanwhile:
            continue
        return change
    raise LeftAlone("another process keeps writing to the file")
