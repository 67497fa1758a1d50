"""Tests that agents of another project see no private texts, and that no caller ends the run of another caller."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from tests.security.sweep.world import World, find_markers, open_world

from maestro.testing.mcp_wire import McpWire

ISSUE = "victim.friend-issue"
ISSUE_TITLE = {"victim.friend-issue-title"}


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with open_world(tmp_path_factory.mktemp("private")) as made:
        yield made


def ask(world: World, who: str, verb: str, path: str, **fields: Any) -> tuple[int, set[str], str]:
    """Call a route as a named caller. Return the status, the marked secrets in the answer, and the answer's text."""
    headers = {"Authorization": f"Bearer {world.tokens.get(who) or world.live.token}"}
    given: dict[str, Any] = {"json": fields} if fields else {}
    answer = world.http.request(verb, path, headers=headers, **given)
    return answer.status_code, find_markers(answer.text), answer.text


def foreign(found: set[str]) -> set[str]:
    """Return the secrets that do not belong to the project of the caller."""
    return {one for one in found if not one.startswith("evil.")}


@pytest.mark.parametrize("mode", ["execute", "coordinate", "plan"])
@pytest.mark.parametrize("task", [ISSUE, "victim.task", "friend.task"])
def test_a_dry_run_with_a_task_of_another_project_is_refused(world: World, mode: str, task: str) -> None:
    request = {"tool": "claude", "mode": mode, "task": [world.refs[task]], "dry_run": True}
    status, found, text = ask(world, "coordinator", "POST", "/api/sessions/spawn", **request)
    assert (status, foreign(found)) == (403, set()), text


@pytest.mark.parametrize("mode", ["execute", "plan"])
def test_a_session_cannot_register_for_a_task_of_another_project(world: World, mode: str) -> None:
    request = {"name": f"stray-{mode}", "mode": mode, "task": [world.refs[ISSUE]]}
    status, _, text = ask(world, "coordinator", "POST", "/api/sessions", **request)
    assert status == 403, text


@pytest.mark.parametrize(("task", "title"), [(ISSUE, ISSUE_TITLE), ("victim.task", {"victim.title"})])
def test_a_reference_to_another_project_in_a_dry_run_shows_only_the_title(
    world: World, task: str, title: set[str]
) -> None:
    request = {"tool": "claude", "reference": [world.refs[task]], "dry_run": True}
    status, found, text = ask(world, "coordinator", "POST", "/api/sessions/spawn", **request)
    assert (status, foreign(found)) == (200, title), text


@pytest.mark.parametrize("who", ["coordinator", "worker"])
@pytest.mark.parametrize(
    "path",
    [
        "/api/tasks/{id}",
        "/api/issues/{id}",
        "/api/timeline?task={id}",
        "/api/timeline/export?task={id}",
    ],
)
def test_a_third_project_sees_only_the_title_of_an_issue(world: World, who: str, path: str) -> None:
    status, found, text = ask(world, who, "GET", path.format(id=world.refs[ISSUE]))
    assert (status, foreign(found)) == (200, ISSUE_TITLE), text


def test_the_mcp_resource_of_an_issue_shows_only_the_title_to_a_third_project(world: World) -> None:
    wire = McpWire(world.live, world.tokens["worker"])
    params = {"uri": f"maestro://tasks/{world.refs[ISSUE]}"}
    answer = wire.post_message(
        {"jsonrpc": "2.0", "id": 1, "method": "resources/read", "params": params}, headers=wire.initialize_session()
    )
    wire.http.close()
    assert answer.status_code == 200
    assert foreign(find_markers(answer.text)) == ISSUE_TITLE, answer.text


@pytest.mark.parametrize("who", ["coordinator", "worker"])
@pytest.mark.parametrize(
    "path", ["/api/runs?project=victim", "/api/worktrees?project=victim", "/api/worktrees/{id}/diff"]
)
def test_only_agents_of_the_project_see_its_runs_and_worktrees(world: World, who: str, path: str) -> None:
    status, found, text = ask(world, who, "GET", path.format(id=world.refs["victim.agent"]))
    assert (status, foreign(found)) == (403, set()), text
    status, _, text = ask(world, "peer", "GET", path.format(id=world.refs["victim.agent"]))
    assert status == 200, text


@pytest.mark.parametrize("who", ["coordinator", "worker"])
@pytest.mark.parametrize("path", ["/api/tasks/{id}", "/api/tasks?project=victim", "/api/timeline/export?task={id}"])
def test_another_project_sees_only_the_title_of_a_task(world: World, who: str, path: str) -> None:
    status, found, text = ask(world, who, "GET", path.format(id=world.refs["victim.task"]))
    outlines = {"victim.title", "victim.friend-issue-title"}
    own_issue = {one for one in found if one.startswith("victim.evil-issue")}
    assert (status, foreign(found) - outlines - own_issue) == (200, set()), text
    assert "victim.title" in found


