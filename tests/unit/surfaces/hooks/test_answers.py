"""A hook is answered by the handler, recorded as fired or failed, and refused if its payload is invalid."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from maestro.core import errors
from maestro.domain.callers import Caller
from maestro.server.app import Server
from maestro.surfaces.hooks.answers import NO_ANSWER, HookAnswer, HookAnswers, may_wait_for_person
from maestro.tools.hook_dialect import HookEvent


class Records:
    """A record of the fired and the failed hooks."""

    def __init__(self) -> None:
        self.fired: list[tuple[str, str]] = []
        self.failed: list[tuple[str, str, str]] = []

    def record_firing(self, tool: str, event: str) -> None:
        self.fired.append((tool, event))

    def record_failure(self, tool: str, event: str, problem: str) -> None:
        self.failed.append((tool, event, problem))


class Hooks:
    """The hook surface for the hooks of one worker."""

    def __init__(self, server: Server, worker: Caller) -> None:
        self.records = Records()
        self.answers = HookAnswers(server.parts.hooks.handler, self.records)
        self._worker = worker

    async def fire(self, tool: str, event: str, payload: Any) -> HookAnswer:
        async def identify(event: HookEvent) -> Caller:
            return self._worker

        async def announce_hold() -> None: ...

        raw = payload if isinstance(payload, bytes) else json.dumps(payload).encode()
        return await self.answers.answer_hook(tool, event, raw, identify, before_hold=announce_hold)


@pytest.fixture
async def hooks(server: Server, join: Callable[..., Any]) -> Hooks:
    return Hooks(server, await join("w"))


async def test_the_start_of_a_session_is_answered_with_context(hooks: Hooks) -> None:
    answer = await hooks.fire("claude", "SessionStart", {"source": "startup"})
    assert "You are w" in answer.body.decode()
    assert hooks.records.fired == [("claude", "SessionStart")]


async def test_a_test_payload_is_answered_without_a_caller_and_not_recorded(hooks: Hooks) -> None:
    answer = await hooks.fire("claude", "Stop", {"maestro_test": "42"})
    assert json.loads(answer.body) == {"maestro": "ok", "tool": "claude", "event": "Stop", "test": "42"}
    assert answer.caller is None and hooks.records.fired == []


async def test_an_unknown_event_has_no_answer(hooks: Hooks) -> None:
    assert await hooks.fire("claude", "NoSuchEvent", {}) is NO_ANSWER
    assert hooks.records.fired == []


async def test_an_unknown_tool_and_an_unreadable_payload_are_refused(hooks: Hooks) -> None:
    with pytest.raises(errors.NotFound, match="has no hooks"):
        await hooks.fire("parrot", "Stop", {})
    with pytest.raises(errors.Invalid, match="cannot be read"):
        await hooks.fire("claude", "Stop", b"{")


def test_only_failures_of_known_hooks_are_recorded(server: Server) -> None:
    records = Records()
    answers = HookAnswers(server.parts.hooks.handler, records)
    answers.record_failure("claude", "Stop", "why")
    answers.record_failure("claude", "NoSuchEvent", "why")
    answers.record_failure("parrot", "Stop", "why")
    assert records.failed == [("claude", "Stop", "why")]


def test_only_a_permission_request_waits_for_a_person() -> None:
    assert may_wait_for_person("claude", "PermissionRequest")
    assert not may_wait_for_person("claude", "Stop")
    assert not may_wait_for_person("parrot", "Stop")
