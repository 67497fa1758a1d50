"""Each invalid request is refused with a clear error and its own error code, and changes nothing."""

from __future__ import annotations

import base64
import contextlib
import json
import socket
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from maestro.core import limits
from maestro.store.layout import DATABASE
from maestro.testing.live import LiveServer

SHAPE = {"code", "message", "hint", "retryable", "data"}
SECONDS_MAX = 30.0
WRITTEN_OVER_TIME = {"maestro.mark", "health.json"}  # the server writes these files without a request


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveServer]:
    """Return one server for all tests of this file, because a refused request changes nothing."""
    with LiveServer(tmp_path_factory.mktemp("bad") / "live") as server:
        yield server


@dataclass
class World:
    """A server with projects, tasks and sessions to which the invalid requests refer."""

    server: LiveServer
    api: Any
    project: str
    task: str
    held: str  # a task that the worker holds
    other: str  # a task of another project
    worker: Any
    coordinator: Any
    stranger: Any
    ended: Any

    def state(self) -> list[str]:
        """Return all rows of the database and the names of all files beside it."""
        place = f"file:{self.server.home / DATABASE}?mode=ro"
        with contextlib.closing(sqlite3.connect(place, uri=True)) as database:
            rows = list(database.iterdump())
        names = {file.name for file in self.server.home.rglob("*") if "-" not in file.name}
        return rows + sorted(names - WRITTEN_OVER_TIME)


_made: dict[LiveServer, dict[str, Any]] = {}


def make(server: LiveServer, api: Any, folder: Path) -> dict[str, Any]:
    """Create the projects, sessions and tasks that all tests of this file share."""
    for name in ("vc", "other"):
        (folder / name).mkdir(exist_ok=True)
        api.call("POST", "/api/projects", path=str(folder / name), name=name)
    tokens = {}
    for name, mode, project in (
        ("worker", "execute", "vc"),
        ("coordinator", "coordinate", "vc"),
        ("stranger", "execute", "other"),
        ("ended", "execute", "vc"),
    ):
        made = api.call("POST", "/api/sessions", project=project, mode=mode)
        tokens[name] = made["token"]
        if name == "ended":
            api.call("POST", "/api/sessions/end", id=made["id"])
    tasks = {
        "task": api.call("POST", "/api/tasks", project="vc", title="t")["id"],
        "held": api.call("POST", "/api/tasks", project="vc", title="held")["id"],
        "other": api.call("POST", "/api/tasks", project="other", title="other")["id"],
    }
    return {"tokens": tokens, "project": "vc", **tasks}


@pytest.fixture
def world(shared: LiveServer, connect: Any) -> Iterator[World]:
    api = connect(shared)
    if shared not in _made:
        _made[shared] = make(shared, api, shared.home.parent)
        connect(shared, _made[shared]["tokens"]["worker"]).call(
            "POST", f"/api/tasks/{_made[shared]['held']}/start", lease=24 * 3600 * 1000
        )
    known = dict(_made[shared])
    tokens = known.pop("tokens")
    world = World(shared, api, **known, **{name: connect(shared, token) for name, token in tokens.items()})
    before = world.state()
    yield world
    assert world.state() == before, "a refused request changed stored content"


def refused(answer: Any, body: bytes) -> tuple[int, str]:
    """Check the form of an error, and return its status and code."""
    assert answer.getheader("content-type") == "application/json", (answer.status, body[:200])
    told = json.loads(body)
    assert set(told) == SHAPE, told
    assert told["message"] and isinstance(told["data"], dict)
    return answer.status, told["code"]


def post(api: Any, path: str, fields: Any, **headers: str) -> tuple[int, str]:
    body = fields if isinstance(fields, bytes) else json.dumps(fields).encode()
    return refused(*api.send("POST", path, body, headers=headers))


def get(api: Any, path: str, **headers: str) -> tuple[int, str]:
    return refused(*api.send("GET", path, headers=headers))


# Invalid callers.

