"""Each answer of the API, to valid and to invalid requests, conforms to the OpenAPI description."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    negative_data_rejection,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from maestro.operations.registry import REGISTRY
from maestro.testing.live import LiveServer

# These operations end the server or write files anywhere. Separate tests below call them.
APART = {"server.stop", "server.backup"}
ALL = sorted(set(REGISTRY) - APART)
EXAMPLES = 20
# Operations with a time limit in the body.
WAITING = ("mail.wait", "session.wait", "ask.wait", "ask.create", "mail.send", "mail.reply", "session.prompt")
WAIT_MILLIS = 20

AS_DECLARED = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
]


class World:
    """A server with a project, tasks, members and sessions, and its OpenAPI description."""

    def __init__(self, server: LiveServer, folder: Path) -> None:
        self.server = server
        self.session = requests.Session()
        self.session.headers["Authorization"] = f"Bearer {server.token}"
        self.schema = schemathesis.openapi.from_url(f"{server.url}/api/openapi.json")
        found = [result.ok() for result in self.schema.get_all_operations()]
        self.operations = {operation.definition.raw["operationId"]: operation for operation in found}
        folder.mkdir()
        self.folder = folder
        self.project = self.post("/api/projects", path=str(folder), name="vc")["project"]["id"]
        self.tasks = [self.post("/api/tasks", project=self.project, title=f"t{number}")["id"] for number in range(6)]
        self.document = self.post(f"/api/tasks/{self.tasks[0]}/documents", title="d", content="aGVsbG8=")["id"]
        people = [self.post("/api/members", project=self.project, name=f"m{number}", role="x") for number in range(4)]
        self.members = [member["id"] for member in people]
        self.team = self.post("/api/teams", project=self.project, name="team-1", members=self.members)["id"]
        self.worker = requests.Session()
        made = self.post("/api/sessions", project=self.project, name="worker")
        self.worker.headers["Authorization"] = f"Bearer {made['token']}"
        for task, move in ((1, "start"), (2, "start"), (2, "complete"), (3, "cancel")):
            self.post(f"/api/tasks/{self.tasks[task]}/{move}")

    def ids(self, path: str) -> list[str]:
        """Return the possible values of `{id}` in a path."""
        if "/documents/{id}" in path:
            return [self.document]
        if path.startswith("/api/members/"):
            return self.members
        return [self.team] if path.startswith("/api/teams/") else self.tasks

    def remember(self, name: str, answer: Any) -> None:
        """Remember a created task, and forget a deleted task."""
        if name == "task.create":
            self.tasks.append(answer["id"])
        elif name == "task.delete":
            self.tasks.remove(answer["id"])

    def post(self, path: str, /, **fields: Any) -> Any:
        answer = self.session.post(self.server.url + path, json=fields, timeout=30)
        assert answer.status_code == 200, answer.text
        return answer.json()


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    folder = tmp_path_factory.mktemp("openapi")
    with LiveServer(folder / "live") as server:
        world = World(server, folder / "vc")
        with world.session, world.worker:
            yield world


def sensible(world: World) -> dict[str, st.SearchStrategy[Any]]:
    """Return strategies for values that exist on the server, by the name of their field."""
    task = st.sampled_from(world.tasks)
    return {
        "project": st.just(world.project),
        "depends_on": st.lists(task, max_size=2),
        "on": st.lists(task, min_size=1, max_size=2),
        "ids": st.lists(task, min_size=1, max_size=2),
        "parent": task,
        "found_in": task,
        "members": st.lists(st.sampled_from(world.members), min_size=1, max_size=2),
        "leader": st.sampled_from(world.members),
        "allow": st.just(["task.cancel"]),
        "deny": st.just(["task create"]),
        "stage": st.sampled_from(["plan", "verify"]),
        "fence": st.integers(0, 2),
        "content": st.sampled_from(["", "aGVsbG8="]),
        "path": st.sampled_from([str(world.folder), "/nowhere"]),
        "cursor": st.sampled_from(["", "1", "0.1"]),
    }


def point(case: Any, world: World, dice: st.DataObject) -> None:
    """Let a request refer to existing objects. Otherwise almost all answers would be `not found`."""
    given = case.path_parameters or {}
    if "id" in given:
        given["id"] = dice.draw(st.sampled_from(world.ids(case.path)))
    if "project" in given:
        given["project"] = world.project
    fields = case.body if isinstance(case.body, dict) else case.query
    known = sensible(world)
    if isinstance(fields, dict):
        declared = declares_project(case.operation)
        for name in [*fields, *(["project"] if declared else [])]:
            if name in known and (name == "project" or fields[name]):
                fields[name] = dice.draw(known[name])


def declares_project(operation: Any) -> bool:
    raw = operation.definition.raw
    if "requestBody" not in raw:
        return any(parameter["name"] == "project" and parameter["in"] == "query" for parameter in raw["parameters"])
    (content,) = raw["requestBody"]["content"].values()
    name = content["schema"]["$ref"].rpartition("/")[2]
    return "project" in operation.schema.raw_schema["components"]["schemas"][name]["properties"]


def hurry(case: Any, mode: GenerationMode) -> None:
    """Shorten a wait, unless its time limit is the invalid part of the request."""
    if not isinstance(case.body, dict) and mode is GenerationMode.POSITIVE:
        case.body = {}
    if isinstance(case.body, dict) and (mode is GenerationMode.POSITIVE or "timeout" not in case.body):
        case.body["timeout"] = WAIT_MILLIS


def well_asked(case: Any) -> bool:
    """Return whether a query that should be invalid is valid by chance."""
    raw = case.operation.definition.raw
    declared = {parameter["name"]: parameter for parameter in raw["parameters"]}
    if "requestBody" in raw or any(parameter["in"] != "query" for parameter in declared.values()):
        return False
    schema = {
        "components": case.operation.schema.raw_schema["components"],
        "properties": {name: parameter["schema"] for name, parameter in declared.items()},
        "required": [name for name, parameter in declared.items() if parameter.get("required")],
        "additionalProperties": False,
    }
    return bool(jsonschema.Draft202012Validator(schema).is_valid(case.query or {}))


def ask_at_random(world: World, name: str, mode: GenerationMode) -> int:
    """Call one operation with many requests; return the number of successful answers."""
    operation = world.operations[name]
    done = 0

    @given(case=operation.as_strategy(generation_mode=mode), dice=st.data())
    @settings(
        max_examples=EXAMPLES,
        derandomize=True,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
        phases=[Phase.generate],  # a search for a shorter failing request would take minutes
    )
    def ask(case: Any, dice: st.DataObject) -> None:
        nonlocal done
        if mode is GenerationMode.POSITIVE and dice.draw(st.integers(0, 9)):
            point(case, world, dice)
        if name == "task.wait" and mode is GenerationMode.POSITIVE:
            case.query["timeout"] = dice.draw(st.integers(0, WAIT_MILLIS))
        elif name == "task.wait" and "timeout" not in case.query:
            case.query["timeout"] = WAIT_MILLIS
        if name in WAITING:
            hurry(case, mode)
        with_token = world.worker if name == "session.heartbeat" else world.session
        answer = case.call(base_url=world.server.url, session=with_token, timeout=30)
        if answer.status_code == 200:
            done += 1
            world.remember(name, answer.json())
        bad = mode is GenerationMode.NEGATIVE and not well_asked(case)
        case.validate_response(answer, checks=[*AS_DECLARED, *([negative_data_rejection] if bad else [])])

    ask()
    return done


@pytest.mark.parametrize("name", ALL)
def test_a_valid_request_gets_a_declared_answer(world: World, name: str) -> None:
    ask_at_random(world, name, GenerationMode.POSITIVE)


@pytest.mark.parametrize("name", ALL)
def test_an_invalid_request_gets_a_declared_refusal(world: World, name: str) -> None:
    operation = world.operations[name]
    if not operation.body and not list(operation.iter_parameters()):
        pytest.skip("nothing can be asked of it badly")
    if name == "mail.wait":
        pytest.skip(
            "all its fields may be left out: what is refused here only after a long wait cannot be told apart"
        )
    ask_at_random(world, name, GenerationMode.NEGATIVE)


# The operations that end the server or write files.


@pytest.fixture
def own(tmp_path: Path, live: LiveServer) -> Iterator[World]:
    """Provide a server that a test may end."""
    world = World(live, tmp_path / "vc")
    with world.session, world.worker:
        yield world


def ask(world: World, name: str, *, token: requests.Session | None = None, **parts: Any) -> requests.Response:
    """Send one request, and check that the answer is declared."""
    case = world.operations[name].Case(**parts)
    answer: requests.Response = case.call(base_url=world.server.url, session=token or world.session, timeout=30)
    case.validate_response(answer, checks=AS_DECLARED)
    return answer


def test_a_backup_answers_as_declared(own: World, tmp_path: Path) -> None:
    def backup(file: str, **more: Any) -> int:
        return ask(own, "server.backup", body={"file": file}, media_type="application/json", **more).status_code

    target = tmp_path / "backup.tar"
    assert backup(str(target), token=own.worker) == 403
    assert backup(str(tmp_path / "nowhere" / "backup.tar")) == 404
    assert not target.exists()
    assert backup(str(target)) == 200
    before = target.read_bytes()
    assert backup(str(target)) == 409
    assert target.read_bytes() == before
    assert backup("backup.tar") == 400
    assert backup(f"{tmp_path}/{'x' * 300}") in (400, 404)


def test_a_stop_answers_as_declared_and_ends_the_server(own: World) -> None:
    empty: dict[str, Any] = {"body": {}, "media_type": "application/json"}
    assert ask(own, "server.stop", token=own.worker, **empty).status_code == 403
    assert ask(own, "server.status").status_code == 200
    answer = ask(own, "server.stop", **empty)
    assert own.server.process is not None
    assert answer.json() == {"pid": own.server.process.pid, "sessions": 1, "home": str(own.server.home)}
    assert own.server.process.wait(30) == 0


def test_the_stream_of_events_is_as_declared(own: World) -> None:
    last = own.session.get(f"{own.server.url}/api/status", timeout=30).json()["events"]
    headers = {"Accept": "text/event-stream", "Last-Event-ID": str(last - 2)}
    with own.session.get(f"{own.server.url}/api/events", headers=headers, stream=True, timeout=30) as answer:
        declared = own.operations["events.list"].definition.raw["responses"]["200"]["content"]
        assert answer.headers["content-type"] in declared
        lines = answer.iter_lines()
        ids = [line for line in (next(lines) for _ in range(8)) if line.startswith(b"id:")]
        assert ids == [b"id: %d" % (last - 1), b"id: %d" % last]


def test_a_wait_answers_as_declared(own: World) -> None:
    def wait(task: int, **more: Any) -> int:
        query = {"ids": [own.tasks[task]], "timeout": 50, **more}
        return ask(own, "task.wait", query=query).status_code

    assert wait(0) == 408  # open
    assert wait(0, until="ready") == 200
    assert wait(2) == 200  # completed
    assert wait(3) == 200  # cancelled: the answer says that the task will never be completed


def test_the_description_contains_every_operation_and_no_other(own: World) -> None:
    assert set(own.operations) == set(REGISTRY)
