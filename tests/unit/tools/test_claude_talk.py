"""Claude Code's protocol, from what it really said."""

from __future__ import annotations

from typing import Any

import pytest
from recordings import feed, opening, recorded, shown, told, written

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


def begun(**more: Any) -> tuple[ClaudeConversation, str]:
    """A conversation whose first prompt is on its way, and the uuid that has."""
    talk = ClaudeConversation(opening(**more))
    talk.start_conversation()
    _, prompt = written(talk)
    assert prompt["message"]["content"] == [{"type": "text", "text": "go"}]
    talk.take_events()
    return talk, prompt["uuid"]


def as_it_was(lines: list[dict[str, Any]], **uuids: str) -> list[dict[str, Any]]:
    """The recording, with the uuids of now."""
    found = {"first": FIRST, "busy": BUSY}
    changed = []
    for line in lines:
        for name, given in uuids.items():
            line = {key: given if value == found[name] else value for key, value in line.items()}
        changed.append(line)
    return changed


def permission() -> dict[str, Any]:
    return next(line for line in recorded("claude") if line.get("request_id") == ASK)


def test_a_whole_turn_with_a_prompt_in_the_middle() -> None:
    talk, first = begun()
    lines = recorded("claude")
    at = next(place for place, line in enumerate(lines) if line.get("request_id") == ASK)
    before = feed(talk, *as_it_was(lines[:at], first=first))
    assert told(before) == [ConversationStarted("2df99495-5e74-467c-ab46-abaf7d9a9e79"), PushConfirmed("start")]
    talk.send_prompt(Prompt("msg_1", "busy prompt"))
    (said,) = written(talk)
    (asked,) = told(feed(talk, lines[at]))
    assert isinstance(asked, AskOpened)
    assert (asked.ask, asked.actions, asked.choices) == (ASK, ("shell:sleep 3; echo one > o.txt",), ("allow", "deny"))
    assert talk.answer_ask(ASK, "allow")
    assert told(talk.take_events()) == [AskWithdrawn(ASK)]
    (answer,) = written(talk)
    assert answer["response"]["response"]["behavior"] == "allow"
    end = next(place for place, line in enumerate(lines) if "total_cost_usd" in line)
    rest = feed(talk, *as_it_was(lines[at + 1 : end + 1], first=first, busy=said["uuid"]))
    usage = Usage(input_tokens=20, output_tokens=40, cost_usd=0.00044, model="claude-sonnet-5-5")
    assert told(rest) == [PushConfirmed("msg_1"), TurnEnded(usage)]
    assert "first done" in shown(rest)
    assert talk.is_idle


def test_the_cost_of_a_turn_is_its_own() -> None:
    talk, _ = begun()
    ends = [one for one in feed(talk, *recorded("claude")) if isinstance(one, TurnEnded)]
    costs = [round(one.usage.cost_usd, 6) for one in ends if one.usage and one.usage.cost_usd is not None]
    assert costs == [0.00044, 0.00044, 0.00044, 0.00022]


@pytest.mark.parametrize("size", [1, 7, 4096])
def test_lines_may_come_in_any_pieces(size: int) -> None:
    whole, pieces = begun()[0], begun()[0]
    data = b"".join(line + b"\n" for line in (__import__("json").dumps(one).encode() for one in recorded("claude")))
    for at in range(0, len(data), size):
        pieces.process_output(data[at : at + size])
    assert pieces.take_events() == feed(whole, *recorded("claude"))


def test_a_prompt_waits_while_the_tool_asks() -> None:
    talk, _ = begun()
    feed(talk, permission())
    assert talk.send_prompt(Prompt("msg_1", "hurry")) == WAITS_FOR_ANSWER
    assert talk.send_prompt(Prompt("msg_1", "hurry")) == WAITS_FOR_ANSWER
    assert written(talk) == []
    talk.answer_ask(ASK, "deny")
    answer, prompt = written(talk)
    assert answer["response"]["response"] == {"behavior": "deny", "message": "The person denied the request."}
    assert prompt["message"]["content"][0]["text"] == "hurry"
    assert talk.send_prompt(Prompt("msg_1", "hurry")) == ""
    assert written(talk) == []


