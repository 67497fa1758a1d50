"""An operation over HTTP has its fields in path, query or body, and raises the errors of the server."""

from __future__ import annotations

import json
import threading
import urllib.parse
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from maestro.client.remote.http import HttpApi
from maestro.core import errors
from maestro.operations import server as server_ops
from maestro.operations import sessions, tasks

EVENTS = {"events": [], "cursor": None}


class RecordingServer:
    """An HTTP server that answers every request with the same answer and records the requests."""

    def __init__(self) -> None:
        self.status, self.body, self.requests = 200, b"{}", list[dict[str, Any]]()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_request(self) -> None:
                size = int(self.headers.get("content-length") or 0)
                path = urllib.parse.urlsplit(self.path)
                outer.requests.append(
                    {
                        "verb": self.command,
                        "path": path.path,
                        "query": urllib.parse.parse_qsl(path.query),
                        "headers": dict(self.headers),
                        "body": json.loads(self.rfile.read(size)) if size else None,
                    }
                )
                self.send_response(outer.status)
                self.send_header("content-length", str(len(outer.body)))
                self.end_headers()
                self.wfile.write(outer.body)

            do_GET = do_POST = do_PATCH = do_DELETE = do_request

            def log_message(self, *_: object) -> None: ...

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))
        self._thread.start()

    def close(self) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


@pytest.fixture
def remote() -> Iterator[RecordingServer]:
    made = RecordingServer()
    yield made
    made.close()


def refuse(remote: RecordingServer, token: str = "mst_x") -> pytest.ExceptionInfo[errors.MaestroError]:
    with pytest.raises(errors.MaestroError) as raised:
        HttpApi(remote.url, token).call_operation(sessions.WHOAMI, sessions.WhoAmI(), key="")
    return raised


def test_a_reading_request_has_its_fields_in_the_query(remote: RecordingServer) -> None:
    remote.body = json.dumps(EVENTS).encode()
    HttpApi(remote.url, "mst_x").call_operation(server_ops.EVENTS, server_ops.ReadEvents(since=7), key="")
    (request,) = remote.requests
    assert (request["verb"], request["path"], request["body"]) == ("GET", server_ops.EVENTS.http.path, None)
    query = dict(request["query"])
    assert query["since"] == "7" and query["follow"] == "false"
    assert request["headers"]["Authorization"] == "Bearer mst_x"


def test_a_changing_request_has_its_fields_in_the_body_and_an_idempotency_key(remote: RecordingServer) -> None:
    remote.status = 500
    with pytest.raises(errors.MaestroError):
        HttpApi(remote.url, "").call_operation(tasks.CREATE, tasks.CreateTask(project="vc", title="ä"), key="unique")
    (request,) = remote.requests
    assert request["verb"] == "POST" and request["body"]["title"] == "ä"
    assert request["headers"]["Idempotency-Key"] == "unique" and "Authorization" not in request["headers"]


def test_a_field_in_the_path_is_escaped_and_not_repeated_in_the_query(remote: RecordingServer) -> None:
    remote.status = 500
    with pytest.raises(errors.MaestroError):
        HttpApi(remote.url, "x").call_operation(tasks.SHOW, tasks.OneTask(id="a/b #1"), key="")
    (request,) = remote.requests
    assert request["path"].endswith("/a%2Fb%20%231") and "id" not in dict(request["query"])


def test_an_error_of_the_server_is_raised_as_the_same_error(remote: RecordingServer) -> None:
    refused = errors.TooFast("Slow down.", hint="Later.", data={"n": 1})
    remote.status, remote.body = 409, json.dumps(refused.as_dict()).encode()
    raised = refuse(remote).value
    assert type(raised) is errors.TooFast and raised.as_dict() == refused.as_dict()


@pytest.mark.parametrize("body", [b"", b"<html>", b"[]", b'{"code": "too_fast"}'])
def test_the_error_for_an_unreadable_answer_names_the_http_status(remote: RecordingServer, body: bytes) -> None:
    remote.status, remote.body = 502, body
    assert "502" in refuse(remote).value.message


def test_an_unknown_error_code_is_raised_as_a_general_error(remote: RecordingServer) -> None:
    remote.status = 400
    remote.body = json.dumps({"code": "new", "message": "New.", "hint": "", "data": {}}).encode()
    raised = refuse(remote).value
    assert type(raised) is errors.MaestroError and raised.message == "New."


@pytest.mark.parametrize("url", ["http://127.0.0.1:1", "nonsense", "ftp://host", "http://"])
def test_a_silent_server_and_a_wrong_address_are_reported_as_no_server(url: str) -> None:
    with pytest.raises(errors.NoServer, match=r"127\.0\.0\.1|not a server's address"):
        HttpApi(url, "x").call_operation(sessions.WHOAMI, sessions.WhoAmI(), key="")


def test_the_data_of_server_sent_events_is_streamed(remote: RecordingServer) -> None:
    remote.body = b'id: 1\ndata: {"seq": 1}\n\n: comment\ndata: {"seq": 2}\n\n'
    lines = HttpApi(remote.url, "x").stream_events(server_ops.EVENTS, server_ops.ReadEvents(follow=True))
    assert list(lines) == [b'{"seq": 1}', b'{"seq": 2}']
    assert remote.requests[0]["headers"]["Accept"] == "text/event-stream"


def test_a_refused_stream_raises_the_error_of_the_server(remote: RecordingServer) -> None:
    remote.status, remote.body = 401, json.dumps(errors.NotAuthenticated().as_dict()).encode()
    with pytest.raises(errors.NotAuthenticated):
        list(HttpApi(remote.url, "x").stream_events(server_ops.EVENTS, server_ops.ReadEvents(follow=True)))
