"""All conversations handle lines, waiting prompts, open asks and the permission policy in the same way."""

from __future__ import annotations

import json
from typing import Any

import pytest
from conversation_recordings import opening, reported, sent_messages, transcript

from maestro.tools import conversation as module
from maestro.tools.conversation import WAITS_FOR_ANSWER, Conversation, Prompt, echo_prompt
from maestro.tools.conversation_events import (
    PERMISSION,
    QUESTION,
    START,
    AskOpened,
    AskWithdrawn,
    TurnEnded,
)


class PlainConversation(Conversation):
    """A conversation with a minimal protocol: a message opens or withdraws an ask, ends a turn, or sets readiness."""

    is_ready = True

    def _handle_message(self, message: dict[str, Any]) -> None:
        match message:
            case {"ask": ask, "what": what}:
                actions = ("shell:git push",) if what == PERMISSION else ()
                self._open_ask(
                    AskOpened(ask=ask, what=what, title="push", text="", choices=(), actions=actions), "kept"
                )
            case {"withdraw": ask}:
                self._withdraw_ask(ask)
            case {"end": problem}:
                self._end_turn(TurnEnded(problem=problem))
            case {"ready": ready}:
                self.is_ready = ready
            case _:
                raise KeyError("unknown")

    def _send_prompt(self, prompt: Prompt) -> None:
        self.is_busy = True
        self._write_message({"prompt": prompt.text})

    def _send_answer(self, ask: str, kept: Any, choice: str) -> None:
        self._write_message({"ask": ask, "kept": kept, "choice": choice})

    def _is_open(self) -> bool:
        return self.is_ready


def plain(**more: Any) -> PlainConversation:
    return PlainConversation(opening(**more))


def feed_lines(conversation: Conversation, *lines: Any) -> list[Any]:
    conversation.process_output(b"".join(json.dumps(line).encode() + b"\n" for line in lines))
    return conversation.take_events()


def ask_for(what: str, ask: str = "a1") -> dict[str, str]:
    return {"ask": ask, "what": what}


def test_a_prompt_is_sent_at_once_and_only_once() -> None:
    conversation = plain()
    assert conversation.send_prompt(Prompt("p1", "go")) == ""
    assert conversation.send_prompt(Prompt("p1", "go")) == ""
    assert sent_messages(conversation) == [{"prompt": "go"}]
    assert conversation.is_known(Prompt("p1", "")) and not conversation.is_known(Prompt("p2", ""))


def test_prompts_wait_for_the_answer_to_an_ask_and_keep_their_order() -> None:
    conversation = plain()
    feed_lines(conversation, ask_for(QUESTION))
    assert conversation.send_prompt(Prompt("p1", "one")) == WAITS_FOR_ANSWER
    assert conversation.send_prompt(Prompt("p2", "two")) == WAITS_FOR_ANSWER
    assert conversation.send_prompt(Prompt("p1", "one")) == WAITS_FOR_ANSWER
    assert sent_messages(conversation) == [] and not conversation.is_idle
    assert conversation.answer_ask("a1", "yes")
    assert sent_messages(conversation) == [
        {"ask": "a1", "kept": "kept", "choice": "yes"},
        {"prompt": "one"},
        {"prompt": "two"},
    ]


def test_a_repeated_prompt_is_not_reported_as_waiting_when_another_prompt_waits() -> None:
    conversation = plain()
    conversation.send_prompt(Prompt("p1", "one"))
    feed_lines(conversation, ask_for(QUESTION))
    assert conversation.send_prompt(Prompt("p2", "two")) == WAITS_FOR_ANSWER
    assert conversation.send_prompt(Prompt("p1", "one")) == ""


def test_a_prompt_waits_until_the_program_is_ready() -> None:
    conversation = plain()
    conversation.is_ready = False
    conversation.send_prompt(Prompt("p1", "go"))
    assert sent_messages(conversation) == []
    feed_lines(conversation, {"ready": True})
    assert sent_messages(conversation) == [{"prompt": "go"}]


