"""The HTTP server of the scripted model: a port on loopback, with a base URL for each conversation."""

from __future__ import annotations

import json
import re
import sys
import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

from scripted_model import anthropic, gemini, openai
from scripted_model.conversation import Answer, Call, Refuse, Say, Seen, Step, settle

_PATH = re.compile(r"/c/(?P<conversation>[\w.-]+)/(?P<rest>[^?]*)")
_GEMINI = re.compile(r"v1beta/models/(?P<model>[^:/]+):(?P<verb>\w+)")
_ASIDE = '{"title": "Scripted"}'
_READ_SECONDS_MAX = 30


@dataclass(frozen=True)
class _Question:
    """A request to a model, after it was read."""

    provider: Any
    seen: Seen
    is_stream: bool


class ScriptedModel:
    """Answers each conversation according to its script, and keeps the requests.

    The number of answers in a request decides the step, so that a repeated request gets the same answer.
    """

    def __init__(self) -> None:
        self._server = _Server(self)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)
        self._lock = threading.Lock()
        self._scripts: dict[str, Sequence[Step]] = {}
        self._seen: dict[str, list[Seen]] = {}
        self.is_obedient = True  # starts the background commands that it is told to keep running
        self.unknown: list[str] = []  # requests that the scripted model does not understand

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def script(self, conversation: str, *steps: Step) -> str:
        """Set the answers of a conversation, step by step. Return the base URL for the program."""
        with self._lock:
            self._scripts[conversation] = steps
            self._seen[conversation] = []
        return f"http://127.0.0.1:{self._server.server_port}/c/{conversation}"

    def seen(self, conversation: str) -> list[Seen]:
        """Return the requests of a conversation so far, without requests for titles and summaries."""
        with self._lock:
            return [one for one in self._seen[conversation] if not one.is_aside and not self._obeys(one)]

    def _obeys(self, seen: Seen) -> bool:
        return self.is_obedient and bool(seen.starts)

    def answer(self, conversation: str, seen: Seen) -> Say | Call | Refuse:
        """Return the answer to a request."""
        with self._lock:
            self._seen[conversation].append(seen)
            steps = self._scripts[conversation]
        if seen.is_aside:
            return Say(_ASIDE)
        if self._obeys(seen):
            return gemini.start(seen)
        if seen.turn >= len(steps):
            return Say("The script has ended.")
        step = steps[seen.turn]
        due: Answer = step(seen) if callable(step) else step
        return settle(due, seen)

    def knows(self, conversation: str) -> bool:
        with self._lock:
            return conversation in self._scripts


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, model: ScriptedModel) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.model = model

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Show an error, unless the program closed the connection."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = _READ_SECONDS_MAX

    def log_message(self, format: str, *args: Any) -> None:
        """Print nothing: a test reads the kept requests."""

    @property
    def model(self) -> ScriptedModel:
        assert isinstance(self.server, _Server)
        return self.server.model

    def do_HEAD(self) -> None:
        self._send(200, "application/json", b"")

    def do_GET(self) -> None:
        self._refuse()

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        matched = _PATH.match(self.path)
        if matched is None or not self.model.knows(matched["conversation"]):
            return self._refuse()
        if matched["rest"].endswith(("/count_tokens", ":countTokens")):
            return self._json({"input_tokens": 10, "totalTokens": 10})
        question = _question(matched["rest"], json.loads(raw or b"{}"))
        if question is None:
            return self._refuse()
        answer = self.model.answer(matched["conversation"], question.seen)
        if isinstance(answer, Refuse):
            body = json.dumps(dict(answer.body)).encode()
            return self._send(answer.status, "application/json", body, answer.headers)
        if question.is_stream:
            return self._stream(question.provider.events(question.seen, answer))
        return self._json(question.provider.whole(question.seen, answer))

    def _refuse(self) -> None:
        self.model.unknown.append(f"{self.command} {self.path}")
        self._json({"error": {"type": "not_found_error", "message": "no such thing here"}}, 404)

    def _json(self, value: Any, status: int = 200) -> None:
        self._send(status, "application/json", json.dumps(value).encode())

    def _stream(self, events: Iterable[dict[str, Any]]) -> None:
        lines = []
        for event in events:
            name = f"event: {event['type']}\n" if "type" in event else ""
            lines.append(f"{name}data: {json.dumps(event)}\n\n")
        self._send(200, "text/event-stream", "".join(lines).encode())

    def _send(self, status: int, kind: str, body: bytes, headers: Mapping[str, str] = {}) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)


def _question(path: str, body: dict[str, Any]) -> _Question | None:
    model = str(body.get("model", ""))
    if path == "v1/messages":
        return _Question(anthropic, anthropic.read(body, model), bool(body.get("stream")))
    if path == "v1/responses" and body.get("stream"):
        return _Question(openai, openai.read(body, model), True)
    matched = _GEMINI.fullmatch(path)
    if matched is not None and matched["verb"] in ("generateContent", "streamGenerateContent"):
        return _Question(gemini, gemini.read(body, matched["model"]), matched["verb"].startswith("stream"))
    return None
