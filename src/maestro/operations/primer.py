"""The primer: a text with everything a session must know to continue."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from maestro.domain.callers import Callers
from maestro.operations.base import GET, CommandSyntax, Effect, Operation, Request


class ReadPrimer(Request, frozen=True, kw_only=True):
    tools: Annotated[bool, Meta(description="Name MCP tools instead of commands.")] = False


class Primer(msgspec.Struct, frozen=True, kw_only=True):
    """The caller's identity, its contacts, its work and the commands for the work, as text."""

    text: str


PRIMER = Operation(
    "session.primer",
    ReadPrimer,
    Primer,
    callers=Callers.KNOWN,
    http=GET("/api/primer"),
    summary="Show your identity, your work and how to work in this project.",
    effect=Effect.READ,
    command=CommandSyntax("primer"),
    examples=("maestro primer", "maestro primer --tools"),
)

ALL = (PRIMER,)
