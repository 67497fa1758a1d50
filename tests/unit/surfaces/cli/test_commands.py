"""A command writes answers to standard output, notes and errors to standard error, and ends with an exit code."""

from __future__ import annotations

import asyncio
import logging
from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from maestro.core import errors
from maestro.domain.callers import Caller, Role
from maestro.domain.events import Event
from maestro.operations.server import Resync
from maestro.operations.task_shapes import MovedTask, TaskList, WaitedTasks
from maestro.surfaces.cli.invocation import Invocation
from maestro.testing.factories import make_task

AT = datetime(2026, 1, 1, 12, tzinfo=UTC)


def event(seq: int) -> Event:
    return Event(seq, AT, "prj_1", "task.ready", 1, "dana", "tsk_1", {"ref": f"vc#{seq}"})


def moved(**fields: Any) -> MovedTask:
    own = {name: fields.pop(name) for name in ("unblocked", "warnings") if name in fields}
    return MovedTask(**msgspec.structs.asdict(make_task(**fields)), **own)


async def test_an_answer_in_json_is_a_single_line_for_a_program(cli: Any, app: Any) -> None:
    app.answers["task.list"] = TaskList(tasks=[make_task(number=4)], cursor="abc")
    ended = await cli.run("task list --json")
    assert ended.code == 0 and ended.err == ""
    assert ended.out.count("\n") == 1
    assert ended.json["tasks"][0]["ref"] == "vc#4" and ended.json["cursor"] == "abc"
    assert ended.json["tasks"][0]["created_at"] == "2026-01-01T12:00:00Z"


async def test_an_answer_in_json_is_indented_for_a_terminal(cli: Any, app: Any) -> None:
    app.answers["task.list"] = TaskList(tasks=[])
    ended = await cli.run("task list --json", stdout_tty=True)
    assert ended.out == '{\n  "cursor": null,\n  "tasks": []\n}\n'


async def test_the_note_about_an_empty_list_goes_to_standard_error(cli: Any, app: Any) -> None:
    app.answers["task.list"] = TaskList(tasks=[])
    ended = await cli.run("task list")
    assert (ended.code, ended.out, ended.err) == (0, "", "no tasks\n")


async def test_the_note_about_the_next_page_goes_to_standard_error(cli: Any, app: Any) -> None:
    app.answers["task.list"] = TaskList(tasks=[make_task()], cursor="abc")
    ended = await cli.run("task list")
    assert ended.err == "more results: --cursor abc\n"


async def test_warnings_go_to_standard_error(cli: Any, app: Any) -> None:
    app.answers["task.depend"] = moved(warnings=["vc#1 runs already."], unblocked=["vc#5", "vc#6"])
    ended = await cli.run('task depend "#1" --on "#2"')
    assert ended.out == "vc#1 ready  A task\nunblocked: vc#5, vc#6\n"
    assert ended.err == "warning: vc#1 runs already.\n"


async def test_idempotency_key_token_and_peer_are_passed_on_to_the_server(cli: Any, app: Any) -> None:
    app.answers["task.create"] = moved()
    await cli.run("task create x --idempotency-key once", env={"MAESTRO_TOKEN": "secret"})
    assert app.last.key == "once"
    assert app.asked[0][0] == "secret" and app.asked[0][1].pid == 4321


async def test_an_error_is_shown_with_its_message_its_hint_and_its_exit_code(cli: Any, app: Any) -> None:
    app.answers["task.start"] = errors.NotReady("vc#4 waits on vc#2.", hint="First: vc#2.\nThen: vc#4.")
    ended = await cli.run('task start "#4"')
    assert (ended.code, ended.out) == (5, "")
    assert ended.err == "maestro: vc#4 waits on vc#2.\n  First: vc#2.\n  Then: vc#4.\n"


async def test_an_error_in_json_goes_to_standard_error(cli: Any, app: Any) -> None:
    app.answers["task.start"] = errors.NotReady("Not yet.", hint="Wait.", data={"at": AT})
    ended = await cli.run('task start "#4" --json')
    assert (ended.code, ended.out) == (5, "")
    assert ended.error == {
        "code": "not_ready",
        "message": "Not yet.",
        "hint": "Wait.",
        "retryable": False,
        "data": {"at": "2026-01-01T12:00:00Z"},
    }


async def test_a_usage_error_is_written_in_json_on_request(cli: Any) -> None:
    ended = await cli.run("task lsit --json")
    assert ended.code == 2 and ended.error["code"] == "invalid"
    assert ended.error["data"]["nearest"] == ["task list"]