BAD_TOKENS = {
    "none": None,
    "wrong": "Bearer mst_person_nobody",
    "empty": "Bearer ",
    "another scheme": "Basic ZGFuYTpkYW5h",
    "bare": "mst_person",
    "not ASCII": "Bearer \xff\xfe",
}


@pytest.mark.parametrize("name", BAD_TOKENS)
@pytest.mark.parametrize(
    ("verb", "path"),
    [("GET", "/api/tasks?project=vc"), ("POST", "/api/tasks"), ("POST", "/api/stop"), ("GET", "/api/events")],
)
def test_a_caller_without_a_valid_token_is_not_authenticated(world: World, name: str, verb: str, path: str) -> None:
    body = b'{"project":"vc","title":"t"}' if path == "/api/tasks" else b"{}"
    headers = {"Authorization": BAD_TOKENS[name] or ""}
    answer = world.api.send(verb, path, body if verb == "POST" else None, headers=headers)
    assert refused(*answer) == (401, "not_authenticated")


def test_the_token_of_an_ended_session_is_refused(world: World) -> None:
    assert get(world.ended, "/api/tasks") == (401, "not_authenticated")
    assert post(world.ended, "/api/sessions/heartbeat", {}) == (401, "not_authenticated")
    assert post(world.ended, "/api/tasks", {"title": "t"}) == (401, "not_authenticated")


@pytest.mark.parametrize(
    ("who", "verb", "path", "fields"),
    [
        ("worker", "POST", "/api/stop", {}),
        ("coordinator", "POST", "/api/backup", {"file": "/tmp/backup.tar"}),
        ("coordinator", "POST", "/api/config", {"name": "human", "value": "eve"}),
        ("worker", "PATCH", "/api/projects/vc", {"name": "mine"}),
        ("worker", "POST", "/api/tasks/{held}/cancel", {}),
        ("worker", "DELETE", "/api/tasks/{held}", None),
        ("worker", "POST", "/api/tasks/{held}/reopen", {}),
        ("worker", "POST", "/api/tasks", {"title": "t", "gates": ["true"]}),
        ("worker", "PATCH", "/api/tasks/{held}", {"gates": []}),
        ("worker", "POST", "/api/sessions", {"mode": "coordinate"}),
        ("stranger", "POST", "/api/tasks", {"title": "t", "project": "vc"}),
        ("stranger", "POST", "/api/tasks/{task}/start", {}),
        ("stranger", "POST", "/api/tasks/{held}/complete", {}),
        ("stranger", "PATCH", "/api/tasks/{task}", {"title": "mine"}),
        ("stranger", "POST", "/api/tasks/{task}/dependencies", {"on": ["{other}"]}),
        ("stranger", "POST", "/api/tasks/{task}/documents", {"title": "d", "content": ""}),
        ("coordinator", "POST", "/api/tasks/{other}/cancel", {}),
        ("coordinator", "DELETE", "/api/tasks/{other}", None),
        ("coordinator", "POST", "/api/sessions", {"project": "other"}),
    ],
)
def test_a_session_may_not_act_outside_its_role_and_project(
    world: World, who: str, verb: str, path: str, fields: Any
) -> None:
    names = {"task": world.task, "held": world.held, "other": world.other}
    body = None if fields is None else json.dumps(fields).replace('"{other}"', json.dumps(world.other)).encode()
    answer = getattr(world, who).send(verb, path.format(**names), body)
    assert refused(*answer) == (403, "not_permitted")


def test_a_worker_moves_only_tasks_that_it_holds(world: World) -> None:
    for move in ("complete", "release", "fail", "unblock"):
        assert post(world.worker, f"/api/tasks/{world.task}/{move}", {}) == (409, "not_held")
    assert post(world.worker, f"/api/tasks/{world.held}/complete", {"fence": 0}) == (409, "claim_lost")
    assert post(world.stranger, f"/api/tasks/{world.other}/release", {}) == (409, "not_held")