def test_a_prompt_is_taken_in_only_once_the_model_speaks() -> None:
    talk, first = begun()
    replay = {"type": "user", "isReplay": True, "uuid": first, "message": {"content": "go"}}
    assert told(feed(talk, replay)) == []
    failed = {"type": "result", "is_error": True, "result": "API Error: 500"}
    (ended,) = told(feed(talk, replay, failed))
    assert isinstance(ended, TurnEnded)
    assert ended.problem == "API Error: 500"


def test_a_policy_answers_at_once() -> None:
    talk, _ = begun(allow=("shell:*",))
    happened = feed(talk, permission())
    assert told(happened) == []
    assert "allowed by the policy" in shown(happened)
    assert written(talk)[0]["response"]["response"]["behavior"] == "allow"
    assert not talk.open_asks


def test_what_another_answered_is_no_longer_asked() -> None:
    talk, _ = begun()
    feed(talk, permission())
    assert feed(talk, {"type": "control_cancel_request", "request_id": ASK}) == [AskWithdrawn(ASK)]
    assert not talk.answer_ask(ASK, "allow")


def test_a_question_is_answered_in_the_persons_words() -> None:
    talk, _ = begun()
    options = [{"label": "A", "description": "the old one"}, {"label": "B", "description": "the new one"}]
    given = {"questions": [{"question": "Which grammar?", "header": "Grammar", "options": options}]}
    request = {"subtype": "can_use_tool", "tool_name": "AskUserQuestion", "input": given}
    (asked,) = told(feed(talk, {"type": "control_request", "request_id": "q1", "request": request}))
    assert isinstance(asked, AskOpened)
    assert (asked.what, asked.title, asked.choices) == ("question", "Which grammar?", ("A", "B"))
    talk.answer_ask("q1", "neither")
    (answer,) = written(talk)
    assert answer["response"]["response"]["updatedInput"]["answers"] == {"Which grammar?": "neither"}


def asks_its_user(*names: str) -> dict[str, Any]:
    given = {"questions": [{"question": name, "options": [{"label": "A"}, {"label": "B"}]} for name in names]}
    request = {"subtype": "can_use_tool", "tool_name": "AskUserQuestion", "input": given}
    return {"type": "control_request", "request_id": "q1", "request": request}


def test_each_of_several_questions_has_its_own_answer() -> None:
    talk, _ = begun()
    (asked,) = told(feed(talk, asks_its_user("Which grammar?", "Which name?")))
    assert isinstance(asked, AskOpened)
    assert "Which name?" in asked.text
    talk.answer_ask("q1", "A\nEve")
    (answer,) = written(talk)
    assert answer["response"]["response"]["updatedInput"]["answers"] == {"Which grammar?": "A", "Which name?": "Eve"}


def test_a_question_that_is_put_aside_is_refused() -> None:
    talk, _ = begun()
    feed(talk, asks_its_user("Which grammar?"))
    talk.answer_ask("q1", UNANSWERED)
    assert written(talk)[0]["response"]["response"]["behavior"] == "deny"
    feed(talk, asks_its_user("Which grammar?"))
    talk.answer_ask("q1", "deny")
    assert written(talk)[0]["response"]["response"]["updatedInput"]["answers"] == {"Which grammar?": "deny"}


def test_a_call_with_questions_in_it_is_none_by_that() -> None:
    talk, _ = begun(rest="deny")
    asked = asks_its_user("Which grammar?")
    asked["request"]["tool_name"] = "mcp__forms__send"
    feed(talk, asked)
    assert written(talk)[0]["response"]["response"]["behavior"] == "deny"


