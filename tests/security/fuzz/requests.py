"""Mutated requests of every operation: changed fields, bodies, headers, methods and tokens."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import quote, urlencode

from tests.security.sweep.table import TABLE
from tests.security.sweep.ways import fill, tool_call
from tests.security.sweep.world import World

from maestro.operations.registry import REGISTRY
from maestro.surfaces.mcp.tools import schemas
from maestro.testing.mcp_wire import ACCEPT, tool_call_message

WAIT_MILLIS = 20
WAITING = {
    "task.wait",
    "mail.wait",
    "session.wait",
    "ask.wait",
    "ask.create",
    "mail.send",
    "mail.reply",
    "session.prompt",
}
STARTING = {"session.spawn", "run.start", "run.resume", "session.resume"}  # these operations would start programs
# A valid request of the person for one of these ends the server, writes files anywhere, or destroys the test's world.
NOT_BY_PERSON = {"server.stop", "server.backup", "config.set", "session.end", "session.stop", *STARTING}
VERBS = ("GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "HEAD", "TRACE", "CONNECT", "BREW", "get", "")
HOSTILE: tuple[Any, ...] = (
    None, True, False, 0, -1, 1.5, -0.0, 1e308, 2**31, 2**53 + 1, 2**63, -(2**63) - 1, 10**40, "", " ", "\0", "a\0b",
    "\ud800", "x\udfff", "\u202e\u2066", "\ufeff", "٣", "é" * 200, "x" * 70_000, "../../etc/passwd", "/", "%s%n", "#0",
    "#99999999999999999999", "'; DROP TABLE tasks; --", "ses_" + "0" * 26, "tsk_" + "z" * 26, [], {}, [None], [[]],
    {"": ""}, ["x"] * 5000, {"a": {"b": [1, 2, {"c": None}]}}, list(range(300)), "NaN", "Infinity", "-", "--", "~", "*",
)  # fmt: skip
HEADERS = (
    "Content-Type: text/plain",
    "Content-Type: application/json; charset=utf-16",
    "Content-Encoding: gzip",
    "Content-Length: -1",
    "Content-Length: 99999999999999999999",
    "Content-Length: 1\r\nContent-Length: 2",
    "Transfer-Encoding: chunked",
    "Transfer-Encoding: gzip, chunked",
    "Idempotency-Key: " + "k" * 5000,
    "Idempotency-Key: \t",
    "Idempotency-Key: \x80",
    "Last-Event-ID: " + "9" * 100,
    "Accept: text/event-stream, \xff",
    "Authorization: Bearer",
    "Authorization: Bearer a\r\nAuthorization: Bearer b",
    "Host: evil.example",
    "Host:",
    "Origin: null",
    "Expect: 100-continue",
    "Upgrade: websocket\r\nConnection: Upgrade",
    "Mcp-Session-Id: ../..",
    "MCP-Protocol-Version: 1",
    "X-Long: " + "x" * 40_000,
    "X: \0",
    "no colon",
    " folded: line",
    ": no name",
)


@dataclass(frozen=True)
class Sent:
    """A request, before it is turned into bytes."""

    operation: str
    verb: str
    path: str
    body: bytes | None
    headers: tuple[str, ...] = ()
    token: str = ""
    cut_bytes: int | None = None  # the number of bytes that are sent, if the request is cut

    def to_bytes(self, host: str) -> bytes:
        lines = [f"{self.verb} {self.path} HTTP/1.1", f"Host: {host}", "Connection: close", f"Accept: {ACCEPT}"]
        if self.token:
            lines.append(f"Authorization: Bearer {self.token}")
        if self.body is not None:
            lines += ["Content-Type: application/json", f"Content-Length: {len(self.body)}"]
        names = {line.partition(":")[0].lower() for line in self.headers}
        kept = [line for line in lines if line.partition(":")[0].lower() not in names]
        head = "\r\n".join([*kept, *self.headers, "", ""]).encode("latin-1", errors="replace")
        return (head + (self.body or b""))[: self.cut_bytes]


@dataclass
class Fuzzer:
    """Makes mutated requests from a seed."""

    world: World
    chosen: random.Random
    tokens: dict[str, str] = field(default_factory=dict)

    def make(self) -> Sent:
        """Return a request of the table, mutated once or several times."""
        row = self.chosen.choice(TABLE)
        fields = fill(self.world, copy.deepcopy(row.fields))
        is_tool = self.chosen.random() < 0.25
        sent = (self._over_mcp(row.operation, fields) if is_tool else None) or self._over_rest(row.operation, fields)
        sent = replace(sent, token=self.tokens[self._caller(row.operation)])
        if self.chosen.random() < 0.5:
            sent = self.chosen.choice(self._mutations())(sent)
        return sent

    def _caller(self, operation: str) -> str:
        """Return a caller. Three of four callers are known to the server."""
        known = ["worker", "boss"] if operation in NOT_BY_PERSON else ["person", "worker", "boss"]
        return self.chosen.choice(known if self.chosen.random() < 0.75 else ["ended", "nobody"])

    def _mutate_fields(self, fields: dict[str, Any], declared: list[str]) -> dict[str, Any]:
        """Return the fields with one field changed, dropped or added, at any depth."""
        changed = dict(fields)
        names = list(changed)
        kind = self.chosen.random()
        if not names or kind < 0.3:
            changed[self.chosen.choice([*declared, "x", "\0"])] = self._value()
        elif kind < 0.35:
            changed.pop(self.chosen.choice(names))
        else:
            name = self.chosen.choice(names)
            inner = changed[name]
            is_deep = isinstance(inner, dict) and self.chosen.random() < 0.5
            changed[name] = self._mutate_fields(inner, declared) if is_deep else self._value(type(inner))
        return changed

    def _value(self, kind: type | None = None) -> Any:
        """Return a hostile value, mostly of the wanted type: the server examines such a value further."""
        fitting = [value for value in HOSTILE if type(value) is kind]
        return copy.deepcopy(self.chosen.choice(fitting if fitting and self.chosen.random() < 0.7 else HOSTILE))

    def _mutate(self, operation: str, fields: dict[str, Any], timeout: float) -> dict[str, Any]:
        """Return mutated fields of a request that waits only briefly and starts no program."""
        declared = list(schemas.request_fields(REGISTRY[operation].request))
        for _ in range(self.chosen.choice((0, 1, 1, 1, 2, 5))):
            fields = self._mutate_fields(fields, declared)
        if operation in WAITING and (isinstance(fields.get("timeout"), int | float) or "timeout" not in fields):
            fields["timeout"] = timeout
        if operation in STARTING:
            fields["dry_run"] = True
        return fields

    def _over_rest(self, operation: str, fields: dict[str, Any]) -> Sent:
        route, fields = REGISTRY[operation].http, self._mutate(operation, fields, WAIT_MILLIS)
        path = route.path
        for parameter in route.path_parameters:
            value = fields.pop(parameter, "x")
            text = value if isinstance(value, str) else json.dumps(value)
            path = path.replace(f"{{{parameter}}}", quote(text[:5000].encode(errors="surrogatepass"), safe=""))
        if route.verb in ("GET", "DELETE"):
            flat = {name: value if isinstance(value, str) else json.dumps(value) for name, value in fields.items()}
            query = urlencode({name: value[:5000] for name, value in flat.items()}, errors="surrogatepass")
            return Sent(operation, route.verb, f"{path}?{query}", None)
        return Sent(operation, route.verb, path, json.dumps(fields).encode())

    def _over_mcp(self, operation: str, fields: dict[str, Any]) -> Sent | None:
        said = tool_call(operation, fields)
        if said is None:
            return None
        tool, arguments = said
        message: dict[str, Any] = tool_call_message(tool, self._mutate(operation, arguments, WAIT_MILLIS / 1000))
        if self.chosen.random() < 0.3:
            message = self._mutate_fields(message, list(message))
        return Sent(operation, "POST", "/mcp", json.dumps(message).encode())

    def _mutations(self) -> list[Callable[[Sent], Sent]]:
        return [
            self._other_verb,
            self._other_token,
            self._more_headers,
            self._cut,
            self._other_body,
            self._flip,
            self._hook,
        ]

    def _other_verb(self, sent: Sent) -> Sent:
        return replace(sent, verb=self.chosen.choice(VERBS))

    def _other_token(self, sent: Sent) -> Sent:
        token = self.chosen.choice(["mst_x", "x" * 10_000, sent.token[:-1], sent.token + "x", "\0", "é", " ", ""])
        return replace(sent, token=token)

    def _more_headers(self, sent: Sent) -> Sent:
        return replace(sent, headers=tuple(self.chosen.choices(HEADERS, k=self.chosen.randint(1, 3))))

    def _cut(self, sent: Sent) -> Sent:
        return replace(sent, cut_bytes=self.chosen.randrange(len(sent.to_bytes("127.0.0.1"))))

    def _other_body(self, sent: Sent) -> Sent:
        depth = self.chosen.choice((50, 1000, 100_000))
        empty = b"{" if sent.operation in WAITING else b""  # without a body these operations wait for minutes
        bodies = (
            empty, b"null", b"[]", b"0", b'"x"', b"{", b"\xff\xfe", b"\xef\xbb\xbf{}", b"\0" * 100, b"[" * depth,
            b'{"a":' * depth + b"1" + b"}" * depth, b'{"title": "\\ud800"}', b'{"title": NaN}', b"1" * depth,
            b'{"title":"a","title":"b"}', b'{"project": "\xed\xa0\x80"}', self.chosen.randbytes(300),
        )  # fmt: skip
        return replace(sent, verb="POST" if sent.body is None else sent.verb, body=self.chosen.choice(bodies))

    def _flip(self, sent: Sent) -> Sent:
        """Change random bytes of the body, or a random character of the path."""
        if not sent.body:
            at = self.chosen.randrange(len(sent.path))
            return replace(sent, path=sent.path[:at] + chr(self.chosen.randrange(1, 256)) + sent.path[at + 1 :])
        data = bytearray(sent.body)
        for _ in range(self.chosen.randint(1, 8)):
            data[self.chosen.randrange(len(data))] = self.chosen.randrange(256)
        return replace(sent, body=bytes(data))

    def _hook(self, sent: Sent) -> Sent:
        tool, event = (
            self.chosen.choice(("claude", "codex", "x", "..", "")),
            self.chosen.choice(("Stop", "PreToolUse", "%00")),
        )
        return replace(sent, verb="POST", path=f"/hooks/{tool}/{event}", body=sent.body or b"{}")
