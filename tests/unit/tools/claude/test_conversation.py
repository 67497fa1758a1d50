"""The conversation with Claude Code handles prompts, asks and rate limits; the messages are recorded."""

from __future__ import annotations

import json
from typing import Any

import pytest
from conversation_recordings import feed, opening, recorded_messages, reported, sent_messages, transcript

from maestro.tools.claude.conversation import ClaudeConversation
from maestro.tools.conversation import WAITS_FOR_ANSWER, Prompt
from maestro.tools.conversation_events import (
    UNANSWERED,
    AskOpened,
    AskWithdrawn,
    ConversationStarted,
    PushConfirmed,
    RateLimited,
    TurnEnded,
    TurnStarted,
    Usage,
)

FIRST, BUSY = "11111111-1111-4111-8111-111111111111", "21111111-1111-4111-8111-111111111111"
ASK = "318760b5-0372-489e-a3de-f7f0b02e4cc3"


def started_conversation(**more: Any) -> tuple[ClaudeConversation, str]:
    """Return a conversation that has sent the first prompt, and the uuid of this prompt."""
    conversation = ClaudeConversation(opening(**more))
    conversation.start_conversation()
    _, prompt = sent_messages(conversation)
    assert prompt["message"]["content"] == [{"type": "text", "text": "go"}]
    conversation.take_events()
    return conversation, prompt["uuid"]


def with_uuids(lines: list[dict[str, Any]], **uuids: str) -> list[dict[str, Any]]:
    """Return the recorded messages with the given uuids in the place of the recorded uuids."""
    found = {"first": FIRST, "busy": BUSY}
    changed = []
    for line in lines:
        for name, given in uuids.items():
            line = {key: given if value == found[name] else value for key, value in line.items()}
        changed.append(line)
    return changed


def permission_request() -> dict[str, Any]:
    return next(line for line in recorded_messages("claude") if line.get("request_id") == ASK)


def test_a_second_prompt_is_accepted_during_a_turn() -> None:
    conversation, first = started_conversation()
    lines = recorded_messages("claude")
    at = next(place for place, line in enumerate(lines) if line.get("request_id") == ASK)
    before = feed(conversation, *with_uuids(lines[:at], first=first))
    assert reported(before) == [ConversationStarted("2df99495-5e74-467c-ab46-abaf7d9a9e79"), PushConfirmed("start")]
    conversation.send_prompt(Prompt("msg_1", "busy prompt"))
    (text,) = sent_messages(conversation)
    (asked,) = reported(feed(conversation, lines[at]))
    assert isinstance(asked, AskOpened)
    assert (asked.ask, asked.actions, asked.choices) == (ASK, ("shell:sleep 3; echo one > o.txt",), ("allow", "deny"))
    assert conversation.answer_ask(ASK, "allow")
    assert reported(conversation.take_events()) == [AskWithdrawn(ASK)]
    (answer,) = sent_messages(conversation)
    assert answer["response"]["response"]["behavior"] == "allow"
    end = next(place for place, line in enumerate(lines) if "total_cost_usd" in line)
    rest = feed(conversation, *with_uuids(lines[at + 1 : end + 1], first=first, busy=text["uuid"]))
    usage = Usage(input_tokens=20, output_tokens=40, cost_usd=0.00044, model="claude-sonnet-5-5")
    assert reported(rest) == [PushConfirmed("msg_1"), TurnEnded(usage)]
    assert "first done" in transcript(rest)
    assert conversation.is_idle


def test_the_cost_of_each_turn_is_reported_separately() -> None:
    conversation, _ = started_conversation()
    ends = [event for event in feed(conversation, *recorded_messages("claude")) if isinstance(event, TurnEnded)]
    costs = [round(event.usage.cost_usd, 6) for event in ends if event.usage and event.usage.cost_usd is not None]
    assert costs == [0.00044, 0.00044, 0.00044, 0.00022]


@pytest.mark.parametrize("size", [1, 7, 4096])
def test_messages_in_pieces_of_any_size_give_the_same_events(size: int) -> None:
    whole, pieces = started_conversation()[0], started_conversation()[0]
    data = b"".join(line + b"\n" for line in (json.dumps(event).encode() for event in recorded_messages("claude")))
    for at in range(0, len(data), size):
        pieces.process_output(data[at : at + size])
    assert pieces.take_events() == feed(whole, *recorded_messages("claude"))


