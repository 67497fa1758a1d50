"""The server forgets a cached caller when an event changes the caller."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from maestro.domain.callers import Caller
from maestro.domain.events import Event, EventKind
from maestro.server.app import Server

Join = Callable[..., Awaitable[Caller]]
SESSION_EVENTS = [kind for kind in EventKind if kind.startswith("session.")]
UNCHANGED = {EventKind.SESSION_STATUS_CHANGED, EventKind.SESSION_REPORTED}


def react_to(server: Server, kind: EventKind, subject: str) -> None:
    event = Event(
        seq=1, at=server.clock.now(), kind=kind, version=1, subject=subject, project=None, actor="dana", data={}
    )
    server.reactions.react_to_events([event])


def is_cached(server: Server, session_id: str) -> bool:
    return session_id in server.parts.identity.identities._token_hashes


async def test_an_event_of_a_session_forgets_its_cached_caller_unless_the_caller_stays_the_same(
    server: Server, join: Join
) -> None:
    ada, bob = await join("ada"), await join("bob")
    for kind in SESSION_EVENTS:
        for caller in (ada, bob):
            await server.identify(token=server.secrets.session_token(caller.name), peer=None)
        react_to(server, kind, ada.name)
        assert is_cached(server, ada.name) == (kind in UNCHANGED), kind
        assert is_cached(server, bob.name) == (kind is not EventKind.SESSION_ADOPTED), kind


async def test_a_change_of_a_member_forgets_all_cached_callers(server: Server, join: Join) -> None:
    for kind in (EventKind.MEMBER_CREATED, EventKind.MEMBER_CHANGED):
        ada = await join(f"ada-{kind.name.lower()}")
        react_to(server, kind, "mem_1")
        assert not is_cached(server, ada.name)


async def test_mail_does_not_forget_a_cached_caller(server: Server, join: Join) -> None:
    ada = await join("ada")
    react_to(server, EventKind.MAIL_SENT, ada.name)
    assert is_cached(server, ada.name)
