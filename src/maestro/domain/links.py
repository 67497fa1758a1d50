"""Parse and write the names that a checkout gives to other projects. Pure: a file is given as its text."""

from __future__ import annotations

import enum
import json
import re
from collections.abc import Mapping

import msgspec

from maestro.core import limits
from maestro.core.errors import Invalid
from maestro.text import bounded_toml


class LinkSource(enum.StrEnum):
    """The source of a project's name. Names from an earlier source in the list count more."""

    LOCAL = ".maestro/local.toml"  # this checkout only, not committed
    CONFIG = ".maestro/config.toml"  # committed, for all checkouts
    NEIGHBOUR = "a checkout beside this one"
    SERVER = "this server"


class LinkEntry(msgspec.Struct, frozen=True, kw_only=True):
    """One `[projects.NAME]` table of the settings files."""

    name: str
    source: LinkSource
    remote: str = ""
    path: str = ""


class ProjectLink(msgspec.Struct, frozen=True, kw_only=True):
    """A project, its name in a checkout or on the server, and the source of the name."""

    name: str
    project_id: str
    project: str
    key: str
    source: LinkSource
    remote: str = ""
    path: str = ""
    of: str = ""  # the checkout that uses the name: dave/vc


_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_BARE = re.compile(r"[A-Za-z0-9_-]+")
_HEADER = re.compile(r"\s*\[[^\]]*\]\s*(#.*)?")


def read_entries(texts: Mapping[LinkSource, str]) -> tuple[list[LinkEntry], list[str]]:
    """Return the entries of a checkout's settings files, and the problems found in the files.

    Each field of the local file replaces the same field of the committed file.
    """
    found: dict[str, LinkEntry] = {}
    problems: list[str] = []
    for source in (LinkSource.CONFIG, LinkSource.LOCAL):
        for name, table in _project_tables(texts.get(source, ""), source, problems).items():
            entry = _parse_entry(name, table, source, problems)
            if entry is None:
                continue
            committed = found.get(name)
            remote = entry.remote or (committed.remote if committed else "")
            path = entry.path or (committed.path if committed else "")
            found[name] = LinkEntry(name=name, source=source, remote=remote, path=path)
    return list(found.values())[: limits.links_max], problems


def put_entry(text: str, name: str, *, remote: str, path: str) -> str:
    """Return a file's text with the entry added or replaced. All other entries stay unchanged."""
    lines = [f"[projects.{name if _BARE.fullmatch(name) else _quote_toml(name)}]"]
    lines += [f"{key} = {_quote_toml(value)}" for key, value in (("remote", remote), ("path", path)) if value]
    kept = remove_entry(text, name).rstrip("\n")
    return (f"{kept}\n\n" if kept else "") + "\n".join(lines) + "\n"


def remove_entry(text: str, name: str) -> str:
    """Return a file's text without the entry."""
    kept: list[str] = []
    is_in_entry = False
    for line in text.splitlines(keepends=True):
        if _HEADER.fullmatch(line.rstrip("\n")):
            is_in_entry = _is_header_of(line, name)
        if not is_in_entry:
            kept.append(line)
    return "".join(kept)


def check_link_name(name: str) -> str:
    """Return a project's name in lower case; refuse a name that cannot stand before `#12`."""
    if not _NAME.fullmatch(name) or len(name) > limits.name_chars_max:
        raise Invalid(
            f"{name!r} is not a name for a project.",
            hint="Use letters, digits, dot, dash and underscore; begin with a letter or digit.",
        )
    return name.lower()


def _quote_toml(text: str) -> str:
    """Return a text as a TOML string. TOML differs from JSON: no surrogate pairs, and U+007F must be escaped."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _is_header_of(header: str, name: str) -> bool:
    try:
        table = bounded_toml.parse_toml(header).get("projects", {})
    except bounded_toml.TomlUnreadable:
        return False
    return isinstance(table, dict) and name in {str(key).lower() for key in table}


def _project_tables(text: str, source: LinkSource, problems: list[str]) -> dict[str, object]:
    try:
        table = bounded_toml.parse_toml(text).get("projects", {})
    except bounded_toml.TomlUnreadable as error:
        problems.append(f"{source.value} cannot be read: {error}.")
        return {}
    if not isinstance(table, dict):
        problems.append(f"{source.value}: [projects] is not a table.")
        return {}
    return {str(name).lower(): entry for name, entry in table.items()}


def _parse_entry(name: str, table: object, source: LinkSource, problems: list[str]) -> LinkEntry | None:
    values = table if isinstance(table, dict) else {}
    remote, path = values.get("remote", ""), values.get("path", "")
    is_valid = _is_usable(remote) and _is_usable(path) and _NAME.fullmatch(name) is not None
    if not is_valid or not (remote or path) or len(remote) + len(path) > limits.link_chars_max:
        problems.append(f"{source.value}: [projects.{name}] needs a remote or a path.")
        return None
    return LinkEntry(name=name, source=source, remote=remote, path=path)


def _is_usable(value: object) -> bool:
    """Return whether a value is a text that can be a path or an argument of a program."""
    return isinstance(value, str) and "\0" not in value
