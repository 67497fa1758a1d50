"""Which project a command is about."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from maestro.core.errors import Conflict, NotFound, NotPermitted
from maestro.domain.callers import Caller, Role
from maestro.operations.projects import ProjectDetail
from maestro.operations.task_shapes import TaskList

WORKER = Caller(Role.WORKER, "ses_1", session_id="ses_1", project_id="prj_session", human="dana")


@pytest.fixture(autouse=True)
def answered(app: Any, project: Any) -> None:
    app.answers["task.list"] = app.answers["task.show"] = app.answers["task.wait"] = TaskList(tasks=[])
    app.answers["project.show"] = ProjectDetail(**msgspec.structs.asdict(project), workspaces=[], tasks={})
    app.answers["project.list"] = TaskList(tasks=[])


def operations(app: Any) -> list[str]:
    return [call.operation for call in app.calls]


async def test_the_directory_decides(cli: Any, app: Any, project: Any) -> None:
    await cli.run("task list")
    assert operations(app) == ["project.locate", "task.list"]
    assert app.calls[0].request.path == "/src/dave/vc"
    assert app.last.request.project == project.id


async def test_the_flag_wins_over_all(cli: Any, app: Any) -> None:
    app.caller = WORKER
    await cli.run("task list --project other", env={"MAESTRO_PROJECT_ID": "prj_env"})
    assert operations(app) == ["task.list"] and app.last.request.project == "other"


async def test_then_the_environment(cli: Any, app: Any) -> None:
    await cli.run("task list", env={"MAESTRO_PROJECT_ID": "prj_env"})
    assert operations(app) == ["task.list"] and app.last.request.project == "prj_env"


async def test_a_session_has_its_own(cli: Any, app: Any) -> None:
    app.caller = WORKER
    await cli.run("task list")
    assert operations(app) == ["task.list"] and app.last.request.project == ""


async def test_outside_a_checkout_the_service_says_so(cli: Any, app: Any) -> None:
    app.answers["project.locate"] = NotFound("Not a checkout.")
    assert (await cli.run("task list")).code == 0
    assert app.last.request.project == ""


async def test_notes_about_the_place_are_told(cli: Any, app: Any, place: Any) -> None:
    app.answers["project.locate"] = msgspec.structs.replace(place, notes=["Registered project vc."])
    ended = await cli.run("task list --json")
    assert ended.err == "Registered project vc.\n"


async def test_a_directory_without_a_clear_project_is_an_error(cli: Any, app: Any) -> None:
    app.answers["project.locate"] = Conflict("Two remotes.")
    ended = await cli.run("task list")
    assert ended.code == 5 and "Two remotes." in ended.err
    assert (await cli.run('task show "#1"')).code == 5


@pytest.mark.parametrize("line", ["task show vc#1", "task wait vc#1 tsk_01m7ggjbqhe968zwz7qqr0hncq"])
async def test_unless_the_tasks_say_it_themselves(cli: Any, app: Any, line: str) -> None:
    app.answers["project.locate"] = Conflict("Two remotes.")
    assert (await cli.run(line)).code == 0
    assert app.last.request.project == ""


async def test_project_show_is_about_the_directorys(cli: Any, app: Any, project: Any) -> None:
    await cli.run("project show")
    assert app.last.request.project == project.id
    await cli.run("project show other")
    assert app.last.request.project == "other"
    await cli.run("project show --project other")
    assert app.last.request.project == "other"
    app.caller = WORKER
    await cli.run("project show")
    assert app.last.request.project == "prj_session"


async def test_project_show_outside_a_checkout_says_why(cli: Any, app: Any) -> None:
    app.answers["project.locate"] = NotFound("Not a checkout.")
    ended = await cli.run("project show")
    assert ended.code == 6 and ended.err.startswith("maestro: Not a checkout.")


async def test_two_projects_are_one_too_many(cli: Any) -> None:
    ended = await cli.run("project show one --project other")
    assert ended.code == 2 and "names two projects" in ended.err


async def test_whoever_may_not_call_is_told_so_and_nothing_is_registered(cli: Any, app: Any) -> None:
    app.caller = Caller(Role.NOBODY, "nobody")
    app.answers["task.list"] = NotPermitted("Nobody may list.")
    ended = await cli.run("task list")
    assert ended.code == 4 and operations(app) == ["task.list"]


async def test_where_no_project_is_needed_none_is_looked_for(cli: Any, app: Any) -> None:
    await cli.run("project list --project vc")
    assert operations(app) == ["project.list"]