# Invalid hosts and origins.


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1.evil.example:80", "evil.example:127.0.0.1", "[::2]:80", "0.0.0.0"]
)
def test_a_request_with_a_foreign_host_name_is_refused(world: World, host: str) -> None:
    assert get(world.api, "/api/tasks?project=vc", Host=host) == (403, "not_permitted")
    assert get(world.api, "/api/status", Host=host) == (403, "not_permitted")
    assert get(world.api, "/api/openapi.json", Host=host) == (403, "not_permitted")


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", "http://127.0.0.1", "http://127.0.0.1.evil.example"]
)
def test_a_request_from_another_web_page_is_refused(world: World, origin: str) -> None:
    assert post(world.api, "/api/tasks", {"project": "vc", "title": "t"}, Origin=origin) == (403, "not_permitted")


def test_requests_with_an_origin_or_a_host_name_of_the_server_are_accepted(world: World) -> None:
    place = urlsplit(world.server.url).netloc
    for headers in (
        {"Origin": f"http://{place}"},
        {"Host": "localhost:4747"},
        {"Host": f"[::1]:{place.partition(':')[2]}"},
    ):
        answer, _ = world.api.send("GET", "/api/tasks?project=vc", headers=headers)
        assert answer.status == 200, headers


# Invalid bodies and fields.

