"""`maestro mcp` repeats its open requests to the next server, and passes each answer to the agent once."""

from __future__ import annotations

import json
from typing import Any

from maestro.client.mcp_relay import RelayState


def line(**message: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0"} | message).encode() + b"\n"


HELLO = line(id=0, method="initialize", params={})
READY = line(method="notifications/initialized")
WATCH = line(id=1, method="resources/subscribe", params={"uri": "maestro://inbox"})
WAIT = line(id="w", method="tools/call", params={"name": "wait"})
SEND = line(id=2, method="tools/call", params={"name": "send"})


def talked() -> RelayState:
    memory = RelayState()
    for said in (HELLO, READY, WATCH, WAIT, SEND):
        memory.record_sent(said)
    for answered in (0, 1):
        assert memory.record_received(line(id=answered, result={}))
    return memory


def test_a_new_server_gets_all_open_requests_and_the_agent_gets_no_answer_twice() -> None:
    memory = talked()
    resent, lines = memory.lines_to_repeat()
    assert resent == ['"w"', "2"]
    assert lines == [HELLO, READY, WATCH, WAIT, SEND]
    assert not memory.record_received(line(id=0, result={})) and not memory.record_received(line(id=1, result={}))
    assert memory.record_received(line(method="notifications/progress"))
    assert memory.record_received(line(id=2, result={})) and memory.record_received(line(id="w", result={}))
    assert memory.lines_to_repeat() == ([], [HELLO, READY, WATCH])


def test_the_next_server_answers_an_initialize_request_without_an_answer() -> None:
    memory = RelayState()
    memory.record_sent(HELLO)
    assert memory.lines_to_repeat() == ([], [HELLO])
    assert memory.record_received(line(id=0, result={}))


def test_cancelled_requests_and_ended_subscriptions_are_not_repeated() -> None:
    memory = talked()
    memory.record_sent(line(method="notifications/cancelled", params={"requestId": "w"}))
    memory.record_sent(line(id=3, method="resources/unsubscribe", params={"uri": "maestro://inbox"}))
    memory.record_received(line(id=3, result={}))
    assert memory.lines_to_repeat() == (["2"], [HELLO, READY, SEND])


def test_without_a_server_each_open_request_is_answered_once_with_an_error() -> None:
    memory = talked()
    answers = [json.loads(one) for one in memory.fail_open_requests()]
    assert [one["id"] for one in answers] == ["w", 2]
    assert all("maestro up" in one["error"]["message"] for one in answers)
    assert memory.fail_open_requests() == []


def test_a_request_id_that_is_a_number_differs_from_the_same_id_as_text() -> None:
    memory = RelayState()
    memory.record_sent(line(id=1, method="ping"))
    memory.record_sent(line(id="1", method="ping"))
    memory.record_received(line(id="1", result={}))
    assert memory.lines_to_repeat()[0] == ["1"]
    memory.record_sent(b"no JSON at all\n")
    memory.record_sent(b"[1, 2]\n")
    assert memory.record_received(b"nor this")
