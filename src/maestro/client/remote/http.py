"""A client of one server's HTTP API, with the standard library only."""

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


class HttpApi:
    """A client that sends requests with a token. The methods block: callers run them in threads."""

    def __init__(self, url: str, token: str) -> None:
        self._url = url
        self._token = token

    def call_operation(
        self, operation: Operation, request: msgspec.Struct, *, key: str, seconds: float | None = None
    ) -> Any:
        """Carry out one operation; return its answer, or raise the error that the server raised."""
        verb, path, body = _encode_request(operation, request)
        headers = {"Idempotency-Key": key} if key else {}
        with self.open_request(verb, path, body, headers, seconds=seconds or _SECONDS_MAX) as answer:
            data = answer.read()
            if answer.status != 200:
                raise _rebuild_error(data, answer.status)
        return msgspec.json.decode(data, type=operation.response)

    def stream_events(self, operation: Operation, request: msgspec.Struct) -> Iterator[bytes]:
        """Yield the data of each server-sent event."""
        verb, path, body = _encode_request(operation, request)
        with self.open_request(verb, path, body, {"Accept": "text/event-stream"}, seconds=None) as answer:
            if answer.status != 200:
                raise _rebuild_error(answer.read(), answer.status)
            for line in answer:
                if line.startswith(b"data: "):
                    yield line[6:].strip()

    @contextmanager
    def open_request(
        self, verb: str, path: str, body: bytes | None, headers: dict[str, str], *, seconds: float | None
    ) -> Iterator[http.client.HTTPResponse]:
        connection = self._new_connection(seconds)
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

    def _new_connection(self, seconds: float | None) -> http.client.HTTPConnection:
        parts = urllib.parse.urlsplit(self._url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise errors.NoServer(
                f"MAESTRO_SERVER_URL is not a server's address: {self._url!r}.", hint="Use http://host:port."
            )
        kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
        return kind(parts.hostname, parts.port, timeout=seconds)


def _encode_request(operation: Operation, request: msgspec.Struct) -> tuple[str, str, bytes | None]:
    """Return the verb, path and body of a request: some fields in the path, the rest in the query or the body."""
    fields = {name: value for name, value in msgspec.to_builtins(request).items() if value is not None}
    path = operation.http.path
    for name in operation.http.path_parameters:
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


def _rebuild_error(data: bytes, status: int) -> errors.MaestroError:
    """Return the error that the server's answer describes."""
    try:
        facts = msgspec.json.decode(data, type=dict[str, Any])
        kind = errors.errors_by_code().get(facts["code"], errors.MaestroError)
        return kind(facts["message"], hint=facts["hint"], data=facts["data"])
    except (msgspec.DecodeError, KeyError):
        return errors.MaestroError(f"The server answered with status {status}.")
