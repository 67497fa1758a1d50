"""What other projects are called in a checkout, and how that is written down. Pure: a file is only its text."""

from __future__ import annotations

import enum
import json
import re
from collections.abc import Mapping

import msgspec

from maestro.core import limits
from maestro.core.errors import Invalid
from maestro.text import bounded_toml


class Source(enum.StrEnum):
    """Where an answer came from, nearest first."""

    LOCAL = ".maestro/local.toml"  # this checkout only, not committed
    CONFIG = ".maestro/config.toml"  # committed, for everyone
    BESIDE = "a checkout beside this one"
    SERVER = "this server"


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """One `[projects.NAME]` as the files say it."""

    name: str
    source: Source
    remote: str = ""
    path: str = ""


class Link(msgspec.Struct, frozen=True, kw_only=True):
    """A project under the name it has somewhere."""

    name: str
    project_id: str
    project: str
    key: str
    source: Source
    remote: str = ""
    path: str = ""
    of: str = ""  # the checkout that calls it so: dave/vc


_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_BARE = re.compile(r"[A-Za-z0-9_-]+")
_HEADER = re.compile(r"\s*\[[^\]]*\]\s*(#.*)?")


def entries(texts: Mapping[Source, str]) -> tuple[list[Entry], list[str]]:
    """What a checkout's files say, the local one over the committed one, field by field; and what is wrong."""
    found: dict[str, Entry] = {}
    wrong: list[str] = []
    for source in (Source.CONFIG, Source.LOCAL):
        for name, table in _tables(texts.get(source, ""), source, wrong).items():
            said = _said(name, table, source, wrong)
            if said is None:
                continue
            before = found.get(name)
            remote = said.remote or (before.remote if before else "")
            path = said.path or (before.path if before else "")
            found[name] = Entry(name=name, source=source, remote=remote, path=path)
    return list(found.values())[: limits.links_max], wrong


def written(text: str, name: str, *, remote: str, path: str) -> str:
    """A file's text with this entry in it, and everything else as it was."""
    lines = [f"[projects.{name if _BARE.fullmatch(name) else _quoted(name)}]"]
    lines += [f"{key} = {_quoted(value)}" for key, value in (("remote", remote), ("path", path)) if value]
    kept = without(text, name).rstrip("\n")
    return (f"{kept}\n\n" if kept else "") + "\n".join(lines) + "\n"


def without(text: str, name: str) -> str:
    """A file's text without an entry."""
    kept: list[str] = []
    inside = False
    for line in text.splitlines(keepends=True):
        if _HEADER.fullmatch(line.rstrip("\n")):
            inside = _names(line, name)
        if not inside:
            kept.append(line)
    return "".join(kept)


def checked_name(name: str) -> str:
    """A name that can stand before `#12`."""
    if not _NAME.fullmatch(name) or len(name) > limits.name_chars_max:
        raise Invalid(f"{name!r} is not a name for a project.", hint="Letters, digits, dot and dash.")
    return name.lower()


def _quoted(text: str) -> str:
    """As TOML writes a string: like JSON, but that it knows no pairs of surrogates, and minds one character more."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _names(header: str, name: str) -> bool:
    try:
        table = bounded_toml.parse(header).get("projects", {})
    except bounded_toml.Unreadable:
        return False
    return isinstance(table, dict) and name in {str(key).lower() for key in table}


def _tables(text: str, source: Source, wrong: list[str]) -> dict[str, object]:
    try:
        table = bounded_toml.parse(text).get("projects", {})
    except bounded_toml.Unreadable as error:
        wrong.append(f"{source.value} cannot be read: {error}.")
        return {}
    if not isinstance(table, dict):
        wrong.append(f"{source.value}: [projects] is not a table.")
        return {}
    return {str(name).lower(): said for name, said in table.items()}


def _said(name: str, table: object, source: Source, wrong: list[str]) -> Entry | None:
    values = table if isinstance(table, dict) else {}
    remote, path = values.get("remote", ""), values.get("path", "")
    sound = _is_usable(remote) and _is_usable(path) and _NAME.fullmatch(name) is not None
    if not sound or not (remote or path) or len(remote) + len(path) > limits.link_chars_max:
        wrong.append(f"{source.value}: [projects.{name}] needs a remote or a path.")
        return None
    return Entry(name=name, source=source, remote=remote, path=path)


def _is_usable(value: object) -> bool:
    """Return whether a value is text that a path or an argument of a program can hold."""
    return isinstance(value, str) and "\0" not in value
