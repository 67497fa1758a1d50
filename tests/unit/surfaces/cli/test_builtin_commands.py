"""The command line itself answers help, the list of commands, checks of commands and completion."""

from __future__ import annotations

from typing import Any

import pytest

from maestro.core.errors import NotFound
from maestro.domain.callers import Caller, Role
from maestro.operations.registry import REGISTRY
from maestro.operations.task_shapes import TaskList
from maestro.testing.factories import make_task

WORKER = Caller(Role.WORKER, "ses_1", session_id="ses_1", project_id="prj_1")
NOBODY = Caller(Role.NOBODY, "nobody")


async def test_help_lists_every_command(cli: Any, app: Any) -> None:
    ended = await cli.run("help")
    assert ended.code == 0 and ended.err == "" and app.asked == []
    for operation in REGISTRY.values():
        if operation.command:
            assert f"maestro {operation.command.command_path} " in ended.out and operation.summary in ended.out
    assert (await cli.run("--help")).out == ended.out


async def test_help_for_a_command_is_the_same_for_each_way_of_asking(cli: Any) -> None:
    ended = await cli.run("help task create")
    assert "usage: maestro task create TITLE" in ended.out and "--depends-on IDS" in ended.out
    assert (await cli.run("task create --help")).out == ended.out
    assert (await cli.run("task create x --bogus -h")).out == ended.out


async def test_help_for_a_group_lists_only_the_commands_of_the_group(cli: Any) -> None:
    ended = await cli.run("task --help")
    assert "maestro task create" in ended.out and "maestro project" not in ended.out


async def test_help_for_an_unknown_command_suggests_the_nearest_command(cli: Any) -> None:
    for line in ("help taks", "taks --help", "help task creat"):
        ended = await cli.run(line)
        assert ended.code == 2 and "did you mean `maestro task" in ended.err


async def test_help_for_a_group_in_json_lists_its_commands(cli: Any) -> None:
    ended = await cli.run("help task docs --json")
    assert [one["command"] for one in ended.json["commands"]] == ["task docs add", "task docs list", "task docs show"]


async def test_the_list_of_commands_contains_the_commands_of_the_role(cli: Any, app: Any) -> None:
    person = {one["command"] for one in (await cli.run("commands --json")).json["commands"]}
    app.caller = WORKER
    worker = {one["command"] for one in (await cli.run("commands --json")).json["commands"]}
    app.caller = NOBODY
    nobody = {one["command"] for one in (await cli.run("commands --json")).json["commands"]}
    assert {"down", "task cancel", "up"} <= person - worker
    assert {"task complete", "session heartbeat"} <= worker
    assert nobody == {"", "help", "commands", "completion", "version", "status", "whoami"}
    assert "maestro status" in (await cli.run("commands")).out


@pytest.mark.parametrize(
    ("command", "code"), [("task start", 0), ("task claim", 0), ("task cancel", 4), ("task spawn", 6)]
)
async def test_the_exit_code_of_a_check_tells_whether_the_caller_may_run_the_command(
    cli: Any, app: Any, command: str, code: int
) -> None:
    app.caller = WORKER
    assert (await cli.run(["commands", "--check", command])).code == code
    assert (await cli.run(["commands", "--check", f"maestro {command}", "--json"])).code == code


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (["ta"], ["task"]),
        (["task", "cre"], ["task create"]),
        (["task", "create", "--dep"], ["--depends-on"]),
        (["task", "create", "--priority", ""], ["critical", "high", "normal", "low"]),
        (["task", "report", "p"], ["progress"]),
        (["completion", ""], ["bash", "zsh", "fish"]),
        (["task", "show", "#3"], ["vc#3"]),
        (["task", "create", "x", "--parent", ""], ["vc#3"]),
    ],
)
async def test_completion_offers_the_possible_next_words(
    cli: Any, app: Any, words: list[str], offered: list[str]
) -> None:
    app.answers["task.list"] = TaskList(tasks=[make_task(number=3)])
    ended = await cli.run(["__complete", "--", *words])
    assert [line.split("\t")[0] for line in ended.out.splitlines()] == [word.split()[-1] for word in offered]


async def test_completion_offers_projects_by_name(cli: Any, app: Any, project: Any) -> None:
    app.answers["project.list"] = type("Found", (), {"projects": [project]})()
    ended = await cli.run(["__complete", "--", "task", "list", "--project", ""])
    assert ended.out == "vc\tgithub.com/acme/vc\n"


async def test_completion_prints_no_error_when_the_server_refuses(cli: Any, app: Any) -> None:
    app.answers["task.list"] = NotFound("No project.")
    ended = await cli.run(["__complete", "--", "task", "show", ""])
    assert (ended.code, ended.out, ended.err) == (0, "", "")
