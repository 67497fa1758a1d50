"""A tool call runs the right operation and returns a text for the model; errors explain the next step."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from maestro.domain.callers import Caller, person_caller
from maestro.operations import projects
from maestro.prompts.call_names import replace_commands_with_tools
from maestro.server.app import Server
from maestro.server.mcp import render_answer
from maestro.surfaces.mcp.tools.calls import CallOptions, ToolAnswer, ToolCalls


@pytest.fixture
def calls(server: Server) -> ToolCalls:
    return ToolCalls(server, render_answer=render_answer, render_hint=replace_commands_with_tools)


@pytest.fixture
async def team(join: Callable[..., Any]) -> tuple[Caller, Caller]:
    return await join("boss", mode="coordinate"), await join("w")


async def good(calls: ToolCalls, name: str, caller: Caller, **arguments: Any) -> str:
    answer = await calls.call_tool(name, arguments, caller)
    assert not answer.is_error, answer.text
    return answer.text


async def bad(calls: ToolCalls, name: str, caller: Caller, **arguments: Any) -> str:
    answer = await calls.call_tool(name, arguments, caller)
    assert answer.is_error, answer.text
    return answer.text


async def test_tool_calls_create_start_report_document_and_complete_a_task(
    calls: ToolCalls, team: tuple[Caller, Caller]
) -> None:
    boss, worker = team
    assert "vc#1" in await good(calls, "task_create", boss, title="Parse", accept=["It parses, all of it"])
    assert "vc#2" in await good(calls, "task_create", boss, title="Print", depends_on="vc#1")
    assert await good(calls, "tasks", worker, action="ready") == "vc#1  ready  normal  Parse\n"
    refused = await bad(calls, "task_update", worker, action="start", id="vc#2")
    assert "(not_ready)" in refused and "vc#1" in refused
    assert "in_progress" in await good(calls, "task_update", worker, action="start", id="vc#1")
    assert "vc#1" in await good(calls, "report", worker, kind="progress", text="Half of it")
    await good(calls, "task_update", worker, action="document", id="vc#1", title="Notes", text="# Ümlaut")
    listed = await good(calls, "tasks", worker, action="documents", id="vc#1")
    document = listed.split()[0]
    assert await good(calls, "tasks", worker, action="document", id=document) == "# Ümlaut"
    assert "It parses, all of it" in await good(calls, "tasks", boss, action="show", id="vc#1")
    done = await good(calls, "task_update", worker, action="complete", id="vc#1", text="Done")
    assert "completed" in done and "vc#2" in done


async def test_tool_calls_send_read_answer_and_search_mail(calls: ToolCalls, team: tuple[Caller, Caller]) -> None:
    boss, worker = team
    sent = await good(calls, "send", boss, to="w", subject="Rebase", message="Now.", priority="high")
    message = sent.split()[0]
    answer = await calls.call_tool("inbox", {}, worker)
    assert "  | Now." in answer.text and message in answer.text
    assert answer.receipt.startswith("r1:")
    await good(calls, "send", worker, reply_to=message, message="Done.")
    assert "acknowledged" in await good(calls, "mail", boss, action="status", id=message)
    assert "  | Done." in await good(calls, "mail", worker, action="thread", id=message)
    assert message in await good(calls, "mail", boss, action="search", query="rebase")
    assert "w: sent" in await good(calls, "send", boss, scope="all", subject="Freeze", message="Stop.")


async def test_text_files_are_attached_to_mail_and_read_back(calls: ToolCalls, team: tuple[Caller, Caller]) -> None:
    boss, worker = team
    file = {"file_name": "repro.txt", "content": "bö\noom"}
    letter = {"to": "w", "subject": "Crash", "message": "See there."}
    message = (await good(calls, "send", boss, **letter, attach=[file])).split()[0]
    shown = await good(calls, "mail", worker, action="show", id=message)
    attached = next(word for word in shown.split() if word.startswith("att_"))
    assert await good(calls, "mail", worker, action="attachment", id=attached) == file["content"]
    await good(
        calls, "send", worker, reply_to=message, message="Here.", attach=file
    )  # a single file is accepted in the place of a list
    for wrong in ("repro.txt", [{"file_name": "../x", "content": ""}], [{"file_name": "x"}], [file | {"mode": 1}]):
        assert "(invalid)" in await bad(calls, "send", boss, **letter, attach=wrong)


async def test_tool_calls_open_answer_close_and_reopen_an_issue_with_files(
    calls: ToolCalls,
    team: tuple[Caller, Caller],
    join: Callable[..., Any],
    make_repo: Callable[..., Any],
    server: Server,
) -> None:
    boss, _ = team
    dana = person_caller("dana")
    await server.call(projects.INIT, projects.InitProject(path=str(make_repo("beads"))), caller=dana)
    keeper = await join("keeper", mode="coordinate", project="beads")
    file = {"file_name": "repro.txt", "content": "boom"}
    opened = await good(calls, "issues", boss, action="open", to="beads", title="Crash", message="m", attach=[file])
    assert "beads#1" in opened
    await good(calls, "issues", keeper, action="reply", id="beads#1", message="And?", attach=[file])
    shown = await good(calls, "issues", boss, action="show", id="beads#1")
    assert shown.count("repro.txt") == 2
    await good(calls, "issues", keeper, action="close", id="beads#1", message="Fixed.")
    assert "beads#1 ready" in await good(calls, "issues", boss, action="reopen", id="beads#1")


async def test_a_wait_without_mail_ends_with_a_text_and_not_with_an_error(
    calls: ToolCalls, team: tuple[Caller, Caller]
) -> None:
    answer = await calls.call_tool("wait", {"timeout": 0.01}, team[1])
    assert not answer.is_error and "No mail within 0.01 s" in answer.text and "again" in answer.text


async def test_a_wait_lasts_at_most_as_long_as_the_client_waits(
    calls: ToolCalls, team: tuple[Caller, Caller]
) -> None:
    for timeout in ({"timeout": 3600}, {"timeout": "1h"}, {}):
        answer = await calls.call_tool("wait", timeout, team[1], CallOptions(seconds_max=0.02))
        assert "No mail within 0.02 s" in answer.text


@pytest.mark.parametrize(
    ("name", "arguments", "said"),
    [
        ("tasks", {}, "tasks needs an action. (invalid)\nYour actions are: ready, list, show"),
        ("tasks", {"action": "fly"}, "tasks has no action 'fly'. (invalid)\nYour actions are: ready, list"),
        (
            "task_update",
            {"action": "cancel", "id": "vc#1"},
            "with action cancel. (not_permitted)\nYour actions are: start",
        ),
        ("tasks", {"action": "show"}, "id is missing."),
        (
            "inbox",
            {"colour": 1},
            "inbox has no argument 'colour'. (invalid)\nThe arguments are: all, task, limit, cursor.",
        ),
        ("tasks", {"action": "ready", "mine": True}, "tasks with action ready has no argument 'mine'."),
        ("whoami", {"x": 1}, "The call takes no arguments."),
        ("send", {"to": "w", "subject": "s", "message": "m", "type": "shout"}, "One of: assignment"),
        ("report", {"kind": "progress"}, "text is missing."),
        ("inbox", {"limit": "many"}, "limit is not valid"),
        ("mail", {"action": "show", "id": "msg_none"}, "(not_found)"),
        ("send", {"to": "nobody-here", "subject": "s", "message": "m"}, 'sessions(action="list", active=true)'),
    ],
)
async def test_the_error_of_an_invalid_call_names_the_problem_and_valid_values(
    calls: ToolCalls, team: tuple[Caller, Caller], name: str, arguments: dict[str, Any], said: str
) -> None:
    answer = await calls.call_tool(name, arguments, team[1])
    assert answer.is_error and said in answer.text


async def test_only_calls_that_do_not_wait_or_act_are_quick(calls: ToolCalls, team: tuple[Caller, Caller]) -> None:
    boss, worker = team
    quick = [("inbox", {}), ("tasks", {"action": "show"}), ("ask", {"title": "?"}), ("tasks", {})]
    slow = [
        ("wait", {}),
        ("ask", {"title": "?", "wait": True}),
        ("sessions", {"action": "logs"}),
        ("spawn", {}),
        ("x", {}),
    ]
    assert all(calls.is_quick(name, arguments, worker) for name, arguments in quick)
    assert not any(calls.is_quick(name, arguments, worker) for name, arguments in slow)
    assert not calls.is_quick("sessions", {"action": "stop"}, boss)


async def test_calls_with_the_same_idempotency_key_run_once(calls: ToolCalls, team: tuple[Caller, Caller]) -> None:
    order = CallOptions(idempotency_key="relay-1")
    first = await calls.call_tool("task_create", {"title": "Once"}, team[0], order)
    assert await calls.call_tool("task_create", {"title": "Once"}, team[0], order) == first
    assert "vc#2" not in await good(calls, "tasks", team[0], action="list")


async def test_a_repeated_call_of_an_action_is_refused_because_its_result_is_not_known(
    calls: ToolCalls, team: tuple[Caller, Caller]
) -> None:
    order = CallOptions(is_repeated=True)
    stopped = await calls.call_tool("sessions", {"action": "stop", "id": "w"}, team[0], order)
    assert stopped.is_error and "The result of the call is not known" in stopped.text
    assert not (await calls.call_tool("wait", {"timeout": 0.01}, team[0], order)).is_error


async def test_the_person_names_the_project_of_a_call(calls: ToolCalls, dana: Caller, vc: str) -> None:
    assert "vc#1" in await good(calls, "task_create", dana, title="A", project="vc")
    assert "not_found" in await bad(calls, "tasks", dana, action="ready", project="none")


async def test_whoami_returns_the_primer_with_tool_calls(calls: ToolCalls, team: tuple[Caller, Caller]) -> None:
    text = await good(calls, "whoami", team[1])
    assert text.startswith("You are w, worker in Maestro, project vc") and "inbox()" in text
    assert "maestro " not in text
    assert "spawn(" in await good(calls, "whoami", team[0])


async def test_an_unexpected_exception_is_answered_as_an_internal_error(
    server: Server, team: tuple[Caller, Caller]
) -> None:
    def broken(answer: object) -> str:
        raise KeyError("x")

    answer = await ToolCalls(server, render_answer=broken, render_hint=str).call_tool("inbox", {}, team[1])
    assert answer == ToolAnswer("Internal error (KeyError). The server's log has the details.", is_error=True)
