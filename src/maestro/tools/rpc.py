"""A conversation in JSON-RPC over lines, as two of the tools speak it: requests both ways, answers, notices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from maestro.tools.conversation import Conversation, Opening

Then = Callable[[dict[str, Any]], None]
_NO_SUCH_METHOD = -32601


class RpcConversation(Conversation):
    """Numbers requests and knows what is to be done with each answer."""

    versioned = True  # whether each message says which JSON-RPC it is

    def __init__(self, opening: Opening) -> None:
        super().__init__(opening)
        self._last = 0
        self._then: dict[int, tuple[Then, Then]] = {}

    def _call(self, method: str, params: dict[str, Any], then: Then, *, otherwise: Then) -> None:
        """Ask the program for something; `then` gets its result, `otherwise` its error."""
        self._last += 1
        self._then[self._last] = (then, otherwise)
        self._send({"id": self._last, "method": method, "params": params})

    def _notify(self, method: str, params: dict[str, Any] | None = None) -> None:
        self._send({"method": method} | ({"params": params} if params is not None else {}))

    def _reply(self, number: Any, result: dict[str, Any]) -> None:
        self._send({"id": number, "result": result})

    def _refuse(self, number: Any, method: str) -> None:
        self._send({"id": number, "error": {"code": _NO_SUCH_METHOD, "message": f"{method} is not offered here"}})

    def _take(self, message: dict[str, Any]) -> None:
        method, params = message.get("method"), message.get("params") or {}
        if method is None:
            then, otherwise = self._then.pop(message.get("id") or 0, (_ignored, _ignored))
            if "error" in message:
                otherwise(message["error"] or {})
            else:
                then(message.get("result") or {})
        elif "id" in message:
            self._requested(message["id"], str(method), params)
        else:
            self._noticed(str(method), params)

    def _requested(self, number: Any, method: str, params: dict[str, Any]) -> None:
        """The program asks us."""
        raise NotImplementedError

    def _noticed(self, method: str, params: dict[str, Any]) -> None:
        """The program tells us."""
        raise NotImplementedError

    def _send(self, message: dict[str, Any]) -> None:
        self._write({"jsonrpc": "2.0", **message} if self.versioned else message)


def _ignored(told: dict[str, Any]) -> None:
    pass
