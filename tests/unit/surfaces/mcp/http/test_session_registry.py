"""The ids of MCP sessions are signed, stay valid after a restart, and become void after the end of a session."""

from __future__ import annotations

import hashlib
import time

import pytest

from maestro.core import limits
from maestro.domain.callers import Caller, Role
from maestro.server.app import Server
from maestro.surfaces.mcp.http import session_registry
from maestro.surfaces.mcp.http.receipts import MailReceipts
from maestro.surfaces.mcp.http.session_registry import ProtocolSession, SessionRegister

WORKER, OTHER = Caller(Role.WORKER, "w"), Caller(Role.WORKER, "x")


def sign(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


@pytest.fixture
def session(server: Server) -> ProtocolSession:
    return ProtocolSession("id", WORKER, MailReceipts(server), None)


def test_an_id_is_valid_only_for_its_caller_in_every_register_with_the_same_signature() -> None:
    session_id = SessionRegister(sign).create_id(WORKER, "codex-mcp-client")
    later = SessionRegister(sign)
    assert later.is_valid_id(session_id, WORKER) and not later.is_valid_id(session_id, OTHER)
    assert later.tool_in_id(session_id) == "codex"
    assert not later.is_valid_id(session_id[:-1] + "!", WORKER)
    assert not later.is_valid_id("nonsense", WORKER)


def test_a_forgotten_id_stays_valid_and_a_void_id_does_not(
    session: ProtocolSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    register = SessionRegister(sign)
    session.client_id = register.create_id(WORKER, "b")
    register.add_session(session)
    register.set_sdk_id(session, "sdk")
    assert register.find_by_sdk_id("sdk") is session and len(register) == 1
    register.forget_session(session)
    assert register.find_session(session.client_id) is register.find_by_sdk_id("sdk") is None
    assert register.is_valid_id(session.client_id, WORKER)
    register.void_session(session)
    assert not register.is_valid_id(session.client_id, WORKER)
    monkeypatch.setattr(session_registry, "_VOIDED_MAX", 0)
    register.void_session(session)
    assert register._voided == {}  # the number of remembered void ids is limited


def test_a_session_that_has_listened_becomes_idle_later(session: ProtocolSession) -> None:
    session.touch()
    now = time.monotonic()
    soon, late = limits.mcp_never_listening_seconds_max, limits.mcp_no_longer_listening_seconds_max
    assert not session.is_idle(now + soon - 1) and session.is_idle(now + soon + 1)
    session.has_listened = True
    assert not session.is_idle(now + late - 1) and session.is_idle(now + late + 1)
    session.open_requests = 1
    assert not session.is_idle(now + late + soon)
