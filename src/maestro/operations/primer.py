"""The primer: what a session must know to go on, as text."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from maestro.domain.callers import Callers
from maestro.operations.base import GET, Command, Effect, Operation, Request


class ReadPrimer(Request, frozen=True, kw_only=True):
    tools: Annotated[bool, Meta(description="Name MCP tools instead of commands.")] = False


class Primer(msgspec.Struct, frozen=True, kw_only=True):
    """Who the caller is, who is around it, what it has to do, and how."""

    text: str


PRIMER = Operation(
    "session.primer",
    ReadPrimer,
    Primer,
    callers=Callers.KNOWN,
    http=GET("/api/primer"),
    summary="Say who you are, what you have to do, and how to work here.",
    effect=Effect.READ,
    command=Command("primer"),
    examples=("maestro primer", "maestro primer --tools"),
)

ALL = (PRIMER,)
