"""Some commands are started by the server and finished by the client, with facts from the server."""

from __future__ import annotations

from typing import Any

import pytest

from maestro.core.errors import Invalid
from maestro.domain.callers import Caller, Role, person_caller
from maestro.operations import runs, server, tasks, terminals, timeline
from maestro.operations.base import Operation
from maestro.surfaces.cli.channel import HandOver
from maestro.surfaces.cli.handover import HandOverRequest, follows_run, hand_over, is_handed_over

PERSON = person_caller("dana")
WORKER = Caller(Role.WORKER, "ses_1", session_id="ses_1", project_id="prj_1")
LOGS = terminals.SessionLogs(session_id="ses_1", text="", truncated=False, name="parser", folder="/data/ses_1")
TERMINAL = terminals.AgentTerminal(
    session_id="ses_1", name="parser", folder="/data/ses_1", columns=80, rows=24, attached=0
)


def asked(operation: Operation, *, json: bool = False, caller: Caller = PERSON, **fields: Any) -> HandOverRequest:
    """Return the hand-over request for an operation with the given fields."""
    return HandOverRequest(operation, operation.request(**fields), caller, "key-1", json)


@pytest.mark.parametrize(
    ("operation", "fields", "as_text", "as_json"),
    [
        (server.STOP, {}, True, True),
        (terminals.ATTACH, {"id": "parser"}, True, False),
        (terminals.LOGS, {"id": "parser"}, False, False),
        (terminals.LOGS, {"id": "parser", "follow": True}, True, True),
        (timeline.EXPORT, {"target": "run_1", "file": "run.html"}, True, False),
        (timeline.EXPORT, {"target": "run_1", "file": "-"}, False, False),
        (timeline.EXPORT, {"run": "run_1", "target": "-"}, False, False),
        (runs.START, {"task": "#1"}, True, False),
        (runs.START, {"task": "#1", "detach": True}, False, False),
        (runs.SHOW, {"id": "run_1"}, False, False),
        (runs.SHOW, {"id": "run_1", "follow": True}, True, False),
        (runs.RESUME, {"id": "run_1"}, True, False),
        (tasks.COMPLETE, {"id": "#1"}, False, False),
    ],
)
def test_operation_fields_and_format_decide_whether_a_command_is_handed_over(
    operation: Operation, fields: dict[str, Any], as_text: bool, as_json: bool
) -> None:
    request = operation.request(**fields)
    assert is_handed_over(operation, request, json=False) is as_text
    assert is_handed_over(operation, request, json=True) is as_json


def test_a_resumed_run_is_followed_and_a_shown_run_is_not() -> None:
    assert follows_run(runs.RESUME, runs.OneRun(id="run_1"))
    assert not follows_run(runs.SHOW, runs.ShowRun(id="run_1"))
    assert not follows_run(server.STOP, server.STOP.request())


@pytest.mark.parametrize(
    ("json", "text"), [(False, "the server stops (pid 7)\n"), (True, '{"pid":7,"sessions":0,"home":"/data"}\n')]
)
async def test_the_client_waits_for_the_end_of_a_stopped_server(
    app: Any, make_channel: Any, json: bool, text: str
) -> None:
    app.answers["server.stop"] = server.StoppedServer(pid=7, home="/data")
    found = await hand_over(app, asked(server.STOP, json=json), make_channel())
    assert found == HandOver("down", {"home": "/data", "pid": 7, "text": text})


@pytest.mark.parametrize(("operation", "fields"), [(server.STOP, {}), (runs.RESUME, {"id": "run_1"})])
async def test_no_command_is_handed_over_to_a_client_that_cannot_finish_it(
    app: Any, make_channel: Any, operation: Operation, fields: dict[str, Any]
) -> None:
    assert await hand_over(app, asked(operation, **fields), make_channel(accepts_hand_over=False)) is None
    assert app.calls == []


@pytest.mark.parametrize(
    ("operation", "fields", "message"),
    [
        (terminals.ATTACH, {"id": "parser"}, "An agent's terminal is on the server's machine"),
        (terminals.LOGS, {"id": "parser", "follow": True}, "A transcript that is being written is on the server's"),
        (timeline.EXPORT, {"target": "run_1", "file": "x.html"}, "only on standard output"),
    ],
)
async def test_a_remote_client_may_not_run_commands_that_need_the_machine_of_the_server(
    app: Any, make_channel: Any, operation: Operation, fields: dict[str, Any], message: str
) -> None:
    with pytest.raises(Invalid, match=message):
        await hand_over(app, asked(operation, **fields), make_channel(accepts_hand_over=False))
    assert app.calls == []


