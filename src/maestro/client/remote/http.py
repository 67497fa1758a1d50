"""One server's API, by the standard library."""

from __future__ import annotations

import http.client
import urllib.parse
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import msgspec

from maestro.core import errors
from maestro.operations.base import Operation

_SECONDS_MAX = 60.0


class Api:
    """Sends requests with a token. Blocking: callers run it in threads."""

    def __init__(self, url: str, token: str) -> None:
        self._url = url
        self._token = token

    def call(self, operation: Operation, request: msgspec.Struct, *, key: str, seconds: float | None = None) -> Any:
        """Carry out one operation; its answer, or its error as it was raised over there."""
        verb, path, body = _spelled(operation, request)
        headers = {"Idempotency-Key": key} if key else {}
        with self.open(verb, path, body, headers, seconds=seconds or _SECONDS_MAX) as answer:
            data = answer.read()
            if answer.status != 200:
                raise _rebuilt(data, answer.status)
        return msgspec.json.decode(data, type=operation.response)

    def stream(self, operation: Operation, request: msgspec.Struct) -> Iterator[bytes]:
        """The data of each server-sent event."""
        verb, path, body = _spelled(operation, request)
        with self.open(verb, path, body, {"Accept": "text/event-stream"}, seconds=None) as answer:
            if answer.status != 200:
                raise _rebuilt(answer.read(), answer.status)
            for line in answer:
                if line.startswith(b"data: "):
                    yield line[6:].strip()

    @contextmanager
    def open(
        self, verb: str, path: str, body: bytes | None, headers: dict[str, str], *, seconds: float | None
    ) -> Iterator[http.client.HTTPResponse]:
        connection = self._connection(seconds)
        if self._token:
            headers = {**headers, "Authorization": f"Bearer {self._token}"}
        if body is not None:
            headers = {**headers, "Content-Type": "application/json"}
        try:
            connection.request(verb, path, body, headers)
            yield connection.getresponse()
        except (OSError, http.client.HTTPException) as error:
            raise errors.NoServer(f"No server answers at {self._url}: {error}.") from error
        finally:
            connection.close()

    def _connection(self, seconds: float | None) -> http.client.HTTPConnection:
        parts = urllib.parse.urlsplit(self._url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise errors.NoServer(
                f"MAESTRO_SERVER_URL is not an address: {self._url!r}.", hint="Write http://host:port."
            )
        kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
        return kind(parts.hostname, parts.port, timeout=seconds)


def _spelled(operation: Operation, request: msgspec.Struct) -> tuple[str, str, bytes | None]:
    """A request as HTTP carries it: fields in the path, the rest in the query or the body."""
    fields = {name: value for name, value in msgspec.to_builtins(request).items() if value is not None}
    path = operation.http.path
    for name in operation.http.parameters:
        path = path.replace(f"{{{name}}}", urllib.parse.quote(str(fields.pop(name)), safe=""))
    if operation.http.verb in ("POST", "PATCH"):
        return operation.http.verb, path, msgspec.json.encode(fields)
    pairs = [
        (name, part) for name, value in fields.items() for part in (value if isinstance(value, list) else [value])
    ]
    query = urllib.parse.urlencode(
        [(name, str(part).lower() if isinstance(part, bool) else part) for name, part in pairs]
    )
    return operation.http.verb, f"{path}?{query}" if query else path, None


def _rebuilt(data: bytes, status: int) -> errors.MaestroError:
    try:
        told = msgspec.json.decode(data, type=dict[str, Any])
        kind = errors.every_error().get(told["code"], errors.MaestroError)
        return kind(told["message"], hint=told["hint"], data=told["data"])
    except (msgspec.DecodeError, KeyError):
        return errors.MaestroError(f"The server answered with status {status}.")
