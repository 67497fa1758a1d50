"""The shape of an operation's declaration. Declarations hold everything but the implementation."""

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
    """How the server carries an operation out."""

    READ = "read"  # reads one snapshot, at most a page
    SCAN = "scan"  # reads one snapshot and may take long
    WRITE = "write"  # runs in one transaction and takes an idempotency key
    ACTION = "action"  # waits, or acts outside the store
    STREAM = "stream"  # gives many answers, one after another


@dataclass(frozen=True)
class HttpRoute:
    """An HTTP verb and path; `{name}` in the path is a field of the request."""

    verb: str
    path: str

    @cached_property
    def path_parameters(self) -> list[str]:
        return [part[1:-1] for part in self.path.split("/") if part.startswith("{")]


def GET(path: str) -> HttpRoute:
    return HttpRoute("GET", path)


def POST(path: str) -> HttpRoute:
    return HttpRoute("POST", path)


def PATCH(path: str) -> HttpRoute:
    return HttpRoute("PATCH", path)


def DELETE(path: str) -> HttpRoute:
    return HttpRoute("DELETE", path)


@dataclass(frozen=True)
class CommandSyntax:
    """The spelling of an operation on the command line. Fields without a position are flags."""

    command_path: str  # "task create"
    positional: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    # Fields that the command surface fills in; no flag offers them.
    hidden: tuple[str, ...] = ()
    # The field that takes all arguments after `--`.
    rest_field: str = ""


@dataclass(frozen=True)
class Operation:
    """The declaration of one operation."""

    name: str
    request: type[msgspec.Struct]
    response: type[Any]
    callers: Callers
    http: HttpRoute
    summary: str
    effect: Effect
    command: CommandSyntax | None = None  # None: only REST has the operation, and MCP if its tool list names it
    examples: tuple[str, ...] = ()
    errors: tuple[type[errors.MaestroError], ...] = field(default=())

    @property
    def group_name(self) -> str:
        return self.name.partition(".")[0]


class Request(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The base of every request: named fields, and no unknown fields."""


class InProject(Request, frozen=True, kw_only=True):
    """A request about a project: the named project, else the session's project, else the directory's project."""

    project: fields.Project = ""


class ListPage(msgspec.Struct, frozen=True, kw_only=True):
    """The base of every page of a list. `cursor` is where the next page begins; null ends the list."""

    cursor: str | None = None
