"""The shape of a declaration. It says everything about an operation but how it is done."""

from __future__ import annotations

import enum
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import msgspec

from maestro.core import errors
from maestro.domain.callers import Callers
from maestro.operations import fields


class Effect(enum.Enum):
    """How an operation is carried out."""

    READ = "read"  # one snapshot, a page or less
    SCAN = "scan"  # one snapshot, but it may take long
    WRITE = "write"  # one transaction, takes an idempotency key
    ACTION = "action"  # waits, or acts outside the store
    STREAM = "stream"  # many answers, one after another


@dataclass(frozen=True)
class Route:
    """An HTTP verb and path; `{name}` in the path is a field of the request."""

    verb: str
    path: str

    @cached_property
    def parameters(self) -> list[str]:
        return [part[1:-1] for part in self.path.split("/") if part.startswith("{")]


def GET(path: str) -> Route:
    return Route("GET", path)


def POST(path: str) -> Route:
    return Route("POST", path)


def PATCH(path: str) -> Route:
    return Route("PATCH", path)


def DELETE(path: str) -> Route:
    return Route("DELETE", path)


@dataclass(frozen=True)
class Command:
    """How the command line spells an operation. Fields not given by position are flags."""

    words: str  # "task create"
    positional: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    # Fields the surface fills in itself and that no flag offers.
    hidden: tuple[str, ...] = ()
    # The field that takes all words after `--`.
    rest: str = ""


@dataclass(frozen=True)
class Operation:
    """One thing Maestro can do."""

    name: str
    request: type[msgspec.Struct]
    response: type[Any]
    callers: Callers
    http: Route
    summary: str
    effect: Effect
    command: Command | None = None
    examples: tuple[str, ...] = ()
    errors: tuple[type[errors.MaestroError], ...] = field(default=())

    @property
    def group(self) -> str:
        return self.name.partition(".")[0]


class Request(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What every request is: named fields, nothing unknown."""


class InProject(Request, frozen=True, kw_only=True):
    """A request about one project: the one named, else the session's, else the directory's."""

    project: fields.Project = ""


class Cursor(msgspec.Struct, frozen=True, kw_only=True):
    """A list's end: where the next page begins, or nothing more."""

    cursor: str | None = None