def test_the_conversation_forgets_old_prompt_ids(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_PROMPTS_KNOWN_MAX", 2)
    conversation = plain()
    for name in ("p1", "p2", "p3"):
        conversation.send_prompt(Prompt(name, name))
    assert [conversation.is_known(Prompt(name, "")) for name in ("p1", "p2", "p3")] == [False, True, True]


def test_an_ask_can_be_answered_only_once() -> None:
    conversation = plain()
    assert feed_lines(conversation, ask_for(QUESTION))[-1].ask == "a1"
    assert conversation.answer_ask("a1", "yes")
    assert reported(conversation.take_events()) == [AskWithdrawn("a1")]
    assert not conversation.answer_ask("a1", "no")


@pytest.mark.parametrize(
    ("allow", "rest", "choice"),
    [(("shell:git *",), "ask", "allow"), ((), "deny", "deny"), ((), "ask", None)],
)
def test_a_permission_request_is_answered_by_the_policy_if_the_policy_decides(
    allow: tuple[str, ...], rest: str, choice: str | None
) -> None:
    conversation = plain(allow=allow, rest=rest)
    events = feed_lines(conversation, ask_for(PERMISSION))
    assert bool(reported(events)) == bool(conversation.open_asks) == (choice is None)
    assert [message["choice"] for message in sent_messages(conversation)] == ([choice] if choice else [])
    if choice:
        assert "by the policy: push" in transcript(events)


def test_the_policy_answers_no_question() -> None:
    conversation = plain(allow=("*",))
    assert reported(feed_lines(conversation, ask_for(QUESTION)))
    assert sent_messages(conversation) == []


def test_a_withdrawn_ask_is_reported_once() -> None:
    conversation = plain()
    feed_lines(conversation, ask_for(QUESTION))
    assert feed_lines(conversation, {"withdraw": "a1"}, {"withdraw": "a1"}) == [AskWithdrawn("a1")]


def test_the_end_of_a_turn_withdraws_all_asks_and_shows_the_problem() -> None:
    conversation = plain()
    conversation.send_prompt(Prompt("p1", "go"))
    feed_lines(conversation, ask_for(QUESTION, "a1"), ask_for(QUESTION, "a2"))
    events = feed_lines(conversation, {"end": "no network"})
    assert reported(events) == [AskWithdrawn("a1"), AskWithdrawn("a2"), TurnEnded(problem="no network")]
    assert transcript(events) == "! no network\n"
    assert conversation.is_idle


def test_an_incomplete_line_is_read_when_the_rest_arrives() -> None:
    conversation = plain()
    conversation.process_output(b'{"end": "')
    assert conversation.take_events() == []
    conversation.process_output(b'x"}\n\n')
    assert reported(conversation.take_events()) == [TurnEnded(problem="x")]


def test_a_line_above_the_size_limit_is_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_LINE_BYTES_MAX", 10)
    conversation = plain()
    conversation.process_output(b"x" * 11)
    assert reported(feed_lines(conversation, {"end": ""})) == [TurnEnded(problem="")]


def test_plain_text_and_unreadable_messages_are_shown_in_the_transcript() -> None:
    conversation = plain()
    conversation.process_output(b'plain \xff text\n[1]\n{"odd": 1}\n')
    text = transcript(conversation.take_events())
    assert text.startswith("plain \ufffd text\n[1]\n! Maestro could not read this line (KeyError('unknown'))")


def test_characters_that_utf_8_cannot_encode_are_replaced() -> None:
    conversation = plain()
    conversation.send_prompt(Prompt("p1", "a\ud800"))
    assert sent_messages(conversation) == [{"prompt": "a?"}]


def test_the_transcript_shows_the_text_of_later_prompts_but_not_of_the_first() -> None:
    assert echo_prompt(Prompt(START, "long")).text == "> (start prompts)\n"
    assert echo_prompt(Prompt("p1", "go on")).text == "> go on\n"
