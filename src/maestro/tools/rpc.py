"""A conversation in JSON-RPC, a message per line: requests in both directions, results and notifications."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from maestro.tools.conversation import Conversation, ConversationOpening

ResultHandler = Callable[[dict[str, Any]], None]
_NO_SUCH_METHOD = -32601


class RpcConversation(Conversation):
    """The base class for tools with JSON-RPC. Numbers its requests and calls the handler of each result."""

    versioned = True  # whether each message carries the version of JSON-RPC

    def __init__(self, opening: ConversationOpening) -> None:
        super().__init__(opening)
        self._last_number = 0
        self._handlers: dict[int, tuple[ResultHandler, ResultHandler]] = {}

    def _call_method(
        self, method: str, params: dict[str, Any], then: ResultHandler, *, otherwise: ResultHandler
    ) -> None:
        """Call a method of the program. `then` gets the result, `otherwise` the error."""
        self._last_number += 1
        self._handlers[self._last_number] = (then, otherwise)
        self._send_message({"id": self._last_number, "method": method, "params": params})

    def _send_notification(self, method: str, params: dict[str, Any] | None = None) -> None:
        self._send_message({"method": method} | ({"params": params} if params is not None else {}))

    def _send_result(self, number: Any, result: dict[str, Any]) -> None:
        self._send_message({"id": number, "result": result})

    def _refuse_request(self, number: Any, method: str) -> None:
        self._send_message(
            {"id": number, "error": {"code": _NO_SUCH_METHOD, "message": f"the client does not offer {method}"}}
        )

    def _handle_message(self, message: dict[str, Any]) -> None:
        method, params = message.get("method"), message.get("params") or {}
        if method is None:
            then, otherwise = self._handlers.pop(message.get("id") or 0, (_ignore_answer, _ignore_answer))
            if "error" in message:
                otherwise(message["error"] or {})
            else:
                then(message.get("result") or {})
        elif "id" in message:
            self._handle_request(message["id"], str(method), params)
        else:
            self._handle_notification(str(method), params)

    def _handle_request(self, number: Any, method: str, params: dict[str, Any]) -> None:
        """Handle a request of the program."""
        raise NotImplementedError

    def _handle_notification(self, method: str, params: dict[str, Any]) -> None:
        """Handle a notification of the program."""
        raise NotImplementedError

    def _send_message(self, message: dict[str, Any]) -> None:
        self._write_message({"jsonrpc": "2.0", **message} if self.versioned else message)


def _ignore_answer(answer: dict[str, Any]) -> None:
    pass