def test_a_limit_says_until_when() -> None:
    talk, first = begun()
    warned = {"type": "rate_limit_event", "rate_limit_info": {"status": "allowed_warning", "resetsAt": 5}}
    reached = {"type": "rate_limit_event", "rate_limit_info": {"status": "rejected", "resetsAt": 1794815174}}
    replay = {"type": "user", "isReplay": True, "uuid": first, "message": {"content": "go"}}
    said = "You've hit your 5-hour limit · resets 7:46am (UTC)"
    content = [{"type": "text", "text": said}]
    itself = {"type": "assistant", "session_id": "s", "message": {"model": "<synthetic>", "content": content}}
    result = {"type": "result", "is_error": True, "result": said, "total_cost_usd": 0, "usage": {}}
    assert told(feed(talk, warned)) == []
    limited, ended = told(feed(talk, reached, replay, itself, result))
    assert limited == RateLimited(1794815174, said)
    assert isinstance(ended, TurnEnded)


def test_a_limit_without_an_end_is_one_too() -> None:
    talk, _ = begun()
    itself = {"type": "assistant", "error": "rate_limit", "message": {"model": "<synthetic>", "content": []}}
    limited, _ = told(feed(talk, itself, {"type": "result", "is_error": True, "result": "429"}))
    assert limited == RateLimited(None, "429")


def test_what_it_says_that_nobody_expected_stops_nothing() -> None:
    talk, first = begun()
    odd: list[dict[str, Any]] = [{"type": "assistant", "message": 7}, {"type": "user", "message": {"content": [3]}}]
    assert "could not read this line" in shown(feed(talk, *odd, {"no": "type"}))
    talk.process_output(b"plain words\n[1, 2]\n\n")
    assert "plain words" in shown(talk.take_events())
    spoke = {"type": "assistant", "session_id": "s", "message": {"content": [{"type": "text", "text": "hi"}]}}
    replay = {"type": "user", "isReplay": True, "uuid": first, "message": {"content": "go"}}
    assert told(feed(talk, replay, spoke)) == [ConversationStarted("s"), PushConfirmed("start")]


def test_a_conversation_that_is_gone_is_not_asked_for_again() -> None:
    talk, _ = begun()
    said = ["No conversation found with session ID: 11111111-1111-4111-8111-111111111111"]
    gone, ended = told(feed(talk, {"type": "result", "is_error": True, "num_turns": 0, "errors": said}))
    assert gone == ConversationStarted("")
    assert isinstance(ended, TurnEnded)


def test_a_turn_begins_with_the_prompt() -> None:
    talk = ClaudeConversation(opening())
    talk.start_conversation()
    assert talk.take_events() == [TurnStarted()]
    assert not talk.is_idle


@pytest.mark.parametrize("failed", [False, True])
def test_a_command_of_its_own_is_done_when_its_turn_ends_well(failed: bool) -> None:
    talk, first = begun()
    as_command = "<command-name>/compact</command-name>\n<command-message>compact</command-message>"
    feed(talk, {"type": "user", "isReplay": True, "uuid": first, "message": {"content": as_command}})
    result = "Not enough messages to compact." if failed else ""
    happened = feed(talk, {"type": "result", "is_error": failed, "num_turns": 0, "result": result, "usage": {}})
    assert [one for one in told(happened) if isinstance(one, PushConfirmed)] == (
        [] if failed else [PushConfirmed("start")]
    )
    assert talk.is_idle


def test_a_conversation_that_was_cleared_is_another() -> None:
    talk, _ = begun()
    spoken = {"type": "assistant", "message": {"content": [{"type": "text", "text": "Hello."}]}}
    told_of = [feed(talk, {**spoken, "session_id": name}) for name in ("one", "one", "two")]
    assert [told(happened) for happened in told_of] == [
        [ConversationStarted("one")],
        [],
        [ConversationStarted("two")],
    ]
