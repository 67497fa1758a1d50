"""Documents of tasks, and the kept output of gates."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from maestro.core import limits
from maestro.core.errors import Ambiguous, ClaimLost, Conflict, NotFound, NotPermitted, TooLarge
from maestro.domain.callers import Callers
from maestro.domain.documents import Document
from maestro.operations import fields
from maestro.operations.base import GET, POST, CommandSyntax, Effect, InProject, ListPage, Operation
from maestro.operations.task_shapes import OneTask


class AddDocument(OneTask, frozen=True, kw_only=True):
    title: fields.Title
    content: Annotated[
        bytes,
        Meta(
            max_length=limits.document_bytes_max,
            description="The file with the content; base 64 in JSON.",
            extra={"file": "file_name", "flag": "file", "label": "FILE"},
        ),
    ]
    file_name: Annotated[
        str,
        Meta(
            max_length=255,
            pattern=fields.FILE_NAME,
            description="Another name for the file.",
            extra={"label": "NAME"},
        ),
    ] = ""


class DocumentList(ListPage, frozen=True, kw_only=True):
    documents: list[Document]


class OneDocument(InProject, frozen=True, kw_only=True):
    id: Annotated[str, Meta(min_length=1, max_length=100, description="A document's id.", extra={"label": "DOC"})]


class DocumentContent(Document, frozen=True, kw_only=True):
    content: bytes


class OneGate(InProject, frozen=True, kw_only=True):
    id: Annotated[
        str,
        Meta(
            min_length=1,
            max_length=100,
            description="The id of a gate's result, or a task for the last result.",
            extra={"label": "GATE"},
        ),
    ]


class GateOutput(msgspec.Struct, frozen=True, kw_only=True):
    """The whole output of a gate command."""

    id: str
    task_id: str
    content: bytes


_ABOUT = (NotFound, Ambiguous, NotPermitted)

ADD = Operation(
    "task.docs.add",
    AddDocument,
    Document,
    callers=Callers.MOVERS,
    http=POST("/api/tasks/{id}/documents"),
    summary="Attach a document to a task.",
    effect=Effect.WRITE,
    command=CommandSyntax("task docs add", ("id", "title")),
    examples=('maestro task docs add "#4" "Test report" --file report.md',),
    errors=(*_ABOUT, ClaimLost, TooLarge, Conflict),
)
LIST = Operation(
    "task.docs.list",
    OneTask,
    DocumentList,
    callers=Callers.KNOWN,
    http=GET("/api/tasks/{id}/documents"),
    summary="List a task's documents.",
    effect=Effect.READ,
    command=CommandSyntax("task docs list", ("id",)),
    examples=('maestro task docs list "#4"',),
    errors=_ABOUT,
)
SHOW = Operation(
    "task.docs.show",
    OneDocument,
    DocumentContent,
    callers=Callers.KNOWN,
    http=GET("/api/documents/{id}"),
    summary="Print a document.",
    effect=Effect.SCAN,
    command=CommandSyntax("task docs show", ("id",)),
    examples=("maestro task docs show doc_01…",),
    errors=_ABOUT,
)

GATE = Operation(
    "task.gate",
    OneGate,
    GateOutput,
    callers=Callers.KNOWN,
    http=GET("/api/gates/{id}"),
    summary="Print the output of a gate command.",
    effect=Effect.SCAN,
    command=CommandSyntax("task gate", ("id",)),
    examples=("maestro task gate gat_01…",),
    errors=_ABOUT,
)

ALL = (ADD, LIST, SHOW, GATE)