async def test_an_attach_is_handed_over_with_folder_name_and_detach_key(app: Any, make_channel: Any) -> None:
    app.answers["session.attach"] = TERMINAL
    request = asked(terminals.ATTACH, id="parser", read_only=True, detach_key="ctrl-a")
    found = await hand_over(app, request, make_channel(stdin_tty=True, stdout_tty=True))
    assert found == HandOver(
        "attach", {"folder": "/data/ses_1", "name": "parser", "read_only": True, "detach_key": "ctrl-a"}
    )


@pytest.mark.parametrize("ends", [{"stdin_tty": True}, {"stdout_tty": True}, {}])
async def test_an_attach_without_a_terminal_as_input_and_output_is_refused(
    app: Any, make_channel: Any, ends: dict[str, bool]
) -> None:
    with pytest.raises(Invalid, match="must be a terminal") as refused:
        await hand_over(app, asked(terminals.ATTACH, id="parser"), make_channel(**ends))
    assert "maestro session logs parser -f" in refused.value.hint
    assert app.calls == []


async def test_a_followed_transcript_is_handed_over_with_its_bounds_and_format(app: Any, make_channel: Any) -> None:
    app.answers["session.logs"] = LOGS
    request = asked(terminals.LOGS, json=True, id="parser", follow=True, tail=20, limit=100)
    found = await hand_over(app, request, make_channel(color=True))
    assert found is not None and found.do == "logs"
    assert found.facts == {
        "folder": "/data/ses_1", "name": "parser", "tail": 20, "limit": 100, "json": True, "color": True
    }  # fmt: skip


@pytest.mark.parametrize(
    ("client", "draws"),
    [
        ({"stdin_tty": True, "stdout_tty": True, "columns": 80}, True),
        ({"stdin_tty": True, "stdout_tty": True, "columns": 0}, False),
        ({"stdout_tty": True, "columns": 80}, False),
        ({"stdin_tty": True, "columns": 80}, False),
    ],
)
async def test_a_run_is_drawn_only_on_a_terminal_of_known_width(
    app: Any, make_channel: Any, client: dict[str, Any], draws: bool
) -> None:
    app.answers["run.resume"] = type("Run", (), {"id": "run_1"})()
    found = await hand_over(app, asked(runs.RESUME, id="run_1"), make_channel(**client))
    assert found == HandOver("run", {"id": "run_1", "draw": draws, "color": False})
    assert app.last.key == "key-1"


@pytest.mark.parametrize(
    ("fields", "arguments", "file"),
    [
        ({"target": "run_1", "file": "x.html"}, ["timeline", "export", "run_1", "-"], "x.html"),
        ({"run": "run_1", "target": "x.html"}, ["timeline", "export", "-", "--run", "run_1"], "x.html"),
        (
            {"task": "#4", "target": "x.html", "project": "vc"},
            ["timeline", "export", "-", "--task", "#4", "--project", "vc"],
            "x.html",
        ),
    ],
)
async def test_an_export_is_handed_over_with_the_command_that_prints_the_page(
    app: Any, make_channel: Any, fields: dict[str, str], arguments: list[str], file: str
) -> None:
    found = await hand_over(app, asked(timeline.EXPORT, **fields), make_channel())
    assert found == HandOver("save", {"file": file, "arguments": arguments, "folder": None})


async def test_a_session_saves_a_page_only_in_a_checked_folder(app: Any, make_channel: Any) -> None:
    app.answers["file.check"] = None
    request = asked(timeline.EXPORT, caller=WORKER, target="run_1", file="out/x.html")
    found = await hand_over(app, request, make_channel())
    assert found is not None and found.facts["folder"] == "/src/dave/vc/out"
    assert app.last.operation == "file.check"


@pytest.mark.parametrize("fields", [{}, {"target": "run_1"}, {"run": "run_1"}])
async def test_an_export_without_subject_or_file_is_refused(
    app: Any, make_channel: Any, fields: dict[str, str]
) -> None:
    with pytest.raises(Invalid, match="Name a run, a task or a session, and a file"):
        await hand_over(app, asked(timeline.EXPORT, **fields), make_channel())
