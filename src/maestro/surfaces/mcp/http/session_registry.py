"""The register of MCP sessions over HTTP, and their ids.

Maestro makes the ids that clients see, and signs each id for one caller. The ids stay valid after a restart of the
server. The SDK learns of a session when the session first needs the SDK.
"""

from __future__ import annotations

import asyncio
import hmac
import secrets
import time
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from maestro.core import limits
from maestro.domain.callers import Caller
from maestro.surfaces.mcp.http.receipts import MailReceipts
from maestro.surfaces.mcp.tools.resource_updates import ResourceUpdates
from maestro.surfaces.mcp.tools.tool_list_watch import WatchedToolList
from maestro.surfaces.mcp.tools.wait_limits import tool_of

_VOIDED_MAX = 10_000
_NONCE_BYTES = 9


@dataclass(eq=False)
class ProtocolSession:
    """An MCP session of a client."""

    client_id: str  # the id that the client uses
    caller: Caller
    receipts: MailReceipts
    initialize_params: Any  # the parameters of the client's `initialize`
    version: bytes = b""
    is_ready: bool = False  # the client has sent `notifications/initialized`
    sdk_id: str = ""  # the SDK's id; empty before the SDK knows the session
    introduction_lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    has_listened: bool = False
    open_requests: int = 0  # open streams, and requests that the SDK has not answered
    last_seen_at: float = 0.0
    # The ids of requests that are being answered without the SDK.
    fast_request_ids: set[int | str] = field(default_factory=set)
    # Notifies the client of changed tools, once the SDK knows the session.
    notify_tools_changed: Callable[[], Awaitable[None]] | None = None
    open_streams: int = 0  # open streams for notifications
    updates: ResourceUpdates | None = None
    tool_list: WatchedToolList | None = None

    def touch(self) -> None:
        self.last_seen_at = time.monotonic()

    def is_idle(self, now: float) -> bool:
        idle_seconds_max = (
            limits.mcp_no_longer_listening_seconds_max
            if self.has_listened
            else limits.mcp_never_listening_seconds_max
        )
        return not self.open_requests and now - self.last_seen_at > idle_seconds_max


class SessionRegister:
    """The MCP sessions, by the client's id and by the SDK's id."""

    def __init__(self, sign: Callable[[str], str]) -> None:
        self._sign = sign
        self._by_client_id: dict[str, ProtocolSession] = {}
        self._by_sdk_id: dict[str, ProtocolSession] = {}
        self._voided: dict[str, None] = {}

    def __len__(self) -> int:
        return len(self._by_client_id)

    def __iter__(self) -> Iterator[ProtocolSession]:
        return iter(list(self._by_client_id.values()))

    def find_session(self, client_id: str) -> ProtocolSession | None:
        return self._by_client_id.get(client_id)

    def find_by_sdk_id(self, sdk_id: str) -> ProtocolSession | None:
        return self._by_sdk_id.get(sdk_id)

    def add_session(self, session: ProtocolSession) -> ProtocolSession:
        session.touch()
        self._by_client_id[session.client_id] = session
        if session.sdk_id:
            self._by_sdk_id[session.sdk_id] = session
        return session

    def set_sdk_id(self, session: ProtocolSession, sdk_id: str) -> None:
        """Record the SDK's id of a session."""
        session.sdk_id = sdk_id
        self._by_sdk_id[sdk_id] = session

    def forget_session(self, session: ProtocolSession) -> None:
        """Forget a session. Its id stays valid."""
        self._by_client_id.pop(session.client_id, None)
        self._by_sdk_id.pop(session.sdk_id, None)
        if session.updates is not None:
            session.updates.close()

    def void_session(self, session: ProtocolSession) -> None:
        """Forget a session and void its id."""
        self.forget_session(session)
        self._voided[session.client_id] = None
        if len(self._voided) > _VOIDED_MAX:
            del self._voided[next(iter(self._voided))]

    def create_id(self, caller: Caller, client: str) -> str:
        """Return a new session id. The id also names the client's tool."""
        nonce = f"{tool_of(client) or 'other'}-{secrets.token_urlsafe(_NONCE_BYTES)}"
        return f"{nonce}.{self._sign_nonce(nonce, caller)}"

    def tool_in_id(self, client_id: str) -> str:
        return client_id.partition("-")[0]

    def is_valid_id(self, client_id: str, caller: Caller) -> bool:
        """Return whether an id was made for this caller and is not void."""
        nonce, _, signature = client_id.rpartition(".")
        is_signed = bool(nonce) and hmac.compare_digest(signature.encode(), self._sign_nonce(nonce, caller).encode())
        return is_signed and client_id not in self._voided

    def _sign_nonce(self, nonce: str, caller: Caller) -> str:
        return self._sign(f"mcp {nonce} {caller.name}")
