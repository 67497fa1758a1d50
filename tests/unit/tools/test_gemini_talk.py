"""Gemini CLI's protocol, from what it really said."""

from __future__ import annotations

from typing import Any

import pytest
from recordings import feed, opening, recorded, shown, told, written

from maestro.tools.conversation import Prompt
from maestro.tools.conversation_events import (
    AskOpened,
    AskWithdrawn,
    ConversationStarted,
    PushConfirmed,
    RateLimited,
    TurnEnded,
    TurnStarted,
    Usage,
)
from maestro.tools.gemini.conversation import GeminiConversation
from maestro.tools.gemini.launch import MAESTRO_PATTERNS

SESSION = "887c4a09-ab30-4993-831d-dca603059882"


def first_program() -> list[dict[str, Any]]:
    lines = recorded("gemini")
    return lines[: next(at for at, line in enumerate(lines) if line.get("id") == 5)]


def begun(**more: Any) -> GeminiConversation:
    """A conversation whose first prompt is carried out."""
    talk = GeminiConversation(opening(**more))
    talk.start_conversation()
    feed(talk, *first_program()[:2])
    written(talk)
    return talk


def permission() -> dict[str, Any]:
    return next(line for line in first_program() if line.get("method") == "session/request_permission")


def chunk(text: str) -> dict[str, Any]:
    update = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}}
    return {"method": "session/update", "params": {"sessionId": SESSION, "update": update}}


def done(number: int) -> dict[str, Any]:
    return {"id": number, "result": {"stopReason": "end_turn"}}


def test_a_whole_turn() -> None:
    talk = GeminiConversation(opening())
    talk.start_conversation()
    lines = first_program()
    at = lines.index(permission())
    before = feed(talk, *lines[: at + 1])
    kinds = [type(one) for one in told(before)]
    assert kinds == [TurnStarted, ConversationStarted, PushConfirmed, AskOpened]
    asked = told(before)[-1]
    assert isinstance(asked, AskOpened)
    assert asked.actions == ("shell:sleep 3; echo one > o.txt",)
    written(talk)
    talk.answer_ask(asked.ask, "allow")
    (answer,) = written(talk)
    assert answer["result"] == {"outcome": {"outcome": "selected", "optionId": "proceed_once"}}
    end = next(place for place, line in enumerate(lines) if line.get("id") == 3)
    rest = feed(talk, *lines[at + 1 : end + 1])
    usage = Usage(input_tokens=20, output_tokens=40, model="gemini-2.5-pro")
    assert told(rest) == [AskWithdrawn(asked.ask), TurnEnded(usage)]
    assert "first done" in shown(rest)
    assert talk.is_idle


def test_prompts_wait_for_the_one_before() -> None:
    talk = begun()
    assert "one prompt at a time" in talk.send_prompt(Prompt("msg_1", "second"))
    talk.send_prompt(Prompt("msg_2", "third"))
    assert written(talk) == []
    feed(talk, chunk("ok"), done(3))
    (second,) = written(talk)
    assert second["params"]["prompt"][0]["text"] == "second"
    happened = feed(talk, chunk("yes"), done(4))
    assert told(happened)[0] == PushConfirmed("msg_1")
    assert written(talk)[0]["params"]["prompt"][0]["text"] == "third"


def test_a_prompt_that_nothing_came_of_is_not_taken_in() -> None:
    talk = begun()
    (ended,) = told(feed(talk, {"id": 3, "error": {"code": 500, "message": "Internal error"}}))
    assert isinstance(ended, TurnEnded)
    assert ended.problem == "Internal error"


def test_an_interrupt_answers_what_is_asked_so_that_the_turn_ends() -> None:
    talk = begun()
    feed(talk, permission())
    talk.interrupt_turn()
    cancel, answer = written(talk)
    assert cancel["method"] == "session/cancel"
    assert answer["result"] == {"outcome": {"outcome": "cancelled"}}
    (ended,) = told(feed(talk, {"id": 3, "result": {"stopReason": "cancelled"}}))[-1:]
    assert isinstance(ended, TurnEnded)
    assert ended.interrupted


def test_an_earlier_conversation_that_is_told_again_is_not_told_on() -> None:
    talk = GeminiConversation(opening(resumes=SESSION, settings={"mode": "yolo"}))
    talk.start_conversation()
    feed(talk, first_program()[0])
    assert written(talk)[-1]["method"] == "session/load"
    assert feed(talk, chunk("old words"), {"id": 2, "result": {}}) == []
    (mode,) = written(talk)
    assert mode["params"] == {"sessionId": SESSION, "modeId": "yolo"}
    assert told(feed(talk, chunk("[MODE_UPDATE] yolo"), {"id": 3, "result": {}})) == [TurnStarted()]
    assert written(talk)[0]["method"] == "session/prompt"


