"""The words of a command line are converted into the fields of a request, and invalid values are refused."""

from __future__ import annotations

from typing import Any

import pytest

from maestro.core import limits
from maestro.domain.priorities import Priority
from maestro.domain.sessions import SessionMode
from maestro.operations.task_shapes import TaskList, TaskWaitUntil

DONE = TaskList(tasks=[])


@pytest.fixture(autouse=True)
def answered(app: Any) -> None:
    names = ["create", "edit", "wait", "report", "docs.add", "start", "list", "block"]
    app.answers.update({f"task.{name}": DONE for name in names})
    app.answers.update({"session.register": DONE, "project.init": DONE, "server.backup": DONE, "events.list": []})


async def test_texts_enums_lists_and_durations_are_converted_to_their_types(cli: Any, app: Any) -> None:
    await cli.run('task create "Parse it" --priority high --depends-on "#1, #2" --depends-on vc#3')
    request = app.last.request
    assert request.title == "Parse it"
    assert request.priority is Priority.HIGH
    assert request.depends_on == ["#1", "#2", "vc#3"]
    await cli.run('task wait "#4" "#5,#6" --until any-change --timeout 1.5s')
    request = app.last.request
    assert (request.ids, request.until, request.timeout) == (["#4", "#5", "#6"], TaskWaitUntil.ANY_CHANGE, 1500)


async def test_commas_stay_in_a_list_whose_flag_is_only_repeated(cli: Any, app: Any) -> None:
    await cli.run(["task", "create", "x", "--gate", "make a, b", "--gate", "make c"])
    assert app.last.request.gates == ["make a, b", "make c"]


async def test_an_empty_value_empties_a_list(cli: Any, app: Any) -> None:
    await cli.run(["task", "edit", "#1", "--gate", ""])
    assert app.last.request.gates == []
    await cli.run(["task", "edit", "#1"])
    assert app.last.request.gates is None


async def test_old_names_of_modes_are_accepted(cli: Any, app: Any) -> None:
    await cli.run("session register --mode coordinator")
    assert app.last.request.mode is SessionMode.COORDINATE
    await cli.run("session register --mode worker")
    assert app.last.request.mode is SessionMode.EXECUTE


async def test_the_kinds_of_events_are_a_list_of_known_choices(cli: Any, app: Any) -> None:
    await cli.run("events --kind task.ready,task.completed")
    assert [kind.value for kind in app.last.request.kind] == ["task.ready", "task.completed"]
    ended = await cli.run("events --kind task.redy")
    assert ended.code == 2 and "`task.ready`" in ended.err


async def test_the_directory_of_the_client_fills_the_hidden_path_field(cli: Any, app: Any) -> None:
    await cli.run("init", directory="/src/x")
    assert app.last.request.path == "/src/x"
    await cli.run("session register", directory="/src/x")
    assert app.last.request.path == "/src/x"


async def test_a_missing_directory_is_refused_only_if_the_command_needs_it(cli: Any, app: Any) -> None:
    ended = await cli.run("init", directory="")
    assert ended.code == 2 and "current directory" in ended.err
    ended = await cli.run("session register --project vc", directory="")
    assert ended.code == 0 and app.last.request.path == ""


async def test_a_relative_path_is_completed_with_the_directory_of_the_client(cli: Any, app: Any) -> None:
    await cli.run("backup out/maestro.tar", directory="/src/x")
    assert app.last.request.file == "/src/x/out/maestro.tar"
    await cli.run("backup /b.tar", directory="/src/x")
    assert app.last.request.file == "/b.tar"
    assert (await cli.run("backup b.tar", directory="")).code == 2


@pytest.mark.parametrize("line", ['task report progress "#1" -', 'task report progress "#1" --text-file -'])
async def test_a_text_is_read_from_standard_input(cli: Any, app: Any, line: str) -> None:
    await cli.run(line, input="halb fertig: ½\n\n".encode())
    assert app.last.request.text == "halb fertig: ½"


async def test_a_text_is_read_from_a_file(cli: Any, app: Any) -> None:
    await cli.run("task create x --description-file notes.md", files={"notes.md": b"# Notes\n"})
    assert app.last.request.description == "# Notes"


async def test_a_dash_means_standard_input_only_for_contents_and_long_texts(cli: Any) -> None:
    ended = await cli.run('task docs add "#1" t --file - --file-name -', input=b"x")
    assert ended.code == 0
    ended = await cli.run('task block "#1" --reason - --fence -')
    assert ended.code == 2 and "--fence takes a whole number" in ended.err


async def test_a_text_from_standard_input_that_is_not_utf_8_is_refused(cli: Any) -> None:
    ended = await cli.run('task report progress "#1" -', input=b"\xff\xfe")
    assert ended.code == 2 and "Standard input is not valid UTF-8" in ended.err


async def test_a_file_flag_gives_the_content_and_the_file_name(cli: Any, app: Any) -> None:
    files = {"../a/report.bin": b"\x00\x01"}
    await cli.run('task docs add "#1" Report --file ../a/report.bin', files=files)
    assert (app.last.request.content, app.last.request.file_name) == (b"\x00\x01", "report.bin")
    await cli.run('task docs add "#1" Report --file ../a/report.bin --file-name r', files=files)
    assert app.last.request.file_name == "r"
    await cli.run('task docs add "#1" Report --file -', input=b"x")
    assert (app.last.request.content, app.last.request.file_name) == (b"x", "")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["task", "create", ""], "TITLE is empty."),
        (["task", "create", "x" * 501], "TITLE may have at most 500 characters."),
        (["task", "start", "#1", "--lease", "1s"], "--lease must be at least 5s."),
        (["task", "start", "#1", "--lease", "48h"], "--lease must be at most 24h."),
        (["task", "list", "--limit", "0"], "--limit must be at least 1."),
        (["task", "list", "--limit", "many"], "--limit takes a whole number, not `many`."),
        (["task", "create", "x", "--member", "no good"], "--member is not valid."),
        (["task", "create", "x", "--priority", "hihg"], "--priority cannot be `hihg`; did you mean `high`?"),
        (["task", "report", "done", "#1", "x"], "KIND cannot be `done`; did you mean `complete`?"),
        (["task", "wait", ",".join(["#1"] * 101)], "IDS may have at most 100 items."),
        (["task", "list", "--key", "k" * (limits.idempotency_key_chars_max + 1)], "--idempotency-key is longer"),
    ],
)
async def test_an_invalid_value_is_refused_with_the_name_of_its_argument_or_flag(
    cli: Any, arguments: list[str], said: str
) -> None:
    ended = await cli.run(arguments)
    assert ended.code == 2
    assert ended.err.startswith(f"maestro: {said}")
    assert "usage: maestro" in ended.err or "--idempotency-key" in said


async def test_an_invalid_value_is_refused_before_a_file_is_read(cli: Any) -> None:
    ended = await cli.run("task create x --priority hihg --description-file missing")
    assert ended.code == 2 and "hihg" in ended.err
