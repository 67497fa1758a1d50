"""Call a server over HTTP or by command, as the person or as a session, and compare its log with its tables."""

from __future__ import annotations

import http.client
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

import pytest

import maestro
from maestro.client import script
from maestro.client.native import build
from maestro.testing.live import PYTHON_CLIENT, LiveServer

SECONDS_MAX = 30.0
_LETS_GO = ("released", "claim_expired", "completed", "failed", "cancelled", "reopened")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark all fault tests as slow: `make test` leaves them out, `make test-slow` runs them."""
    for item in items:
        if item.path.is_relative_to(Path(__file__).parent):
            item.add_marker(pytest.mark.slow)


class Refused(Exception):
    """The answer of the server is an error."""

    def __init__(self, status: int, body: dict[str, Any]) -> None:
        self.status = status
        self.body = body
        super().__init__(f"{status} {body}")


class Api:
    """One HTTP connection to a server. The connection is opened on demand, and again after a failure."""

    def __init__(self, server: LiveServer, token: str | None = None) -> None:
        self.server = server
        self.token = token
        self._url = ""
        self._connection: http.client.HTTPConnection | None = None

    def send(
        self,
        verb: str,
        path: str,
        body: bytes | None = None,
        *,
        headers: dict[str, str] | None = None,
        sent: Callable[[], None] = lambda: None,
    ) -> tuple[http.client.HTTPResponse, bytes]:
        """Send one request and return the answer, also an error. Call `sent` when the request is on its way."""
        token = self.token or self.server.token
        given = {"Authorization": f"Bearer {token}", "Content-Type": "application/json", **(headers or {})}
        given = {name: value for name, value in given.items() if value}
        try:
            connection = self._connected()
            connection.request(verb, path, body, given)
            sent()
            answer = connection.getresponse()
            text = answer.read()
        except (OSError, http.client.HTTPException):
            self.close()
            raise
        if answer.will_close:
            self.close()
        return answer, text

    def call(self, verb: str, path: str, /, *, key: str = "", **fields: Any) -> Any:
        """Return the answer to one operation, or raise `Refused`."""
        body = None
        if verb == "GET":
            path = f"{path}?{urlencode(fields, doseq=True)}"
        else:
            body = json.dumps(fields).encode()
        answer, text = self.send(verb, path, body, headers={"Idempotency-Key": key})
        told = json.loads(text)
        if answer.status != 200:
            raise Refused(answer.status, told)
        return told

    def events(self) -> list[dict[str, Any]]:
        """Return all events of the log."""
        found: list[dict[str, Any]] = []
        while True:
            since = found[-1]["seq"] if found else 0
            page = self.call("GET", "/api/events", since=since)
            found += page["events"]
            if page["cursor"] is None:
                return found

    def tasks(self, project: str) -> list[dict[str, Any]]:
        """Return all tasks of a project."""
        found: list[dict[str, Any]] = []
        cursor: str | None = ""
        while cursor is not None:
            page = self.call("GET", "/api/tasks", project=project, limit=500, cursor=cursor, archived="true")
            found += page["tasks"]
            cursor = page["cursor"]
        return found

    def task(self, task_id: str) -> dict[str, Any]:
        shown: dict[str, Any] = self.call("GET", f"/api/tasks/{quote(task_id, safe='')}")
        return shown

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _connected(self) -> http.client.HTTPConnection:
        url = self.server.url  # the address changes when the server is started again
        if self._connection is None or url != self._url:
            self.close()
            self._url = url
            place = urlsplit(url)
            assert place.hostname is not None
            self._connection = http.client.HTTPConnection(place.hostname, place.port, timeout=SECONDS_MAX)
        return self._connection


Connect = Callable[..., Api]


@pytest.fixture
def connect() -> Iterator[Connect]:
    """Make connections, and close them after the test."""
    made: list[Api] = []

    def make(server: LiveServer, token: str | None = None) -> Api:
        made.append(Api(server, token))
        return made[-1]

    yield make
    for api in made:
        api.close()


@pytest.fixture
def init(tmp_path: Path) -> Callable[[Api, str], str]:
    """Return a function that registers a plain directory as a project and returns the project's id."""

    def register(api: Api, name: str = "vc") -> str:
        folder = tmp_path / name
        folder.mkdir()
        place: dict[str, Any] = api.call("POST", "/api/projects", path=str(folder), name=name)
        return str(place["project"]["id"])

    return register


@dataclass(frozen=True)
class Seat:
    """A session, or the person, that runs commands."""

    server: LiveServer
    folder: Path
    id: str
    name: str
    token: str

    @property
    def env(self) -> dict[str, str]:
        return {"MAESTRO_TOKEN": self.token}

    def run(self, *words: str, code: int = 0) -> Any:
        """Return the answer of one command. The command must end with the exit code."""
        done = self.server.run_command(*words, "--json", cwd=self.folder, env=self.env)
        assert done.returncode == code, f"{' '.join(words)}: {done}"
        return json.loads(done.stdout or "null")

    def begin(self, *words: str, **options: Any) -> subprocess.Popen[bytes]:
        """Start a command. The options are the options of `LiveServer.start_command`."""
        return self.server.start_command(
            *words, cwd=self.folder, **{**options, "env": self.env | options.get("env", {})}
        )