def test_a_prompt_waits_while_an_ask_is_open() -> None:
    conversation, _ = started_conversation()
    feed(conversation, permission_request())
    assert conversation.send_prompt(Prompt("msg_1", "hurry")) == WAITS_FOR_ANSWER
    assert conversation.send_prompt(Prompt("msg_1", "hurry")) == WAITS_FOR_ANSWER
    assert sent_messages(conversation) == []
    conversation.answer_ask(ASK, "deny")
    answer, prompt = sent_messages(conversation)
    assert answer["response"]["response"] == {"behavior": "deny", "message": "The person denied the request."}
    assert prompt["message"]["content"][0]["text"] == "hurry"
    assert conversation.send_prompt(Prompt("msg_1", "hurry")) == ""
    assert sent_messages(conversation) == []


def test_a_prompt_is_confirmed_only_when_the_model_answers() -> None:
    conversation, first = started_conversation()
    replay = {"type": "user", "isReplay": True, "uuid": first, "message": {"content": "go"}}
    assert reported(feed(conversation, replay)) == []
    failed = {"type": "result", "is_error": True, "result": "API Error: 500"}
    (ended,) = reported(feed(conversation, replay, failed))
    assert isinstance(ended, TurnEnded)
    assert ended.problem == "API Error: 500"


def test_the_policy_answers_a_permission_request_at_once() -> None:
    conversation, _ = started_conversation(allow=("shell:*",))
    events = feed(conversation, permission_request())
    assert reported(events) == []
    assert "allowed by the policy" in transcript(events)
    assert sent_messages(conversation)[0]["response"]["response"]["behavior"] == "allow"
    assert not conversation.open_asks


def test_a_cancelled_request_withdraws_the_ask() -> None:
    conversation, _ = started_conversation()
    feed(conversation, permission_request())
    assert feed(conversation, {"type": "control_cancel_request", "request_id": ASK}) == [AskWithdrawn(ASK)]
    assert not conversation.answer_ask(ASK, "allow")


def test_the_answer_to_a_question_is_the_text_of_the_person() -> None:
    conversation, _ = started_conversation()
    options = [{"label": "A", "description": "the old one"}, {"label": "B", "description": "the new one"}]
    given = {"questions": [{"question": "Which grammar?", "header": "Grammar", "options": options}]}
    request = {"subtype": "can_use_tool", "tool_name": "AskUserQuestion", "input": given}
    (asked,) = reported(feed(conversation, {"type": "control_request", "request_id": "q1", "request": request}))
    assert isinstance(asked, AskOpened)
    assert (asked.what, asked.title, asked.choices) == ("question", "Which grammar?", ("A", "B"))
    conversation.answer_ask("q1", "neither")
    (answer,) = sent_messages(conversation)
    assert answer["response"]["response"]["updatedInput"]["answers"] == {"Which grammar?": "neither"}


def question_request(*names: str) -> dict[str, Any]:
    given = {"questions": [{"question": name, "options": [{"label": "A"}, {"label": "B"}]} for name in names]}
    request = {"subtype": "can_use_tool", "tool_name": "AskUserQuestion", "input": given}
    return {"type": "control_request", "request_id": "q1", "request": request}


def test_each_of_several_questions_gets_its_own_answer() -> None:
    conversation, _ = started_conversation()
    (asked,) = reported(feed(conversation, question_request("Which grammar?", "Which name?")))
    assert isinstance(asked, AskOpened)
    assert "Which name?" in asked.text
    conversation.answer_ask("q1", "A\nEve")
    (answer,) = sent_messages(conversation)
    assert answer["response"]["response"]["updatedInput"]["answers"] == {"Which grammar?": "A", "Which name?": "Eve"}


def test_a_question_without_an_answer_is_denied() -> None:
    conversation, _ = started_conversation()
    feed(conversation, question_request("Which grammar?"))
    conversation.answer_ask("q1", UNANSWERED)
    assert sent_messages(conversation)[0]["response"]["response"]["behavior"] == "deny"
    feed(conversation, question_request("Which grammar?"))
    conversation.answer_ask("q1", "deny")
    assert sent_messages(conversation)[0]["response"]["response"]["updatedInput"]["answers"] == {
        "Which grammar?": "deny"
    }


