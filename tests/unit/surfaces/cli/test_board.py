"""Bare `maestro`: what needs you comes first, then how the project stands."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from maestro.core.errors import NotFound
from maestro.domain.callers import Caller, Role
from maestro.domain.sessions import SessionStatus
from maestro.operations.asks import AskList
from maestro.operations.projects import ProjectDetail
from maestro.operations.runs import RunList
from maestro.operations.sessions import CallerIdentity, SessionList, StatusFilter
from maestro.operations.task_shapes import TaskList
from maestro.testing.factories import make_ask, make_session, make_task

NOBODY = Caller(Role.NOBODY, "nobody")
ASK = make_ask(id="ask_1", asked_by="parser", title="Drop the table?", choices=["yes", "no"])


@pytest.fixture
def board(app: Any, project: Any) -> Any:
    detail = ProjectDetail(**msgspec.structs.asdict(project), workspaces=[], tasks={"todo": 3, "ready": 1})
    app.answers["project.show"] = detail
    app.answers["task.list"] = TaskList(tasks=[make_task(number=2, title="Running")])
    app.answers["run.list"] = RunList(runs=[])
    app.answers["task.ready"] = TaskList(tasks=[make_task(number=3, title="Waiting for you")])
    needs(app)
    return detail


def needs(app: Any, *, asks: list[Any] | None = None, unread: int = 0, troubled: list[Any] | None = None) -> None:
    """What waits for the person; `troubled` are sessions, listed under their status."""
    app.answers["ask.list"] = AskList(asks=asks or [])
    app.answers["caller.whoami"] = CallerIdentity(role=Role.PERSON, name="dana", human="dana", unread=unread)

    async def listed(request: Any) -> SessionList:
        if request.status is None:  # who holds what
            return SessionList(sessions=[])
        return SessionList(sessions=[one for one in troubled or [] if one.status.value == request.status.value])

    app.answers["session.list"] = listed


async def test_the_board(cli: Any, app: Any, board: Any) -> None:
    ended = await cli.run("")
    assert ended.code == 0
    assert ended.out.startswith("vc  github.com/acme/vc\ntasks: 3 todo (1 ready)\n")
    assert "Running" in ended.out and "Waiting for you" in ended.out
    assert ended.err == "next: maestro task start vc#3\n"
    assert (await cli.run("--json")).json["ready"][0]["ref"] == "vc#3"


async def test_what_needs_you_stands_first(cli: Any, app: Any, board: Any) -> None:
    needs(app, asks=[ASK], unread=2)
    ended = await cli.run("")
    lines = ended.out.splitlines()
    assert lines[0] == "needs you"
    assert lines[1].split()[0] == "ask_1" and "parser" in lines[1] and "Drop the table?  [yes / no]" in lines[1]
    assert ended.out.index("2 unread  maestro mail inbox") < ended.out.index("github.com/acme/vc")
    assert ended.err == "next: maestro ask answer ask_1 …\n"
    shown = (await cli.run("--json")).json
    assert [one["id"] for one in shown["asks"]] == ["ask_1"] and shown["unread"] == 2


async def test_unread_mail_is_the_next_step_when_nobody_asks(cli: Any, app: Any, board: Any) -> None:
    needs(app, unread=1)
    ended = await cli.run("")
    assert ended.out.startswith("1 unread") and ended.err == "next: maestro mail inbox\n"


async def test_sessions_in_trouble_are_on_it(cli: Any, app: Any, board: Any) -> None:
    needs(
        app,
        troubled=[
            make_session(name="gone", status=SessionStatus.LOST),
            make_session(name="stuck", status=SessionStatus.FAILED),
        ],
    )
    ended = await cli.run("")
    rows = [line.split()[:2] for line in ended.out.splitlines()]
    assert ["gone", "lost"] in rows and ["stuck", "failed"] in rows
    asked = {call.request.status for call in app.calls if call.operation == "session.list"} - {None}
    assert asked == {StatusFilter.NEEDS_INPUT, StatusFilter.LOST, StatusFilter.FAILED}


async def test_the_board_of_another_project(cli: Any, app: Any, board: Any) -> None:
    await cli.run("--project other")
    of_one = {call.request.project for call in app.calls if call.operation not in ("ask.list", "caller.whoami")}
    assert of_one == {"other"}
    (asked,) = [call.request for call in app.calls if call.operation == "ask.list"]
    assert asked.project == ""  # who needs you is told of every project


async def test_the_board_outside_a_project(cli: Any, app: Any, board: Any) -> None:
    app.answers["project.locate"] = NotFound("Not a checkout.")
    ended = await cli.run("")
    assert ended.code == 0 and ended.out == "" and "maestro init" in ended.err
    needs(app, asks=[ASK])
    assert "Drop the table?" in (await cli.run("")).out
    app.caller = NOBODY
    calls = len(app.calls)
    assert "maestro help" in (await cli.run("")).err and len(app.calls) == calls
