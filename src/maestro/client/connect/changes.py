"""Changing settings and changing them back: what would be done, and doing it."""

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

_TRIES_MAX = 5


@dataclass(frozen=True)
class Change:
    """A file before and after. `after` is None where it goes."""

    found: Found
    after: bytes | None
    notes: list[str] = field(default_factory=list)
    mcp: Any = None
    tables: tuple[tuple[str, ...], ...] = ()

    @property
    def is_none(self) -> bool:
        return self.after == self.found.content

    def diff(self, path: Path) -> str:
        """The change as people read changes."""
        before = (self.found.content or b"").decode(errors="replace").splitlines(keepends=True)
        after = (self.after or b"").decode(errors="replace").splitlines(keepends=True)
        names = (str(path) if self.found.content is not None else "/dev/null", str(path))
        lines = difflib.unified_diff(before, after, *names)
        return "".join(line if line.endswith("\n") else f"{line}\n" for line in lines)


def connecting(target: Target, records: Records) -> Change:
    """The change that puts our entries into a file."""
    found = files.read(target.path)
    record = records.get(target.path)
    owned = record.mcp if record is not None else None
    _, there = merging.present(target, found.text)
    if there != target.mcp and is_left_over(there):
        owned = there
    text, notes = merging.merged(target, found.text, owned=owned)
    mine = target.mcp if there is None or there == owned else None  # one that was there before is someone else's
    kept = tuple(tuple(keys) for keys in record.tables) if record is not None else ()
    return Change(found, text.encode(), notes, mcp=mine, tables=kept)


def trusting(target: Target, records: Records, hashes: dict[str, str]) -> Change:
    """The change that tells codex that its person has looked at these hooks."""
    found = files.read(target.path)
    record = records.get(target.path)
    text = found.text
    tables = [tuple(keys) for keys in record.tables] if record is not None else []
    try:
        for key, value in hashes.items():
            keys = ("hooks", "state", key)
            there = toml_text.find(toml_text.read(text), keys)
            if there is not None and keys in tables:
                text = toml_text.remove(text, keys)
            elif there is not None:
                continue  # codex or its person said something themselves
            text = toml_text.add(text, keys, {"trusted_hash": value})
            tables = [*tables, keys] if keys not in tables else tables
    except toml_text.Unreadable as error:
        raise LeftAlone(f"it cannot be changed: {error}") from None
    return Change(found, text.encode(), mcp=record.mcp if record else None, tables=tuple(tables))


def disconnecting(target: Target, records: Records) -> Change:
    """The change that takes our entries out: to the last byte as it was, if nobody else wrote there since."""
    found = files.read(target.path)
    record = records.get(target.path)
    if record is not None and digest(found.content) == record.after:
        return Change(found, records.content_before(record))
    if found.content is None:
        return Change(found, None)
    text = _without_us(target, found.text, record)
    if record is not None and record.before is None and _says_nothing(target, text):
        return Change(found, None)
    return Change(found, text.encode())


def _without_us(target: Target, text: str, record: Record | None) -> str:
    """A file's text without anything of ours."""
    for keys in record.tables if record is not None else ():
        try:
            text = toml_text.remove(text, keys)
        except toml_text.Unreadable as error:
            raise LeftAlone(f"it cannot be changed: {error}") from None
    return merging.without(target, text, owned=record.mcp if record is not None else target.mcp)


def _says_nothing(target: Target, text: str) -> bool:
    if target.format is Format.TOML:
        return not text.strip()
    return "".join(text.split()) in ("", "{}")


def connect(target: Target, change: Change, records: Records, *, tool: str, scope: str) -> None:
    """Make a change, and remember how to undo it. The copy is there before the file is touched."""
    assert change.after is not None
    last = records.get(target.path)
    untouched = last is not None and digest(change.found.content) == last.after
    folders = list(last.folders) if last is not None else []
    if untouched and last is not None:
        before = last.before
    else:
        bare = _bare(target, change, last)
        before = records.keep(target.path, bare) if bare is not None else None
    made = files.write(change.found, change.after)
    folders += [str(folder) for folder in made]
    tables = [list(keys) for keys in change.tables]
    records.put(
        Record(tool, scope, str(target.path), before, digest(change.after), change.mcp, tables, folders=folders)
    )


def _bare(target: Target, change: Change, last: Record | None) -> bytes | None:
    """The file as it would be without us, to go back to."""
    if change.found.content is None or last is None:
        return change.found.content
    return _without_us(target, change.found.text, last).encode()


def disconnect(target: Target, change: Change, records: Records) -> None:
    """Make the change, and forget about the file."""
    record = records.get(target.path)
    if change.after is None and change.found.content is not None:
        files.remove(change.found)
    elif not change.is_none and change.after is not None:
        files.write(change.found, change.after)
    if record is not None:
        files.remove_folders([Path(folder) for folder in record.folders])
        records.drop(record)


def persistently(make: Any, do: Any) -> Change:
    """Make out a change and carry it out; anew if someone wrote in between."""
    for _ in range(_TRIES_MAX):
        change: Change = make()
        try:
            do(change)
        except ChangedMeanwhile:
            continue
        return change
    raise LeftAlone("someone else keeps writing to it")