def test_questions_in_the_input_of_another_tool_are_a_permission_request() -> None:
    conversation, _ = started_conversation(rest="deny")
    asked = question_request("Which grammar?")
    asked["request"]["tool_name"] = "mcp__forms__send"
    feed(conversation, asked)
    assert sent_messages(conversation)[0]["response"]["response"]["behavior"] == "deny"


def test_a_rate_limit_is_reported_with_its_reset_time() -> None:
    conversation, first = started_conversation()
    warned = {"type": "rate_limit_event", "rate_limit_info": {"status": "allowed_warning", "resetsAt": 5}}
    reached = {"type": "rate_limit_event", "rate_limit_info": {"status": "rejected", "resetsAt": 1794815174}}
    replay = {"type": "user", "isReplay": True, "uuid": first, "message": {"content": "go"}}
    text = "You've hit your 5-hour limit · resets 7:46am (UTC)"
    content = [{"type": "text", "text": text}]
    own_message = {"type": "assistant", "session_id": "s", "message": {"model": "<synthetic>", "content": content}}
    result = {"type": "result", "is_error": True, "result": text, "total_cost_usd": 0, "usage": {}}
    assert reported(feed(conversation, warned)) == []
    limited, ended = reported(feed(conversation, reached, replay, own_message, result))
    assert limited == RateLimited(1794815174, text)
    assert isinstance(ended, TurnEnded)


def test_a_rate_limit_without_a_reset_time_is_reported() -> None:
    conversation, _ = started_conversation()
    own_message = {"type": "assistant", "error": "rate_limit", "message": {"model": "<synthetic>", "content": []}}
    limited, _ = reported(feed(conversation, own_message, {"type": "result", "is_error": True, "result": "429"}))
    assert limited == RateLimited(None, "429")


def test_unexpected_messages_do_not_end_the_conversation() -> None:
    conversation, first = started_conversation()
    odd: list[dict[str, Any]] = [{"type": "assistant", "message": 7}, {"type": "user", "message": {"content": [3]}}]
    assert "could not read this line" in transcript(feed(conversation, *odd, {"no": "type"}))
    conversation.process_output(b"plain words\n[1, 2]\n\n")
    assert "plain words" in transcript(conversation.take_events())
    spoke = {"type": "assistant", "session_id": "s", "message": {"content": [{"type": "text", "text": "hi"}]}}
    replay = {"type": "user", "isReplay": True, "uuid": first, "message": {"content": "go"}}
    assert reported(feed(conversation, replay, spoke)) == [ConversationStarted("s"), PushConfirmed("start")]


def test_a_missing_conversation_is_reported_with_an_empty_id() -> None:
    conversation, _ = started_conversation()
    text = ["No conversation found with session ID: 11111111-1111-4111-8111-111111111111"]
    gone, ended = reported(feed(conversation, {"type": "result", "is_error": True, "num_turns": 0, "errors": text}))
    assert gone == ConversationStarted("")
    assert isinstance(ended, TurnEnded)


def test_the_first_prompt_starts_a_turn() -> None:
    conversation = ClaudeConversation(opening())
    conversation.start_conversation()
    assert conversation.take_events() == [TurnStarted()]
    assert not conversation.is_idle


@pytest.mark.parametrize("failed", [False, True])
def test_a_slash_command_is_confirmed_only_if_its_turn_succeeds(failed: bool) -> None:
    conversation, first = started_conversation()
    as_command = "<command-name>/compact</command-name>\n<command-message>compact</command-message>"
    feed(conversation, {"type": "user", "isReplay": True, "uuid": first, "message": {"content": as_command}})
    result = "Not enough messages to compact." if failed else ""
    events = feed(conversation, {"type": "result", "is_error": failed, "num_turns": 0, "result": result, "usage": {}})
    assert [event for event in reported(events) if isinstance(event, PushConfirmed)] == (
        [] if failed else [PushConfirmed("start")]
    )
    assert conversation.is_idle


def test_a_cleared_conversation_is_reported_with_its_new_id() -> None:
    conversation, _ = started_conversation()
    spoken = {"type": "assistant", "message": {"content": [{"type": "text", "text": "Hello."}]}}
    events_of_each = [feed(conversation, {**spoken, "session_id": name}) for name in ("one", "one", "two")]
    assert [reported(events) for events in events_of_each] == [
        [ConversationStarted("one")],
        [],
        [ConversationStarted("two")],
    ]
