"""A conversation in JSON-RPC numbers its requests and matches answers, requests and notifications."""

from __future__ import annotations

from typing import Any

from conversation_recordings import feed, opening, sent_messages

from maestro.tools.rpc import RpcConversation


class RecordingConversation(RpcConversation):
    """A conversation that records all messages of the program."""

    def __init__(self, *, versioned: bool = True) -> None:
        super().__init__(opening())
        self.versioned = versioned
        self.received: list[tuple[Any, ...]] = []

    def call(self, method: str) -> None:
        """Call a method of the program, and record the result or the error."""
        self._call_method(
            method,
            {"x": 1},
            lambda result: self.received.append((method, "result", result)),
            otherwise=lambda error: self.received.append((method, "error", error)),
        )

    def _handle_request(self, number: Any, method: str, params: dict[str, Any]) -> None:
        self.received.append(("request", number, method, params))
        if method == "known":
            self._send_result(number, {"ok": True})
        else:
            self._refuse_request(number, method)

    def _handle_notification(self, method: str, params: dict[str, Any]) -> None:
        self.received.append(("notification", method, params))
        self._send_notification("noted", None if method == "bare" else {})


def test_requests_are_numbered_and_carry_the_version() -> None:
    conversation = RecordingConversation()
    conversation.call("first")
    conversation.call("second")
    assert sent_messages(conversation) == [
        {"jsonrpc": "2.0", "id": 1, "method": "first", "params": {"x": 1}},
        {"jsonrpc": "2.0", "id": 2, "method": "second", "params": {"x": 1}},
    ]


def test_requests_to_a_program_without_versions_carry_no_version() -> None:
    conversation = RecordingConversation(versioned=False)
    conversation.call("first")
    assert "jsonrpc" not in sent_messages(conversation)[0]


def test_the_handler_of_a_request_gets_its_result_or_error() -> None:
    conversation = RecordingConversation()
    conversation.call("first")
    conversation.call("second")
    feed(conversation, {"id": 2, "error": {"message": "no"}}, {"id": 1, "result": {"a": 1}})
    assert conversation.received == [("second", "error", {"message": "no"}), ("first", "result", {"a": 1})]


def test_an_empty_result_or_error_is_read_as_an_empty_object() -> None:
    conversation = RecordingConversation()
    conversation.call("first")
    conversation.call("second")
    feed(conversation, {"id": 1, "result": None}, {"id": 2, "error": None})
    assert conversation.received == [("first", "result", {}), ("second", "error", {})]


def test_a_second_or_unknown_answer_is_ignored() -> None:
    conversation = RecordingConversation()
    conversation.call("first")
    events = feed(
        conversation, {"id": 1, "result": {}}, {"id": 1, "result": {}}, {"id": 9, "result": {}}, {"id": None}
    )
    assert len(conversation.received) == 1 and events == []


def test_a_request_of_the_program_is_answered_or_refused_under_its_number() -> None:
    conversation = RecordingConversation()
    feed(conversation, {"id": 0, "method": "known", "params": {"a": 1}}, {"id": "x", "method": "odd"})
    assert conversation.received == [("request", 0, "known", {"a": 1}), ("request", "x", "odd", {})]
    result, refusal = sent_messages(conversation)
    assert (result["id"], result["result"]) == (0, {"ok": True})
    assert (refusal["id"], refusal["error"]["code"]) == ("x", -32601)
    assert "odd" in refusal["error"]["message"]


def test_a_notification_has_no_number_and_may_have_no_parameters() -> None:
    conversation = RecordingConversation()
    feed(conversation, {"method": "news", "params": {"a": 1}}, {"method": "bare"})
    assert conversation.received == [("notification", "news", {"a": 1}), ("notification", "bare", {})]
    assert sent_messages(conversation) == [
        {"jsonrpc": "2.0", "method": "noted", "params": {}},
        {"jsonrpc": "2.0", "method": "noted"},
    ]
