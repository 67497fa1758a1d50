"""The conversation with Gemini CLI handles prompts, asks and rate limits; the messages are recorded."""

from __future__ import annotations

from typing import Any

import pytest
from conversation_recordings import feed, opening, recorded_messages, reported, sent_messages, transcript

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
    lines = recorded_messages("gemini")
    return lines[: next(at for at, line in enumerate(lines) if line.get("id") == 5)]


def started_conversation(**more: Any) -> GeminiConversation:
    """Return a conversation in which the turn of the first prompt runs."""
    conversation = GeminiConversation(opening(**more))
    conversation.start_conversation()
    feed(conversation, *first_program()[:2])
    sent_messages(conversation)
    return conversation


def recorded_request() -> dict[str, Any]:
    return next(line for line in first_program() if line.get("method") == "session/request_permission")


def chunk(text: str) -> dict[str, Any]:
    update = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}}
    return {"method": "session/update", "params": {"sessionId": SESSION, "update": update}}


def done(number: int) -> dict[str, Any]:
    return {"id": number, "result": {"stopReason": "end_turn"}}


def test_a_turn_with_a_permission_request_opens_an_ask_and_ends_after_the_answer() -> None:
    conversation = GeminiConversation(opening())
    conversation.start_conversation()
    lines = first_program()
    at = lines.index(recorded_request())
    before = feed(conversation, *lines[: at + 1])
    kinds = [type(event) for event in reported(before)]
    assert kinds == [TurnStarted, ConversationStarted, PushConfirmed, AskOpened]
    asked = reported(before)[-1]
    assert isinstance(asked, AskOpened)
    assert asked.actions == ("shell:sleep 3; echo one > o.txt",)
    sent_messages(conversation)
    conversation.answer_ask(asked.ask, "allow")
    (answer,) = sent_messages(conversation)
    assert answer["result"] == {"outcome": {"outcome": "selected", "optionId": "proceed_once"}}
    end = next(place for place, line in enumerate(lines) if line.get("id") == 3)
    rest = feed(conversation, *lines[at + 1 : end + 1])
    usage = Usage(input_tokens=20, output_tokens=40, model="gemini-2.5-pro")
    assert reported(rest) == [AskWithdrawn(asked.ask), TurnEnded(usage)]
    assert "first done" in transcript(rest)
    assert conversation.is_idle


def test_a_prompt_waits_for_the_end_of_the_previous_prompt() -> None:
    conversation = started_conversation()
    assert "one prompt at a time" in conversation.send_prompt(Prompt("msg_1", "second"))
    conversation.send_prompt(Prompt("msg_2", "third"))
    assert sent_messages(conversation) == []
    feed(conversation, chunk("ok"), done(3))
    (second,) = sent_messages(conversation)
    assert second["params"]["prompt"][0]["text"] == "second"
    events = feed(conversation, chunk("yes"), done(4))
    assert reported(events)[0] == PushConfirmed("msg_1")
    assert sent_messages(conversation)[0]["params"]["prompt"][0]["text"] == "third"


def test_a_failed_prompt_is_reported_as_a_problem_and_not_confirmed() -> None:
    conversation = started_conversation()
    (ended,) = reported(feed(conversation, {"id": 3, "error": {"code": 500, "message": "Internal error"}}))
    assert isinstance(ended, TurnEnded)
    assert ended.problem == "Internal error"


def test_an_interrupt_cancels_the_open_request() -> None:
    conversation = started_conversation()
    feed(conversation, recorded_request())
    conversation.interrupt_turn()
    cancel, answer = sent_messages(conversation)
    assert cancel["method"] == "session/cancel"
    assert answer["result"] == {"outcome": {"outcome": "cancelled"}}
    (ended,) = reported(feed(conversation, {"id": 3, "result": {"stopReason": "cancelled"}}))[-1:]
    assert isinstance(ended, TurnEnded)
    assert ended.interrupted


def test_the_replay_of_a_resumed_conversation_is_not_reported() -> None:
    conversation = GeminiConversation(opening(resumes=SESSION, settings={"mode": "yolo"}))
    conversation.start_conversation()
    feed(conversation, first_program()[0])
    assert sent_messages(conversation)[-1]["method"] == "session/load"
    assert feed(conversation, chunk("old words"), {"id": 2, "result": {}}) == []
    (mode,) = sent_messages(conversation)
    assert mode["params"] == {"sessionId": SESSION, "modeId": "yolo"}
    assert reported(feed(conversation, chunk("[MODE_UPDATE] yolo"), {"id": 3, "result": {}})) == [TurnStarted()]
    assert sent_messages(conversation)[0]["method"] == "session/prompt"


def test_the_policy_denies_a_permission_request() -> None:
    conversation = started_conversation(rest="deny")
    assert "denied by the policy" in transcript(feed(conversation, recorded_request()))
    assert sent_messages(conversation)[0]["result"]["outcome"]["optionId"] == "cancel"


def permission_request(**call: Any) -> dict[str, Any]:
    """Return a permission request for a tool call."""
    asked = recorded_request()
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
def test_the_policy_matches_tool_files_and_command_but_no_title_of_the_model(
    allow: tuple[str, ...], call: dict[str, Any], allowed: bool
) -> None:
    conversation = started_conversation(allow=allow, rest="deny")
    feed(conversation, permission_request(**call))
    assert sent_messages(conversation)[0]["result"]["outcome"]["optionId"] == (
        "proceed_once" if allowed else "cancel"
    )


def test_the_ask_contains_the_file_and_the_whole_command() -> None:
    conversation = started_conversation()
    file = {
        "toolCallId": "replace__7",
        "kind": "edit",
        "title": "a.md: x => y",
        "locations": [{"path": "/work/a.md"}],
    }
    (asked,) = reported(feed(conversation, permission_request(**file)))[-1:]
    assert isinstance(asked, AskOpened)
    assert (asked.title, "a.md: x => y" in asked.text) == ("replace: /work/a.md", True)
    (asked,) = reported(feed(conversation, {**permission_request(kind="execute", title="ls\nrm -rf x"), "id": 1}))
    assert isinstance(asked, AskOpened)
    assert "ls\nrm -rf x" in asked.text


@pytest.mark.parametrize(
    ("text", "until"),
    [
        ("You exceeded your current quota.\nSuggested retry after 600s.", 1_600.0),
        ("Please retry in 34.5s.", 1_034.5),
        ("Your quota will reset after 3h20m5s.", 1_000.0 + 3 * 3600 + 20 * 60 + 5),
        ("Please retry in 500ms", 1_000.5),
        ("Your quota will reset after a while.", None),
        ("You have exhausted your daily quota on this model.", None),
    ],
)
def test_a_rate_limit_is_reported_with_its_reset_time(text: str, until: float | None) -> None:
    conversation = started_conversation()
    conversation.clock = lambda: 1_000.0  # type: ignore[method-assign]
    events = feed(conversation, {"id": 3, "error": {"code": 429, "message": text}})
    assert reported(events) == [RateLimited(until, text), TurnEnded(problem=text)]
    assert transcript(events).count(text) == 1