async def test_hostile_text_in_an_error_is_shown_without_control_characters(cli: Any, app: Any) -> None:
    app.answers["task.show"] = errors.NotFound("No \x1b[2Jtask\x07")
    ended = await cli.run("task show vc#1")
    assert ended.err == "maestro: No \\x1b[2Jtask\\x07\n"


async def test_an_argument_that_is_not_utf_8_is_refused(cli: Any, app: Any, make_channel: Any) -> None:
    channel = make_channel()
    code = await cli.commands.run_command(Invocation(arguments=[b"task", b"\xff"]), channel, peer=None)
    assert code == 2 and "UTF-8" in channel.said


async def test_an_unexpected_exception_is_logged_and_answered_without_its_details(
    cli: Any, app: Any, caplog: pytest.LogCaptureFixture
) -> None:
    app.answers["task.list"] = ZeroDivisionError("secret detail")
    with caplog.at_level(logging.ERROR):
        ended = await cli.run("task list")
    assert ended.code == 1
    assert ended.err.startswith("maestro: internal error (ZeroDivisionError)")
    assert "secret detail" not in ended.err and "secret detail" in caplog.text


async def test_a_cancelled_command_raises_the_cancellation(cli: Any, app: Any) -> None:
    started = asyncio.Event()

    async def wait(_request: Any) -> None:
        started.set()
        await asyncio.Event().wait()

    app.answers["task.wait"] = wait
    task = asyncio.create_task(cli.run("task wait vc#1"))
    async with asyncio.timeout(5):
        await started.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task


@pytest.mark.parametrize(("reached", "code"), [(True, 0), (False, 1)])
@pytest.mark.parametrize("flags", ["", " --json"])
async def test_a_wait_prints_the_tasks_and_ends_with_0_only_if_they_reached_the_state(
    cli: Any, app: Any, reached: bool, code: int, flags: str
) -> None:
    app.answers["task.wait"] = WaitedTasks(tasks=[make_task(number=4)], reached=reached)
    ended = await cli.run('task wait "#4"' + flags)
    assert ended.code == code and "vc#4" in ended.out


async def test_followed_events_are_printed_and_flushed_one_by_one(cli: Any, app: Any) -> None:
    app.answers["events.list"] = [event(1), event(2)]
    ended = await cli.run("events --follow")
    assert ended.code == 0 and ended.channel.flushes == 2
    assert ended.out.splitlines()[0] == "1  2026-01-01T12:00:00Z  task.ready  vc#1  dana"


async def test_events_in_json_are_one_object_per_line(cli: Any, app: Any) -> None:
    app.answers["events.list"] = [Resync(seq=9, horizon=5, tasks=[], complete=True), event(10)]
    ended = await cli.run("events --json", stdout_tty=True)
    lines = [msgspec.json.decode(line) for line in ended.out.splitlines()]
    assert [line["kind"] for line in lines] == ["resync", "task.ready"]


async def test_a_note_after_a_full_page_of_events_names_the_next_position(cli: Any, app: Any) -> None:
    app.answers["events.list"] = [event(1), event(2)]
    assert (await cli.run("events --limit 2")).err == "more events may exist: --since 2\n"
    assert (await cli.run("events --limit 3")).err == ""


async def test_an_error_in_the_middle_of_a_stream_keeps_the_printed_events_and_sets_the_exit_code(
    cli: Any, app: Any
) -> None:
    app.answers["events.list"] = [event(1), errors.TimedOut("Too slow.")]
    ended = await cli.run("events --follow")
    assert ended.code == 3 and ended.out.startswith("1  ") and "Too slow." in ended.err


@pytest.mark.parametrize("line", ["version", "--version"])
async def test_local_commands_are_left_to_the_client(cli: Any, app: Any, line: str) -> None:
    ended = await cli.run(line)
    assert ended.code is None and ended.out == "" and app.asked == []


@pytest.mark.parametrize(
    "line", ["up --port 1 --json", "restore x.tar", "demo", "connect claude", "disconnect codex"]
)
async def test_local_commands_of_the_person_are_refused_to_sessions(cli: Any, app: Any, line: str) -> None:
    ended = await cli.run(line)
    assert ended.code is None and ended.out == ""
    app.caller = Caller(Role.WORKER, "ses_1", session_id="ses_1", title="parser")
    ended = await cli.run(line)
    assert ended.code == 4
    assert "Only the person runs `maestro" in (ended.error["message"] if "--json" in line else ended.err)


async def test_local_commands_have_help_and_must_be_the_first_argument(cli: Any) -> None:
    ended = await cli.run("up --help")
    assert ended.code == 0 and "usage: maestro up [--port N] [--foreground]" in ended.out
    ended = await cli.run("--json version")
    assert ended.code == 2 and "first argument" in ended.err
