"""What can be read and watched by address, and which events change which address.

Reading a resource marks nothing: no one knows what a client does with it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple
from urllib.parse import unquote

import msgspec

from maestro.core import errors
from maestro.domain.callers import Caller
from maestro.domain.events import Event
from maestro.operations import mail, mail_shapes, primer, sessions, task_shapes, tasks
from maestro.operations.app import App
from maestro.operations.base import Operation

MIME = "text/plain"
INBOX = "maestro://inbox"
READY = "maestro://tasks/ready"
SESSIONS = "maestro://sessions"
PRIMER = "maestro://primer"
_TASK = "maestro://tasks/"
_THREAD = "maestro://thread/"


class Listed(NamedTuple):
    """A resource, or a kind of them, as a client sees it in a list."""

    uri: str
    name: str
    description: str


FIXED = (
    Listed(INBOX, "inbox", "Your unread mail."),
    Listed(READY, "ready", "Tasks that can be started now."),
    Listed(SESSIONS, "sessions", "The agents of your project."),
    Listed(PRIMER, "primer", "Who you are, what you have to do, and how."),
)
TEMPLATES = (
    Listed(_TASK + "{ref}", "task", "One task with everything around it."),
    Listed(_THREAD + "{id}", "thread", "A whole conversation."),
)
_REQUESTS: dict[str, tuple[Operation, msgspec.Struct]] = {
    INBOX: (mail.INBOX, mail_shapes.ReadInbox(peek=True)),
    READY: (tasks.READY, task_shapes.ReadyTasks()),
    SESSIONS: (sessions.LIST, sessions.ListSessions(active=True)),
    PRIMER: (primer.PRIMER, primer.ReadPrimer(tools=True)),
}


class Topic(NamedTuple):
    """A resource that is watched: its address, and the id of what stands behind it."""

    uri: str
    subject: str


async def read(app: App, uri: str, caller: Caller, words: Callable[[Any], str]) -> str:
    """A resource as text."""
    return words(await _answer(app, uri, caller))


async def topic(app: App, uri: str, caller: Caller) -> Topic:
    """What to watch for a resource; NotFound if the caller has no such thing."""
    answer = await _answer(app, uri, caller)
    return Topic(uri, getattr(answer, "thread_id", "") or getattr(answer, "id", ""))


def changed(event: Event, topics: Iterable[Topic], boxes: frozenset[str]) -> set[str]:
    """The watched resources that an event may have changed."""
    return {topic.uri for topic in topics if _concerns(event, topic, boxes)}


def _concerns(event: Event, topic: Topic, boxes: frozenset[str]) -> bool:
    group = event.kind.partition(".")[0]
    if topic.uri == INBOX:
        return group in ("mail", "thread") and _is_in(event, boxes)
    if topic.uri == READY:
        return group == "task"
    if topic.uri == SESSIONS:
        return group == "session"
    if topic.uri == PRIMER:
        return group in ("task", "session") or (group == "mail" and _is_in(event, boxes))
    if topic.uri.startswith(_THREAD):
        return topic.subject in (event.subject, event.data.get("thread"))
    return topic.subject == event.subject or (group == "task" and topic.subject in event.data.values())


def _is_in(event: Event, boxes: frozenset[str]) -> bool:
    """Whether it is about mail in one of these boxes; who claims a conversation takes it out of others'."""
    told = {event.data.get("box"), *event.data.get("to", ())}
    return bool(boxes & told) or event.kind.startswith("thread.")


async def _answer(app: App, uri: str, caller: Caller) -> Any:
    operation, request = _request(uri)
    return await app.call(operation, request, caller=caller)


def _request(uri: str) -> tuple[Operation, msgspec.Struct]:
    if uri in _REQUESTS:
        return _REQUESTS[uri]
    try:
        if uri.startswith(_TASK):
            return tasks.SHOW, msgspec.convert({"id": unquote(uri.removeprefix(_TASK))}, task_shapes.OneTask)
        if uri.startswith(_THREAD):
            return mail.THREAD, msgspec.convert({"id": unquote(uri.removeprefix(_THREAD))}, mail_shapes.OneThread)
    except msgspec.ValidationError:
        pass  # an address that names nothing
    raise errors.NotFound(f"There is no resource {uri[:200]!r}.")
