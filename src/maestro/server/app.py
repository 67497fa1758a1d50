"""The server in this process: composes the parts, and offers them to the surfaces as an `App`."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import msgspec

from maestro.core import limits
from maestro.core.clock import Clock
from maestro.domain.callers import Caller, Role
from maestro.events.hub import EVERYTHING, Subscription, mailbox_key
from maestro.operations.app import SocketPeer
from maestro.operations.base import Operation
from maestro.server import effects as effects  # binds the effects across nouns
from maestro.server.base import open_base
from maestro.server.composition import build_parts, collect_bindings
from maestro.server.dispatch import Dispatcher
from maestro.server.reactions import Reactions
from maestro.services.mail.create import own_mailboxes

_SWITCH_SECONDS = 0.0005


class Server:
    """The parts of a server behind the surfaces. Create a server inside a running event loop."""

    def __init__(self, home: Path, *, clock: Clock | None = None) -> None:
        # The event loop and the writer share the interpreter: at the usual interval of 5 ms, each delays the other.
        sys.setswitchinterval(_SWITCH_SECONDS)
        base = open_base(home, clock)
        self.home = base.home
        self.clock = base.clock
        self.settings = base.settings
        self.secrets = base.secrets
        self.store = base.store
        self.blobs = base.blobs
        self.health = base.health
        self.hub = base.hub
        self.background_jobs = base.background_jobs
        self.state = base.state
        self.parts = build_parts(base)
        self.reactions = Reactions(base.hub, base.background_jobs)
        parts = self.parts.in_order()
        self._dispatcher = Dispatcher(base.store, base.blobs, self.parts.quotas.quotas, collect_bindings(parts))
        for part in parts:
            self.reactions.add_jobs(part.jobs)
            self.reactions.add_reactions(part.reactions)
        jobs = [entry for part in parts for entry in part.jobs]
        paces = {entry.job.name: limits.job_pace_seconds for entry in jobs if entry.is_paced}
        self.background_jobs.start_jobs([entry.job for entry in jobs], paces=paces)
        self.store.on_commit(self.reactions.react_to_events)

    async def identify(self, *, token: str, peer: SocketPeer | None, again: bool = False) -> Caller:
        return await self.parts.identity.identities.identify(token=token, peer=peer, again=again)

    async def call(self, operation: Operation, request: msgspec.Struct, *, caller: Caller, key: str = "") -> Any:
        await self.parts.tasks.claim_expiry.extend_claims_after_absence()
        return await self._dispatcher.call(operation, request, caller=caller, key=key)

    def stream(self, operation: Operation, request: msgspec.Struct, *, caller: Caller) -> AsyncIterator[Any]:
        return self._dispatcher.stream(operation, request, caller=caller)

    def subscribe_caller(self, caller: Caller) -> AbstractContextManager[Subscription]:
        """Subscribe a session to its own events, its mailboxes and its project; the person gets all events."""
        if caller.role is Role.PERSON:
            return self.hub.subscribe([EVERYTHING])
        session_and_project = [caller.session_id, caller.project_id]
        return self.hub.subscribe([*filter(None, session_and_project), *map(mailbox_key, self.mailboxes_of(caller))])

    def mailboxes_of(self, caller: Caller) -> frozenset[str]:
        return frozenset(own_mailboxes(caller))

    async def refresh_caller(self, caller: Caller) -> Caller:
        return await self.parts.identity.identities.refresh_caller(caller)

    def sign_text(self, text: str) -> str:
        return self.secrets.sign_text(text)

    async def close(self) -> None:
        """Stop the background jobs, then finish every accepted write."""
        await self.background_jobs.close()
        for part in reversed(self.parts.in_order()):
            for close in part.close:
                await close()
        await self.store.close()