BAD_BODIES = {
    "half": b'{"title": "t"',
    "text": b"hello",
    "a list": b"[]",
    "null": b"null",
    "a number": b"1",
    "two values": b'{"title":"t","project":"vc"} {}',
    "NaN": b'{"title":"t","project":"vc","priority":NaN}',
    "single quotes": b"{'title': 't'}",
    "UTF-16": '{"title":"t","project":"vc"}'.encode("utf-16"),
    "a byte order mark": '\ufeff{"title":"t","project":"vc"}'.encode(),
    "Latin-1": '{"title":"café","project":"vc"}'.encode("latin-1"),
    "half a character": b'{"title":"\xe2\x82","project":"vc"}',
    "an overlong character": b'{"title":"\xc0\xaf","project":"vc"}',
    "a surrogate in UTF-8": b'{"title":"\xed\xa0\x80","project":"vc"}',
    "a lone surrogate": b'{"title":"\\ud800","project":"vc"}',
    "surrogates the wrong way round": b'{"title":"\\udc00\\ud800","project":"vc"}',
    "very deep": b'{"title":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    "very deep and unknown": b'{"colour":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    "a huge number": b'{"title":"t","project":"vc","priority":' + b"9" * 100_000 + b"}",
}


@pytest.mark.parametrize("name", BAD_BODIES)
def test_a_body_that_cannot_be_read_is_refused(world: World, name: str) -> None:
    assert post(world.api, "/api/tasks", BAD_BODIES[name]) == (400, "invalid")


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data"])
def test_a_body_with_a_content_type_other_than_json_is_refused(world: World, kind: str) -> None:
    """A web page can send these content types without a preflight request."""
    fields = {"project": "vc", "title": "t"}
    assert post(world.api, "/api/tasks", fields, **{"Content-Type": kind}) == (400, "invalid")


WRONG_FIELDS: dict[str, tuple[str, str, dict[str, Any]]] = {
    f"{path} {fields}"[:90]: (verb, path, fields)
    for verb, path, fields in [
        ("POST", "/api/tasks", {}),
        ("POST", "/api/tasks", {"title": ""}),
        ("POST", "/api/tasks", {"title": "   "}),
        ("POST", "/api/tasks", {"title": 5}),
        ("POST", "/api/tasks", {"title": None}),
        ("POST", "/api/tasks", {"title": ["t"]}),
        ("POST", "/api/tasks", {"title": "two\nlines"}),
        ("POST", "/api/tasks", {"title": "ends in a line\n"}),
        ("POST", "/api/tasks", {"title": "x" * (limits.title_chars_max + 1)}),
        ("POST", "/api/tasks", {"title": "t", "description": "x" * (limits.description_chars_max + 1)}),
        ("POST", "/api/tasks", {"title": "t", "colour": "red"}),
        ("POST", "/api/tasks", {"title": "t", "id": "tsk_1"}),
        ("POST", "/api/tasks", {"title": "t", "status": "completed"}),
        ("POST", "/api/tasks", {"title": "t", "depends_on": "#1"}),
        ("POST", "/api/tasks", {"title": "t", "depends_on": [1]}),
        ("POST", "/api/tasks", {"title": "t", "depends_on": ["#1"] * (limits.reference_ids_max + 1)}),
        ("POST", "/api/tasks", {"title": "t", "priority": "urgent"}),
        ("POST", "/api/tasks", {"title": "t", "stage": "never"}),
        ("POST", "/api/tasks", {"title": "t", "member": "no spaces"}),
        ("POST", "/api/tasks", {"title": "t", "gates": [""]}),
        ("POST", "/api/tasks", {"title": "t", "gates": ["x"] * (limits.task_list_items_max + 1)}),
        ("POST", "/api/tasks", {"title": "t", "gates": ["x" * (limits.command_chars_max + 1)]}),
        ("POST", "/api/tasks", {"title": "t", "accept": {"a": 1}}),
        ("POST", "/api/tasks", {"title": "t", "parent": "x" * 201}),
        ("POST", "/api/tasks/{task}/start", {"lease": 1}),
        ("POST", "/api/tasks/{task}/start", {"lease": 10**12}),
        ("POST", "/api/tasks/{task}/start", {"lease": "10m"}),
        ("POST", "/api/tasks/{task}/start", {"holder": "me"}),
        ("POST", "/api/tasks/{task}/release", {"fence": -1}),
        ("POST", "/api/tasks/{task}/release", {"fence": 1.5}),
        ("POST", "/api/tasks/{task}/release", {"fence": 2**63}),
        ("POST", "/api/tasks/{task}/release", {"fence": "1"}),
        ("POST", "/api/tasks/{task}/release", {"fence": True}),
        ("POST", "/api/tasks/{task}/block", {}),
        ("POST", "/api/tasks/{task}/block", {"reason": ""}),
        ("POST", "/api/tasks/{task}/cancel", {"reason": "x" * (limits.reason_chars_max + 1)}),
        ("POST", "/api/tasks/{task}/dependencies", {"on": []}),
        ("POST", "/api/tasks/{task}/reports", {"kind": "progress"}),
        ("POST", "/api/tasks/{task}/reports", {"kind": "rumour", "text": "t"}),
        ("POST", "/api/tasks/{task}/documents", {"title": "d", "content": "not base 64!"}),
        ("POST", "/api/tasks/{task}/documents", {"title": "d", "content": "", "file_name": "../../etc/passwd"}),
        ("PATCH", "/api/tasks/{task}", {}),
        ("PATCH", "/api/tasks/{task}", {"title": ""}),
        ("PATCH", "/api/tasks/{task}", {"title": "ends in a line\n"}),
        ("PATCH", "/api/tasks/{task}", {"member": "no spaces"}),
        ("PATCH", "/api/tasks/{task}", {"parent": "{other}"}),
        ("PATCH", "/api/tasks/{task}", {"archived": "yes"}),
        ("PATCH", "/api/projects/vc", {"name": "human"}),
        ("PATCH", "/api/projects/vc", {"stages": ["a", "a"]}),
        ("PATCH", "/api/projects/vc", {"stages": ["x"] * (limits.stages_max + 1)}),
        ("POST", "/api/sessions", {"mode": "conquer"}),
        ("POST", "/api/sessions", {"name": "coordinator"}),
        ("POST", "/api/sessions", {"pid": 0}),
        ("POST", "/api/sessions/end", {"status": "working"}),
        ("POST", "/api/config", {"name": "port", "value": "high"}),
        ("POST", "/api/config", {"name": "port", "value": "65536"}),
    ]
}


@pytest.mark.parametrize("name", WRONG_FIELDS)
def test_a_request_with_an_invalid_field_is_refused(world: World, name: str) -> None:
    verb, path, fields = WRONG_FIELDS[name]
    if path in ("/api/tasks", "/api/sessions"):
        fields = {"project": "vc", **fields}
    body = json.dumps(fields).replace('"{other}"', json.dumps(world.other)).encode()
    api = world.coordinator if path.endswith("/end") else world.api
    assert refused(*api.send(verb, path.format(task=world.task), body)) == (400, "invalid")


NUL = "before\0after"
NULS: list[tuple[str, str, dict[str, Any]]] = [
    ("POST", "/api/tasks", {"project": "vc", "title": NUL}),
    ("POST", "/api/tasks", {"project": "vc", "title": "t", "description": NUL}),
    ("POST", "/api/tasks", {"project": "vc", "title": "t", "gates": [NUL]}),
    ("POST", "/api/tasks", {"project": "vc", "title": "t", "accept": [NUL]}),
    ("POST", "/api/tasks", {"project": "vc", "title": "t", "member": NUL}),
    ("POST", "/api/tasks", {"project": NUL, "title": "t"}),
    ("PATCH", "/api/tasks/{task}", {"title": NUL}),
    ("PATCH", "/api/tasks/{task}", {"member": NUL}),
    ("POST", "/api/tasks/{task}/block", {"reason": NUL}),
    ("POST", "/api/tasks/{task}/cancel", {"reason": NUL}),
    ("POST", "/api/tasks/{held}/complete", {"summary": NUL}),
    ("POST", "/api/tasks/{task}/reports", {"kind": "progress", "text": NUL}),
    ("POST", "/api/tasks/{task}/documents", {"title": NUL, "content": ""}),
    ("POST", "/api/tasks/{task}/documents", {"title": "d", "content": "", "file_name": NUL}),
    ("POST", "/api/sessions", {"project": "vc", "name": NUL}),
    ("POST", "/api/sessions", {"project": "vc", "path": NUL}),
    ("POST", "/api/projects", {"path": NUL}),
    ("POST", "/api/config", {"name": "human", "value": NUL}),
    ("POST", "/api/config", {"name": "human", "value": "\x7f"}),
]


@pytest.mark.parametrize(
    ("verb", "path", "fields"), NULS, ids=[f"{path} {[*fields][-1]}" for _, path, fields in NULS]
)
def test_a_nul_character_is_refused_in_every_field(
    world: World, verb: str, path: str, fields: dict[str, Any]
) -> None:
    place = path.format(task=world.task, held=world.held)
    answer = world.api.send(verb, place, json.dumps(fields).encode())
    assert refused(*answer) == (400, "invalid")


@pytest.mark.parametrize("path", ["/api/locate?path=.", "/api/locate?path=src", "/api/locate?path=~"])
def test_a_relative_path_is_refused(world: World, path: str) -> None:
    assert get(world.api, path) == (400, "invalid")
    given = path.partition("=")[2]
    assert post(world.api, "/api/projects", {"path": given}) == (400, "invalid")
    assert post(world.api, "/api/backup", {"file": given}) == (400, "invalid")


@pytest.mark.parametrize("path", ["/nowhere/at/all", "/" + "x" * 300, "/" + "x/" * 2000])
def test_a_path_that_does_not_exist_is_refused(world: World, path: str) -> None:
    status, _ = get(world.api, f"/api/locate?path={path}")
    assert status in (400, 404)
    status, _ = post(world.api, "/api/projects", {"path": path})
    assert status in (400, 404)
    status, _ = post(world.api, "/api/backup", {"file": f"{path}/backup.tar"})
    assert status in (400, 404)


# References to missing objects, and invalid queries.


@pytest.mark.parametrize(
    "ref",
    [
        "tsk_00000000000000000000000000",
        "vc%23999",
        "nobody%231",
        "%23999",
        "nonsense",
        "vc%23",
        "vc%23-1",
        "vc%2399999999999999999999",
        "999999999999999",
        "vc%23%D9%A1",  # an Arabic digit
        "prj_00000000000000000000000000",
        "%2E%2E",
        "a%2Fb",
        "%25",
        "%",
        "%zz",
    ],
)
def test_an_unknown_task_is_not_found(world: World, ref: str) -> None:
    assert get(world.coordinator, f"/api/tasks/{ref}") == (404, "not_found")
    assert post(world.coordinator, f"/api/tasks/{ref}/start", {}) == (404, "not_found")
    answer = world.coordinator.send("DELETE", f"/api/tasks/{ref}")
    assert refused(*answer) == (404, "not_found")


@pytest.mark.parametrize("ref", ["%FF", "%C0%AF", "x" * 201, "%00", "a%0Ab", "%20"])
def test_a_malformed_reference_is_refused(world: World, ref: str) -> None:
    assert get(world.api, f"/api/tasks/{ref}") == (400, "invalid")


@pytest.mark.parametrize(
    ("path", "fields"),
    [
        ("/api/tasks", {"project": "nobody", "title": "t"}),
        ("/api/tasks", {"title": "t"}),
        ("/api/tasks", {"project": "vc", "title": "t", "parent": "#999"}),
        ("/api/tasks", {"project": "vc", "title": "t", "found_in": "#999"}),
        ("/api/tasks", {"project": "vc", "title": "t", "depends_on": ["#1", "#999"]}),
        ("/api/tasks/{task}/dependencies", {"on": ["#999"]}),
        ("/api/tasks/{task}/dependencies", {"on": ["{task}"], "remove": True}),
        ("/api/sessions", {"project": "vc", "parent": "nobody"}),
        ("/api/sessions", {"project": "vc", "pid": 2**31 - 1}),
        ("/api/sessions/end", {"id": "ses_00000000000000000000000000"}),
        ("/api/config", {"name": "colour", "value": "red"}),
    ],
)
def test_the_name_of_a_missing_object_is_not_found(world: World, path: str, fields: dict[str, Any]) -> None:
    body = json.dumps(fields).replace("{task}", world.task).encode()
    assert post(world.api, path.format(task=world.task), body) == (404, "not_found")


@pytest.mark.parametrize(
    "query",
    [
        "limit=1&limit=2",
        "limit=0",
        "limit=501",
        "limit=ten",
        "limit=1.5",
        "limit=-1",
        "limit=",
        "limit=%31%00",
        "status=done",
        "archived=perhaps",
        "colour=red",
        "cursor=-1",
        "cursor=abc",
        "cursor=%EF%BC%91",  # a digit outside ASCII
        "cursor=%00",
        "cursor=%FF",
        "cursor=" + "9" * 300,
        "project=%00",
        "project=%FF",
        "Limit=1",
        "project=vc&project=other",
        "&".join(f"a{number}=1" for number in range(300)),
        "&".join(["project=vc"] * 300),
        "limit=%D9%A1",
    ],
    ids=lambda query: query[:30],
)
def test_an_invalid_query_is_refused(world: World, query: str) -> None:
    project = "" if "project" in query else "project=vc&"
    assert get(world.api, f"/api/tasks?{project}{query}") == (400, "invalid")


def test_a_cursor_of_another_list_is_refused(world: World) -> None:
    for cursor in ("x.y", "1.2.3", ".", "1.", "-1.0", "1"):
        answer, body = world.api.send("GET", f"/api/tasks/ready?project=vc&cursor={cursor}")
        assert answer.status in (200, 400), body
    assert get(world.api, "/api/tasks/ready?project=vc&cursor=x.y") == (400, "invalid")


@pytest.mark.parametrize(
    "path", ["/api/nothing", "/api/", "/api/tasks/a/b/c", "/api//tasks", "/api/../etc/passwd", "/api/%2e%2e"]
)
def test_an_unknown_path_is_not_found(world: World, path: str) -> None:
    assert get(world.api, path) == (404, "not_found")
    assert post(world.api, path, {}) == (404, "not_found")


@pytest.mark.parametrize(
    ("verb", "path", "allowed"),
    [
        ("DELETE", "/api/tasks", {"GET", "POST"}),
        ("PUT", "/api/tasks", {"GET", "POST"}),
        ("GET", "/api/stop", {"POST"}),
        ("POST", "/api/status", {"GET"}),
        ("OPTIONS", "/api/tasks", {"GET", "POST"}),
        ("BREW", "/api/tasks", {"GET", "POST"}),
        ("POST", "/api/tasks/x", {"GET", "PATCH", "DELETE"}),
    ],
)
def test_a_wrong_verb_is_refused_with_the_allowed_verbs(
    world: World, verb: str, path: str, allowed: set[str]
) -> None:
    if verb == "BREW":
        head = raw(world, f"{verb} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode())
        assert head.startswith((b"HTTP/1.1 400", b"HTTP/1.1 405"))
        return
    answer, body = world.api.send(verb, path)
    assert refused(answer, body) == (405, "invalid")
    assert set(answer.getheader("allow").split(", ")) == allowed


# Invalid HTTP, and requests above the limits.


def raw(world: World, data: bytes, *, half_close: bool = False) -> bytes:
    """Return the answer of the server to raw bytes, until the end of its header or of the connection."""
    place = urlsplit(world.server.url)
    with socket.create_connection((place.hostname, place.port), timeout=SECONDS_MAX) as connection:
        connection.sendall(data)
        if half_close:
            connection.shutdown(socket.SHUT_WR)
        said = b""
        while b"\r\n\r\n" not in said and (part := connection.recv(65536)):
            said += part
        return said


def head(world: World, verb: str, path: str, *lines: str) -> bytes:
    host = urlsplit(world.server.url).netloc
    token = f"Authorization: Bearer {world.server.token}"
    return "\r\n".join([f"{verb} {path} HTTP/1.1", f"Host: {host}", token, *lines, "", ""]).encode()


@pytest.mark.parametrize("sent", [b"", b'{"pro', b'{"project":"vc","title":"t"'])
def test_a_request_with_an_incomplete_body_changes_nothing(world: World, sent: bytes) -> None:
    """The client ends the connection early. The server must not take the received part for the whole body."""
    before = [world.api.task(task)["status"] for task in (world.task, world.held)]
    for path in ("/api/tasks", f"/api/tasks/{world.task}/start", f"/api/tasks/{world.held}/release"):
        start = head(world, "POST", path, "Content-Type: application/json", "Content-Length: 100")
        raw(world, start + sent, half_close=True)
        chunked = head(world, "POST", path, "Content-Type: application/json", "Transfer-Encoding: chunked")
        raw(world, chunked + (b"%x\r\n%s\r\n" % (len(sent), sent) if sent else b""), half_close=True)
    assert [world.api.task(task)["status"] for task in (world.task, world.held)] == before


@pytest.mark.parametrize(
    "garbage",
    [
        b"\0" * 100 + b"\r\n\r\n",
        b"HELLO\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"GET /api/tasks\xff HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
        b"POST /api/tasks HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: -5\r\n\r\n",
        b"POST /api/tasks HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello",
        b"POST /api/tasks HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\nhello",
        b"GET /api/tasks HTTP/1.1\r\nHost 127.0.0.1\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"x" * 200,
    ],
)
def test_data_that_is_not_http_is_refused(world: World, garbage: bytes) -> None:
    said = raw(world, garbage, half_close=True)
    assert said == b"" or said.startswith((b"HTTP/1.1 400", b"HTTP/1.1 401")), said[:100]


def test_a_request_without_a_host_is_refused(world: World) -> None:
    token = world.server.token.encode()
    said = raw(
        world, b"GET /api/tasks?project=vc HTTP/1.1\r\nAuthorization: Bearer " + token + b"\r\n\r\n", half_close=True
    )
    assert said.startswith((b"HTTP/1.1 400", b"HTTP/1.1 403"))


def test_a_url_that_is_too_long_is_refused_with_the_usual_form_of_an_error(world: World) -> None:
    said = raw(world, head(world, "GET", f"/api/tasks?project=vc&cursor={'x' * 65_536}"))
    start, _, body = said.partition(b"\r\n\r\n")
    assert start.startswith((b"HTTP/1.1 400", b"HTTP/1.1 431"))
    assert set(json.loads(body)) == SHAPE


def test_a_header_without_an_end_is_cut_off(world: World) -> None:
    """Without a limit a client could fill the server's memory."""
    start = head(world, "GET", "/api/status")[:-2]
    filler = b"X-Filler: " + b"x" * 60_000 + b"\r\n"
    place = urlsplit(world.server.url)
    with socket.create_connection((place.hostname, place.port), timeout=SECONDS_MAX) as connection:
        sent = 0
        connection.sendall(start)
        try:
            while sent < 64 * 1024 * 1024:
                connection.sendall(filler)
                sent += len(filler)
        except OSError:
            return
    raise AssertionError(f"the server took a head of {sent} bytes")


def test_a_body_that_is_too_large_is_refused(world: World) -> None:
    body = b'{"project":"vc","title":"t","description":"' + b"x" * limits.body_bytes_max + b'"}'
    assert post(world.api, "/api/tasks", body) == (413, "too_large")


def test_a_chunked_body_that_is_too_large_is_refused(world: World) -> None:
    start = head(world, "POST", "/api/tasks", "Content-Type: application/json", "Transfer-Encoding: chunked")
    piece = b"100000\r\n" + b" " * 0x100000 + b"\r\n"
    place = urlsplit(world.server.url)
    with socket.create_connection((place.hostname, place.port), timeout=SECONDS_MAX) as connection:
        connection.sendall(start)
        with contextlib.suppress(OSError):
            for _ in range(limits.body_bytes_max // 0x100000 + 8):
                connection.sendall(piece)
        assert connection.recv(65536).startswith(b"HTTP/1.1 413")


def test_a_document_that_is_too_large_is_refused(world: World) -> None:
    content = base64.b64encode(bytes(limits.document_bytes_max + 1)).decode()
    path = f"/api/tasks/{world.task}/documents"
    status, code = post(world.api, path, {"title": "d", "content": content})
    assert (status, code) in ((413, "too_large"), (400, "invalid"))


def test_an_invalid_idempotency_key_is_refused(world: World) -> None:
    fields = {"project": "vc", "title": "t"}
    for key in ("x" * (limits.idempotency_key_chars_max + 1), "a\tb", "\x85"):
        assert post(world.api, "/api/tasks", fields, **{"Idempotency-Key": key}) == (400, "invalid")


def test_an_invalid_sequence_number_or_event_query_is_refused(world: World) -> None:
    for place in ("abc", "-1", "1.5", "9" * 19, "\xb2"):
        headers = {"Accept": "text/event-stream", "Last-Event-ID": place}
        assert get(world.api, "/api/events", **headers) == (400, "invalid")
    for query in ("since=-1", "since=x", "kind=nonsense", "limit=0", "follow=perhaps"):
        assert get(world.api, f"/api/events?{query}") == (400, "invalid")


def test_the_idempotency_key_of_another_request_is_refused(live: LiveServer, connect: Any, init: Any) -> None:
    api = connect(live)
    project = init(api, "vc")
    first = api.call("POST", "/api/tasks", project=project, title="one", key="k")
    assert post(api, "/api/tasks", {"project": project, "title": "two"}, **{"Idempotency-Key": "k"}) == (
        409,
        "key_reused",
    )
    assert post(api, f"/api/tasks/{first['id']}/start", {}, **{"Idempotency-Key": "k"}) == (409, "key_reused")
    assert [task["title"] for task in api.tasks(project)] == ["one"]
