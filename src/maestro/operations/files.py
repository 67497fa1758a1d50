"""Files on the caller's machine. The server decides whether a session's command may open a file."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from maestro.core.errors import NotPermitted
from maestro.domain.callers import Callers
from maestro.domain.client_files import FileAccess
from maestro.operations import fields
from maestro.operations.base import POST, Effect, Operation, Request


class CheckFile(Request, frozen=True, kw_only=True):
    path: Annotated[
        fields.Path, Meta(description="The file's absolute path on the caller's machine, links resolved.")
    ]
    access: Annotated[FileAccess, Meta(description="How the command opens the file.")] = FileAccess.READ


class CheckedFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file that the caller's command may open."""

    path: str
    access: FileAccess


CHECK = Operation(
    "file.check",
    CheckFile,
    CheckedFile,
    callers=Callers.KNOWN,
    http=POST("/api/files/check"),
    summary="Tell whether a session's command may open a file; the server does not open the file.",
    effect=Effect.READ,
    errors=(NotPermitted,),
)

ALL = (CHECK,)