@pytest.mark.parametrize("path", ["/api/members/{member}", "/api/members?project=victim", "/api/teams/{team}"])
def test_another_project_sees_only_name_and_role_of_a_member(world: World, path: str) -> None:
    names = {name: world.refs[f"victim.{name}"] for name in ("member", "team")}
    status, found, text = ask(world, "worker", "GET", path.format(**names))
    assert (status, foreign(found)) == (200, {"victim.role"}), text


def test_a_race_does_not_show_the_text_of_an_issue_to_a_third_project(world: World) -> None:
    task = world.call(world.tokens["friend.boss"], "POST", "/api/issues", to="victim", title="A race", message="x")
    world.person("PATCH", f"/api/tasks/{task['id']}", description="SECRET-victim-race-7f3a")
    request = {"task": task["id"], "strategy": "race", "attempts": 2, "arguments": ["true"], "detach": True}
    waits = world.person("POST", "/api/tasks", project="victim", title="Never done")
    world.person("POST", f"/api/tasks/{task['id']}/dependencies", on=[waits["id"]])
    run = world.person("POST", "/api/runs", project="victim", path=world.refs["victim.folder"], **request)
    try:
        children = [one["id"] for one in world.person("GET", f"/api/tasks/{task['id']}/children")["tasks"]]
        assert len(children) == 2
        for path in [f"/api/tasks/{task['id']}/children", *(f"/api/tasks/{child}" for child in children)]:
            status, found, text = ask(world, "worker", "GET", path)
            assert (status, "victim.race" in found) == (200, False), text
            assert "victim.race" in ask(world, "peer", "GET", path)[1]
    finally:
        world.person("POST", f"/api/runs/{run['id']}/stop")


@pytest.mark.parametrize(
    ("verb", "path", "fields"),
    [
        ("POST", "/api/tasks/{id}/cancel", {}),
        ("DELETE", "/api/tasks/{id}", {}),
    ],
)
def test_a_coordinator_cannot_end_the_run_of_another_caller_by_cancelling_or_deleting_the_task(
    world: World, verb: str, path: str, fields: dict[str, Any]
) -> None:
    """Try as a coordinator of the project to end a run that the person started."""
    waiting, run = world.refs["victim.waiting"], world.refs["victim.run"]
    status, _, text = ask(world, "victim.boss", verb, path.format(id=waiting), **fields)
    assert status == 403, text
    assert "run" in text
    assert world.person("GET", f"/api/runs/{run}")["status"] == "running"
    assert world.person("GET", f"/api/tasks/{waiting}")["status"] == "todo"


def test_a_coordinator_cannot_end_the_run_of_another_caller_by_refusing_the_issue(world: World) -> None:
    opened = world.call(world.tokens["friend.boss"], "POST", "/api/issues", to="victim", title="A run", message="x")
    waits = world.person("POST", "/api/tasks", project="victim", title="Never done")["id"]
    world.person("POST", f"/api/tasks/{opened['id']}/dependencies", on=[waits])
    fields = {"project": "victim", "path": world.refs["victim.folder"], "task": opened["id"], "arguments": ["true"]}
    run = world.person("POST", "/api/runs", detach=True, **fields)["id"]
    path = f"/api/issues/{opened['id']}/close"
    status, _, text = ask(world, "victim.boss", "POST", path, message="No.", wont_fix=True)
    assert status == 403, text
    assert world.person("GET", f"/api/runs/{run}")["status"] == "running"
    world.person("POST", f"/api/runs/{run}/stop")


def test_the_caller_that_started_a_run_ends_the_run_by_cancelling_the_task(world: World) -> None:
    waits = world.person("POST", "/api/tasks", project="victim", title="Never done")["id"]
    task = world.person("POST", "/api/tasks", project="victim", title="Mine", depends_on=[waits])["id"]
    fields = {"project": "victim", "path": world.refs["victim.folder"], "task": task, "arguments": ["true"]}
    run = world.person("POST", "/api/runs", detach=True, **fields)["id"]
    world.person("POST", f"/api/tasks/{task}/cancel")
    stopped = world.wait_until(lambda: world.person("GET", f"/api/runs/{run}")["status"] != "running", "the end")
    assert stopped


def test_both_parties_of_an_issue_and_the_person_read_all_texts_of_the_issue(world: World) -> None:
    wanted = {
        f"victim.friend-issue-{part}" for part in ("title", "text", "reason", "paper-title", "paper-file", "gate")
    }
    for who in ("peer", "friend.peer", "person"):
        status, found, text = ask(world, who, "GET", f"/api/tasks/{world.refs[ISSUE]}")
        assert status == 200, text
        assert wanted <= found, who


def test_a_task_can_wait_for_a_task_of_another_project(world: World) -> None:
    made = world.call(
        world.tokens["coordinator"], "POST", "/api/tasks", title="Waits", depends_on=[world.refs["victim.task"]]
    )
    shown = world.call(world.tokens["worker"], "GET", f"/api/tasks/{made['id']}")
    (blocker,) = shown["blockers"]
    assert set(blocker) == {"id", "ref", "title", "status"} and blocker["status"] == "blocked"
