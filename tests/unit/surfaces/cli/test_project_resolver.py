"""Flag, environment, session or directory decide to which project a command belongs."""

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


async def test_the_directory_of_the_person_decides_the_project(cli: Any, app: Any, project: Any) -> None:
    await cli.run("task list")
    assert operations(app) == ["project.locate", "task.list"]
    assert app.calls[0].request.path == "/src/dave/vc"
    assert app.last.request.project == project.id


async def test_the_project_flag_overrides_environment_session_and_directory(cli: Any, app: Any) -> None:
    app.caller = WORKER
    await cli.run("task list --project other", env={"MAESTRO_PROJECT_ID": "prj_env"})
    assert operations(app) == ["task.list"] and app.last.request.project == "other"


async def test_the_environment_overrides_the_directory(cli: Any, app: Any) -> None:
    await cli.run("task list", env={"MAESTRO_PROJECT_ID": "prj_env"})
    assert operations(app) == ["task.list"] and app.last.request.project == "prj_env"


async def test_a_session_uses_its_own_project(cli: Any, app: Any) -> None:
    app.caller = WORKER
    await cli.run("task list")
    assert operations(app) == ["task.list"] and app.last.request.project == ""


async def test_a_command_outside_a_checkout_is_sent_without_a_project(cli: Any, app: Any) -> None:
    app.answers["project.locate"] = NotFound("Not a checkout.")
    assert (await cli.run("task list")).code == 0
    assert app.last.request.project == ""


async def test_notes_about_the_location_go_to_standard_error(cli: Any, app: Any, place: Any) -> None:
    app.answers["project.locate"] = msgspec.structs.replace(place, notes=["Registered project vc."])
    ended = await cli.run("task list --json")
    assert ended.err == "Registered project vc.\n"


async def test_a_directory_without_a_clear_project_is_an_error(cli: Any, app: Any) -> None:
    app.answers["project.locate"] = Conflict("Two remotes.")
    ended = await cli.run("task list")
    assert ended.code == 5 and "Two remotes." in ended.err
    assert (await cli.run('task show "#1"')).code == 5


@pytest.mark.parametrize("line", ["task show vc#1", "task wait vc#1 tsk_01m7ggjbqhe968zwz7qqr0hncq"])
async def test_full_task_references_need_no_project_of_the_directory(cli: Any, app: Any, line: str) -> None:
    app.answers["project.locate"] = Conflict("Two remotes.")
    assert (await cli.run(line)).code == 0
    assert app.last.request.project == ""


async def test_project_show_uses_the_named_project_the_directory_or_the_session(
    cli: Any, app: Any, project: Any
) -> None:
    await cli.run("project show")
    assert app.last.request.project == project.id
    await cli.run("project show other")
    assert app.last.request.project == "other"
    await cli.run("project show --project other")
    assert app.last.request.project == "other"
    app.caller = WORKER
    await cli.run("project show")
    assert app.last.request.project == "prj_session"


async def test_project_show_outside_a_checkout_reports_the_reason(cli: Any, app: Any) -> None:
    app.answers["project.locate"] = NotFound("Not a checkout.")
    ended = await cli.run("project show")
    assert ended.code == 6 and ended.err.startswith("maestro: Not a checkout.")


async def test_a_command_that_names_two_projects_is_refused(cli: Any) -> None:
    ended = await cli.run("project show one --project other")
    assert ended.code == 2 and "names two projects" in ended.err


async def test_a_caller_without_permission_is_refused_before_a_project_is_registered(cli: Any, app: Any) -> None:
    app.caller = Caller(Role.NOBODY, "nobody")
    app.answers["task.list"] = NotPermitted("Nobody may list.")
    ended = await cli.run("task list")
    assert ended.code == 4 and operations(app) == ["task.list"]


async def test_a_command_without_a_project_does_not_locate_a_project(cli: Any, app: Any) -> None:
    await cli.run("project list --project vc")
    assert operations(app) == ["project.list"]
