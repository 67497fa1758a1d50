"""Asks: questions and permission requests from agents to the person."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from maestro.core import limits
from maestro.core.errors import Conflict, NotFound, NotPermitted, TimedOut
from maestro.domain.asks import Ask, AskKind
from maestro.domain.callers import Callers
from maestro.operations import fields
from maestro.operations.base import GET, POST, CommandSyntax, Effect, InProject, ListPage, Operation, Request

_AskRef = Annotated[
    str,
    Meta(min_length=1, max_length=100, pattern=fields.TEXT, description="An ask's id.", extra={"label": "ASK"}),
]


class CreateAsk(Request, frozen=True, kw_only=True):
    title: Annotated[
        str,
        Meta(
            min_length=1,
            max_length=limits.subject_chars_max,
            pattern=fields.LINE,
            description="The question, on one line.",
            extra={"label": "QUESTION"},
        ),
    ]
    message: fields.Description = ""
    kind: Annotated[AskKind, Meta(description="What the ask is for.")] = AskKind.QUESTION
    choice: Annotated[
        list[Annotated[str, Meta(min_length=1, max_length=limits.title_chars_max, pattern=fields.LINE)]],
        Meta(
            max_length=limits.choices_max,
            description="An answer to choose from. May be repeated.",
            extra={"repeat": True, "label": "TEXT"},
        ),
    ] = []
    task: (
        Annotated[fields.TaskRef, Meta(description="The task that the ask is about.", extra={"label": "ID"})] | None
    ) = None
    wait: Annotated[bool, Meta(description="Block until the ask is answered.")] = False
    timeout: fields.Timeout = limits.wait_seconds_max * 1000


class OneAsk(Request, frozen=True, kw_only=True):
    id: _AskRef


class AnswerAsk(OneAsk, frozen=True, kw_only=True):
    answer: Annotated[
        str,
        Meta(
            min_length=1,
            max_length=limits.message_chars_max,
            pattern=fields.TEXT,
            description="A choice (or its number), or an answer of your own.",
            extra={"text": True, "label": "ANSWER"},
        ),
    ]


class WaitAsk(OneAsk, frozen=True, kw_only=True):
    timeout: fields.Timeout = limits.wait_seconds_default * 1000


class ListAsks(InProject, frozen=True, kw_only=True):
    all: Annotated[bool, Meta(description="Answered asks too, of this project.")] = False
    limit: fields.Limit = limits.page_items_default
    cursor: fields.PageCursor = ""


class AskList(ListPage, frozen=True, kw_only=True):
    asks: list[Ask]


LIST = Operation(
    "ask.list",
    ListAsks,
    AskList,
    callers=Callers.KNOWN,
    http=GET("/api/asks"),
    summary="List the open asks of agents, in all projects.",
    effect=Effect.READ,
    command=CommandSyntax("ask list"),
    examples=("maestro ask list",),
    errors=(NotFound, NotPermitted),
)
SHOW = Operation(
    "ask.show",
    OneAsk,
    Ask,
    callers=Callers.KNOWN,
    http=GET("/api/asks/{id}"),
    summary="Show an ask.",
    effect=Effect.READ,
    command=CommandSyntax("ask show", ("id",)),
    examples=("maestro ask show ask_01…",),
    errors=(NotFound,),
)
ANSWER = Operation(
    "ask.answer",
    AnswerAsk,
    Ask,
    callers=Callers.PERSON,
    http=POST("/api/asks/{id}/answer"),
    summary="Answer an ask; the agent gets the answer as mail.",
    effect=Effect.WRITE,
    command=CommandSyntax("ask answer", ("id", "answer")),
    examples=("maestro ask answer ask_01… allow", 'maestro ask answer ask_01… "Use port 8081."'),
    errors=(NotFound, Conflict),
)
CREATE = Operation(
    "ask.create",
    CreateAsk,
    Ask,
    callers=Callers.SESSIONS,
    http=POST("/api/asks"),
    summary="Ask the person; your status is needs_input until the ask is answered.",
    effect=Effect.WRITE,
    command=CommandSyntax("ask create", ("title",)),
    examples=('maestro ask create "Drop the old table?" --choice yes --choice no --wait',),
    errors=(NotFound, TimedOut),
)
WAIT = Operation(
    "ask.wait",
    WaitAsk,
    Ask,
    callers=Callers.KNOWN,
    http=POST("/api/asks/{id}/wait"),
    summary="Block until an ask is answered or withdrawn.",
    effect=Effect.ACTION,
    command=CommandSyntax("ask wait", ("id",)),
    examples=("maestro ask wait ask_01… --timeout 10m",),
    errors=(NotFound, TimedOut),
)
WITHDRAW = Operation(
    "ask.withdraw",
    OneAsk,
    Ask,
    callers=Callers.KNOWN,
    http=POST("/api/asks/{id}/withdraw"),
    summary="Withdraw an ask without an answer.",
    effect=Effect.WRITE,
    command=CommandSyntax("ask withdraw", ("id",)),
    examples=("maestro ask withdraw ask_01…",),
    errors=(NotFound, NotPermitted, Conflict),
)

ALL = (LIST, SHOW, ANSWER, CREATE, WAIT, WITHDRAW)