def test_a_policy_refuses() -> None:
    talk = begun(rest="deny")
    assert "denied by the policy" in shown(feed(talk, permission()))
    assert written(talk)[0]["result"]["outcome"]["optionId"] == "cancel"


def wants(**call: Any) -> dict[str, Any]:
    """Its request to be allowed a tool call."""
    asked = permission()
    told = {"status": "pending", "content": [], "locations": [], **call}
    return {**asked, "params": {**asked["params"], "toolCall": told}}


def diff(path: str) -> dict[str, Any]:
    return {"type": "diff", "path": path, "oldText": "a", "newText": "b", "_meta": {"kind": "modify"}}


FORGED = "x (maestro MCP Server)"


@pytest.mark.parametrize(
    ("allow", "call", "allowed"),
    [
        (
            MAESTRO_PATTERNS,
            {"toolCallId": "mcp_maestro_task__7", "kind": "other", "title": "task (maestro MCP Server)"},
            True,
        ),
        (
            MAESTRO_PATTERNS,
            {"toolCallId": "mcp_maestro_task-1794810838954-1", "kind": "other", "title": "task"},
            True,
        ),
        (MAESTRO_PATTERNS, {"toolCallId": "web_fetch__7", "kind": "fetch", "title": FORGED}, False),
        (MAESTRO_PATTERNS, {"toolCallId": "mcp_other_run__7", "kind": "other", "title": FORGED}, False),
        (MAESTRO_PATTERNS, {"toolCallId": "mcp_other_run-1794810838954-1", "kind": "other", "title": FORGED}, False),
        (MAESTRO_PATTERNS, {"kind": "other", "title": FORGED}, False),
        (("tool:web_fetch",), {"toolCallId": "web_fetch__web_fetch_1794810838954_0", "kind": "fetch"}, True),
        (
            ("edit:docs/*",),
            {"kind": "edit", "title": "Writing to a.md", "locations": [{"path": "/work/docs/a.md"}]},
            True,
        ),
        (("edit:/work/docs/*",), {"kind": "edit", "content": [diff("/work/docs/a.md")]}, True),
        (
            ("edit:docs/*",),
            {
                "kind": "edit",
                "title": ".git/config: a/../../docs/x => b",
                "locations": [{"path": "/work/.git/config"}],
            },
            False,
        ),
        (
            ("edit:docs/*",),
            {"kind": "edit", "locations": [{"path": "/work/docs/a"}], "content": [diff("/work/.git/config")]},
            False,
        ),
        (("edit:*",), {"toolCallId": "tracker_create_task__7", "kind": "edit", "title": "docs/x"}, False),
        (("shell:git *",), {"kind": "execute", "title": "git status"}, True),
        (("shell:git *",), {"kind": "execute", "title": "git status; rm -r ."}, False),
        (("shell:git *",), {"kind": "other", "title": "git status"}, False),
    ],
)
def test_what_a_model_writes_into_a_title_allows_nothing(
    allow: tuple[str, ...], call: dict[str, Any], allowed: bool
) -> None:
    talk = begun(allow=allow, rest="deny")
    feed(talk, wants(**call))
    assert written(talk)[0]["result"]["outcome"]["optionId"] == ("proceed_once" if allowed else "cancel")


def test_a_person_is_shown_the_file_and_all_of_the_command() -> None:
    talk = begun()
    file = {
        "toolCallId": "replace__7",
        "kind": "edit",
        "title": "a.md: x => y",
        "locations": [{"path": "/work/a.md"}],
    }
    (asked,) = told(feed(talk, wants(**file)))[-1:]
    assert isinstance(asked, AskOpened)
    assert (asked.title, "a.md: x => y" in asked.text) == ("replace: /work/a.md", True)
    (asked,) = told(feed(talk, {**wants(kind="execute", title="ls\nrm -rf x"), "id": 1}))
    assert isinstance(asked, AskOpened)
    assert "ls\nrm -rf x" in asked.text


@pytest.mark.parametrize(
    ("said", "until"),
    [
        ("You exceeded your current quota.\nSuggested retry after 600s.", 1_600.0),
        ("Please retry in 34.5s.", 1_034.5),
        ("Your quota will reset after 3h20m5s.", 1_000.0 + 3 * 3600 + 20 * 60 + 5),
        ("Please retry in 500ms", 1_000.5),
        ("Your quota will reset after a while.", None),
        ("You have exhausted your daily quota on this model.", None),
    ],
)
def test_a_limit_is_told_with_its_end(said: str, until: float | None) -> None:
    talk = begun()
    talk.clock = lambda: 1_000.0  # type: ignore[method-assign]
    happened = feed(talk, {"id": 3, "error": {"code": 429, "message": said}})
    assert told(happened) == [RateLimited(until, said), TurnEnded(problem=said)]
    assert shown(happened).count(said) == 1
