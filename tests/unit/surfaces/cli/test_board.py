"""`maestro` without arguments shows asks and mail for the person first, and then the state of the project."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from maestro.core.errors import NotFound
from maestro.domain.callers import Caller, Role
from maestro.domain.sessions import SessionStatus
from maestro.operations.asks import AskList
from maestro.operations.projects import ProjectDetail
from maestro.operations.runs import RunList
from maestro.operations.sessions import CallerIdentity, ListedSession, SessionList, StatusFilter
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


NOW, AGES_AGO = datetime.now(UTC), datetime(2026, 1, 1, tzinfo=UTC)


def listed(**fields: Any) -> ListedSession:
    return ListedSession(**msgspec.structs.asdict(make_session(**fields)), project="vc")


def needs(
    app: Any,
    *,
    asks: list[Any] | None = None,
    unread: int = 0,
    troubled: list[Any] | None = None,
    live: list[Any] | None = None,
) -> None:
    """Set the answers about asks, unread mail and sessions. A status filter finds its sessions in `troubled`."""
    app.answers["ask.list"] = AskList(asks=asks or [])
    app.answers["caller.whoami"] = CallerIdentity(role=Role.PERSON, name="dana", human="dana", unread=unread)

    async def list_sessions(request: Any) -> SessionList:
        if request.status is None:
            return SessionList(sessions=live or [])
        return SessionList(sessions=[one for one in troubled or [] if one.status.value == request.status.value])

    app.answers["session.list"] = list_sessions


async def test_the_board_shows_counts_tasks_and_the_next_step(cli: Any, app: Any, board: Any) -> None:
    ended = await cli.run("")
    assert ended.code == 0
    assert ended.out.startswith("vc  github.com/acme/vc\ntasks: 3 todo (1 ready)\n")
    assert "Running" in ended.out and "Waiting for you" in ended.out
    assert ended.err == "next: maestro task start vc#3\n"
    assert (await cli.run("--json")).json["ready"][0]["ref"] == "vc#3"


async def test_the_board_shows_open_asks_and_unread_mail_first(cli: Any, app: Any, board: Any) -> None:
    needs(app, asks=[ASK], unread=2)
    ended = await cli.run("")
    lines = ended.out.splitlines()
    assert lines[0] == "needs you"
    assert lines[1].split()[0] == "ask_1" and "parser" in lines[1] and "Drop the table?  [yes / no]" in lines[1]
    assert ended.out.index("2 unread  maestro mail inbox") < ended.out.index("github.com/acme/vc")
    assert ended.err == "next: maestro ask answer ask_1 …\n"
    shown = (await cli.run("--json")).json
    assert [one["id"] for one in shown["asks"]] == ["ask_1"] and shown["unread"] == 2


async def test_unread_mail_is_the_next_step_of_the_board_without_open_asks(cli: Any, app: Any, board: Any) -> None:
    needs(app, unread=1)
    ended = await cli.run("")
    assert ended.out.startswith("1 unread") and ended.err == "next: maestro mail inbox\n"


async def test_the_board_shows_lost_and_failed_sessions(cli: Any, app: Any, board: Any) -> None:
    needs(
        app,
        troubled=[
            listed(name="gone", status=SessionStatus.LOST, ended_at=NOW, status_at=NOW),
            listed(name="stuck", status=SessionStatus.FAILED, ended_at=NOW, status_at=NOW),
            listed(name="old", status=SessionStatus.LOST, ended_at=AGES_AGO, status_at=AGES_AGO),
        ],
    )
    ended = await cli.run("")
    rows = [line.split()[:2] for line in ended.out.splitlines()]
    assert ["gone", "lost"] in rows and ["stuck", "failed"] in rows and ["old", "lost"] not in rows
    asked = {call.request.status for call in app.calls if call.operation == "session.list"} - {None}
    assert asked == {StatusFilter.LOST, StatusFilter.FAILED}


async def test_the_board_of_the_person_shows_the_live_sessions_of_all_projects(
    cli: Any, app: Any, board: Any
) -> None:
    five = [listed(name=f"claude-{number}", status=SessionStatus.IDLE) for number in range(1, 6)]
    needs(app, live=five)
    ended = await cli.run("")
    assert [line.split()[0] for line in ended.out.splitlines()[1:6]] == [session.name for session in five]
    assert ended.out.index("claude-5") < ended.out.index("tasks: 3 todo")
    (request,) = [
        call.request for call in app.calls if call.operation == "session.list" and call.request.status is None
    ]
    assert request.all_projects and request.active
    assert [session["name"] for session in (await cli.run("--json")).json["sessions"]] == [
        session.name for session in five
    ]


async def test_the_board_of_another_project_shows_the_asks_of_all_projects(cli: Any, app: Any, board: Any) -> None:
    await cli.run("--project other")
    requests = [call.request for call in app.calls if call.operation not in ("ask.list", "caller.whoami")]
    of_all = [request for request in requests if getattr(request, "all_projects", False)]
    assert {request.project for request in requests if request not in of_all} == {"other"} and len(of_all) == 1
    (asked,) = [call.request for call in app.calls if call.operation == "ask.list"]
    assert asked.project == ""  # the board lists the asks of every project


async def test_the_board_outside_a_project_shows_asks_and_hints_only(cli: Any, app: Any, board: Any) -> None:
    app.answers["project.locate"] = NotFound("Not a checkout.")
    ended = await cli.run("")
    assert ended.code == 0 and ended.out == "" and "maestro init" in ended.err
    needs(app, asks=[ASK])
    assert "Drop the table?" in (await cli.run("")).out
    app.caller = NOBODY
    calls = len(app.calls)
    assert "maestro help" in (await cli.run("")).err and len(app.calls) == calls