class Office:
    """A project on a server, with the person and the sessions that join."""

    def __init__(self, server: LiveServer, folder: Path) -> None:
        folder.mkdir()
        self.server = server
        self.folder = folder
        self.person = Seat(server, folder, "human", "human", server.token)
        self.project = self.person.run("init")["project"]["id"]

    def join(self, name: str, *words: str, by: Seat | None = None) -> Seat:
        made = (by or self.person).run("session", "register", "--name", name, *words)
        return Seat(self.server, self.folder, made["id"], name, made["token"])

    def send(self, to: str, subject: str, *words: str, by: Seat | None = None) -> str:
        """Send a message whose text is the subject; return the message's id."""
        words = ("--subject", subject, *(words or ("--message", subject)))
        sent: dict[str, str] = (by or self.person).run("mail", "send", to, *words)
        return sent["id"]

    def receipts(self, message: str) -> dict[str, str]:
        """Return the delivery status of a message for each recipient."""
        told = self.person.run("mail", "status", message)
        return {one["mailbox"]: one["status"] for one in told["deliveries"]}


@pytest.fixture
def make_office(tmp_path: Path) -> Callable[[LiveServer], Office]:
    return lambda server: Office(server, tmp_path / "vc")


@pytest.fixture
def office(live: LiveServer, make_office: Callable[[LiveServer], Office]) -> Office:
    return make_office(live)


@pytest.fixture(scope="session")
def clients(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[str, ...]]:
    """Return the command of each client: the Python client, and the native client if there is a compiler."""
    directory = tmp_path_factory.mktemp("bin")
    python = directory / "maestro-py"
    python.write_text(Path(script.__file__).read_text().replace("#!python", f"#!{sys.executable}", 1))
    python.chmod(0o755)
    (directory / "python").symlink_to(sys.executable)
    found = {"python": PYTHON_CLIENT}
    if build.find_compiler():
        assert build.compile_client(directory / "maestro", version=maestro.__version__)
        found["native"] = (str(directory / "maestro"),)
    return found


@pytest.fixture(params=["python", "native"])
def client(request: pytest.FixtureRequest, clients: dict[str, tuple[str, ...]]) -> tuple[str, ...]:
    """Return the command of one client."""
    if request.param not in clients:
        pytest.skip("no C compiler on this machine")
    return clients[request.param]


class Log:
    """The state of all tasks, computed from the log alone."""

    def __init__(self, events: list[dict[str, Any]]) -> None:
        self.status: dict[str, str] = {}
        self.holder: dict[str, str | None] = {}
        self.edges: set[tuple[str, str]] = set()
        for place, event in enumerate(events, 1):
            assert event["seq"] == place, (
                f"the log has a gap: the event at position {place} has the number {event['seq']}"
            )
            self._take(event["kind"], event["subject"], event["data"])

    def _take(self, kind: str, subject: str, data: dict[str, Any]) -> None:
        if kind == "task.created":
            assert subject not in self.status
            self.status[subject], self.holder[subject] = data["status"], None
        elif kind == "task.deleted":
            del self.status[subject], self.holder[subject]
            self.edges = {edge for edge in self.edges if edge[0] != subject}
        elif kind == "task.dependency_added":
            assert (subject, data["on"]) not in self.edges
            self.edges.add((subject, data["on"]))
        elif kind == "task.dependency_removed":
            self.edges.remove((subject, data["on"]))
        elif kind.startswith("task.") and "from" in data:
            assert self.status[subject] == data["from"], f"{kind} does not follow from the earlier status"
            self.status[subject] = data["status"]
            if kind == "task.started":
                assert self.holder[subject] is None, "the task was claimed while another session held it"
                self.holder[subject] = data["holder"]
            elif kind.removeprefix("task.") in _LETS_GO:
                self.holder[subject] = None


@pytest.fixture
def assert_log_agrees() -> Callable[[Api, str], None]:
    """Return a check that the log and the tables agree about each task."""

    def check(api: Api, project: str) -> None:
        log = Log(api.events())
        shown = [api.task(task["id"]) for task in api.tasks(project)]
        assert {task["id"]: task["status"] for task in shown} == log.status
        assert {task["id"]: task["holder"] for task in shown} == log.holder
        assert {(task["id"], on["id"]) for task in shown for on in task["dependencies"]} == log.edges
        for task in shown:
            waits_on = [on for on in task["dependencies"] if on["status"] != "completed"]
            assert task["open_blockers"] == len(waits_on), f"{task['ref']} has a wrong number of open dependencies"
            assert task["ready"] == (task["status"] == "todo" and not waits_on)

    return check
