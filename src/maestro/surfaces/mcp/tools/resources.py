"""The MCP resources, and the events that change each resource.

Reading a resource does not mark mail as read: the client may not show the text to its model.
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

MIME_TYPE = "text/plain"
INBOX = "maestro://inbox"
READY = "maestro://tasks/ready"
SESSIONS = "maestro://sessions"
PRIMER = "maestro://primer"
_TASK = "maestro://tasks/"
_THREAD = "maestro://thread/"


class ListedResource(NamedTuple):
    """A resource, or a template of resources, as a client sees it in a list."""

    uri: str
    name: str
    description: str


FIXED_RESOURCES = (
    ListedResource(INBOX, "inbox", "Your unread mail."),
    ListedResource(READY, "ready", "Tasks that can be started now."),
    ListedResource(SESSIONS, "sessions", "The agents of your project."),
    ListedResource(PRIMER, "primer", "Who you are, what you have to do, and how."),
)
RESOURCE_TEMPLATES = (
    ListedResource(_TASK + "{ref}", "task", "One task with everything around it."),
    ListedResource(_THREAD + "{id}", "thread", "A whole mail thread."),
)
_FIXED_REQUESTS: dict[str, tuple[Operation, msgspec.Struct]] = {
    INBOX: (mail.INBOX, mail_shapes.ReadInbox(peek=True)),
    READY: (tasks.READY, task_shapes.ReadyTasks()),
    SESSIONS: (sessions.LIST, sessions.ListSessions(active=True)),
    PRIMER: (primer.PRIMER, primer.ReadPrimer(tools=True)),
}


class WatchedResource(NamedTuple):
    """A watched resource: its address, and the id of its task or thread."""

    uri: str
    subject: str


async def read_resource(app: App, uri: str, caller: Caller, render_answer: Callable[[Any], str]) -> str:
    """Return a resource as text."""
    return render_answer(await _call_operation(app, uri, caller))


async def find_watched_resource(app: App, uri: str, caller: Caller) -> WatchedResource:
    """Return the topic of a resource; raise NotFound if the caller has no access to the resource."""
    answer = await _call_operation(app, uri, caller)
    return WatchedResource(uri, getattr(answer, "thread_id", "") or getattr(answer, "id", ""))


def find_changed_uris(event: Event, topics: Iterable[WatchedResource], mailboxes: frozenset[str]) -> set[str]:
    """Return the addresses of the watched resources that an event may have changed."""
    return {topic.uri for topic in topics if _may_change(event, topic, mailboxes)}


def _may_change(event: Event, topic: WatchedResource, mailboxes: frozenset[str]) -> bool:
    group = event.kind.partition(".")[0]
    if topic.uri == INBOX:
        return group in ("mail", "thread") and _is_mail_in(event, mailboxes)
    if topic.uri == READY:
        return group == "task"
    if topic.uri == SESSIONS:
        return group == "session"
    if topic.uri == PRIMER:
        return group in ("task", "session") or (group == "mail" and _is_mail_in(event, mailboxes))
    if topic.uri.startswith(_THREAD):
        return topic.subject in (event.subject, event.data.get("thread"))
    return topic.subject == event.subject or (group == "task" and topic.subject in event.data.values())


def _is_mail_in(event: Event, mailboxes: frozenset[str]) -> bool:
    """Return whether an event changes one of the mailboxes. The claim of a thread removes it from other mailboxes."""
    recipients = {event.data.get("mailbox"), *event.data.get("to", ())}
    return bool(mailboxes & recipients) or event.kind.startswith("thread.")


async def _call_operation(app: App, uri: str, caller: Caller) -> Any:
    operation, request = _find_request(uri)
    return await app.call(operation, request, caller=caller)


def _find_request(uri: str) -> tuple[Operation, msgspec.Struct]:
    if uri in _FIXED_REQUESTS:
        return _FIXED_REQUESTS[uri]
    try:
        if uri.startswith(_TASK):
            return tasks.SHOW, msgspec.convert({"id": unquote(uri.removeprefix(_TASK))}, task_shapes.OneTask)
        if uri.startswith(_THREAD):
            return mail.THREAD, msgspec.convert({"id": unquote(uri.removeprefix(_THREAD))}, mail_shapes.OneThread)
    except msgspec.ValidationError:
        pass  # an address with an id that is not valid
    raise errors.NotFound(f"There is no resource {uri[:200]!r}.")
