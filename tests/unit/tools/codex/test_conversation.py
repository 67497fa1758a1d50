"""The conversation with Codex handles prompts, asks, hooks and rate limits; the messages are recorded."""

from __future__ import annotations

import json
from typing import Any

import pytest
from conversation_recordings import feed, opening, recorded_messages, reported, sent_messages, transcript

from maestro.tools.codex.conversation import CodexConversation
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

THREAD = "01a1e2f3-6d3c-7683-a576-e30c97b72b7b"
TURN = "01a1e2f3-6da8-7a71-9f1c-69ef49c2fd91"


def first_program() -> list[dict[str, Any]]:
    """Return the recorded messages of the first of two programs, with the prompt ids that these tests use."""
    text = json.dumps(recorded_messages("codex")).replace('"prm_1"', '"start"').replace('"prm_2"', '"msg_1"')
    lines: list[dict[str, Any]] = json.loads(text)
    return lines[: next(at for at, line in enumerate(lines) if line.get("id") == 7)]


def started_conversation(**more: Any) -> CodexConversation:
    """Return a conversation in which the first turn runs."""
    conversation = CodexConversation(opening(system_prompt="Be good.", settings={"sandbox": "read-only"}, **more))
    conversation.start_conversation()
    lines = first_program()
    feed(conversation, *lines[: _at(lines, "item/completed") + 1], SPOKE)
    return conversation


def _at(lines: list[dict[str, Any]], method: str, *, after: int = -1) -> int:
    return next(at for at, line in enumerate(lines) if line.get("method") == method and at > after)


def notice(method: str, **params: Any) -> dict[str, Any]:
    return {"method": method, "params": {"threadId": THREAD, **params}}


def prompt_started(prompt: str) -> dict[str, Any]:
    return notice("item/started", item={"type": "userMessage", "clientId": prompt})


def command_request(command: str, interpretation: str = "") -> dict[str, Any]:
    """Return a permission request for a command, with Codex's interpretation of the command for people."""
    told = {
        "command": command,
        "reason": "It must be.",
        "commandActions": [{"type": "unknown", "command": interpretation}],
    }
    return {"id": 0, "method": "item/commandExecution/requestApproval", "params": {"threadId": THREAD, **told}}


SPOKE = notice("item/completed", item={"type": "agentMessage", "text": "yes"})
COMPLETED = notice("turn/completed", turn={"id": TURN, "status": "completed", "error": None})


def test_a_second_prompt_is_accepted_during_a_turn() -> None:
    conversation = CodexConversation(opening(system_prompt="Be good.", settings={"sandbox": "read-only"}))
    conversation.start_conversation()
    lines = first_program()
    (hello,) = sent_messages(conversation)
    assert hello["method"] == "initialize"
    feed(conversation, lines[0])
    initialized, start = sent_messages(conversation)
    assert initialized == {"method": "initialized"}
    assert start["params"] == {"sandbox": "read-only", "cwd": "/work", "developerInstructions": "Be good."}
    steered = next(at for at, line in enumerate(lines) if line.get("id") == 4)
    before = feed(conversation, *lines[1:steered])
    assert reported(before) == [TurnStarted(), ConversationStarted(THREAD), PushConfirmed("start")]
    (turn,) = sent_messages(conversation)
    assert (turn["method"], turn["params"]["clientUserMessageId"]) == ("turn/start", "start")
    assert conversation.send_prompt(Prompt("msg_1", "busy prompt")) == ""
    (steer,) = sent_messages(conversation)
    assert (steer["method"], steer["params"]["expectedTurnId"]) == ("turn/steer", TURN)
    end = _at(lines, "turn/completed")
    rest = feed(conversation, *lines[steered : end + 1])
    assert reported(rest) == [PushConfirmed("msg_1"), TurnEnded(Usage(input_tokens=20, output_tokens=40))]
    assert "first done" in transcript(rest)
    assert conversation.is_idle


def test_skills_are_named_before_the_thread_starts() -> None:
    conversation = CodexConversation(opening(skills=("/own/skills",)))
    conversation.start_conversation()
    sent_messages(conversation)
    feed(conversation, first_program()[0])
    _, asked = sent_messages(conversation)
    assert (asked["method"], asked["params"]) == ("skills/extraRoots/set", {"extraRoots": ["/own/skills"]})
    feed(conversation, {"id": asked["id"], "result": {}})
    (start,) = sent_messages(conversation)
    assert start["method"] == "thread/start"


def test_a_version_of_codex_that_refuses_skills_starts_without_skills() -> None:
    conversation = CodexConversation(opening(skills=("/own/skills",)))
    conversation.start_conversation()
    feed(conversation, first_program()[0])
    *_, asked = sent_messages(conversation)
    events = feed(conversation, {"id": asked["id"], "error": {"code": -32601, "message": "unknown method"}})
    assert "Codex refuses the skills: unknown method" in transcript(events)
    (start,) = sent_messages(conversation)
    assert start["method"] == "thread/start"


def test_the_usage_and_an_interrupt_are_reported_for_each_turn() -> None:
    conversation = CodexConversation(opening())
    conversation.start_conversation()
    ends = [event for event in feed(conversation, *first_program()) if isinstance(event, TurnEnded)]
    assert [(event.usage.output_tokens, event.interrupted) for event in ends if event.usage] == [
        (40, False),
        (20, True),
    ]


def test_a_prompt_without_an_answer_at_the_end_of_a_turn_gets_its_own_turn() -> None:
    conversation = started_conversation()
    sent_messages(conversation)
    conversation.send_prompt(Prompt("msg_1", "late"))
    sent_messages(conversation)
    feed(conversation, prompt_started("msg_1"))
    assert PushConfirmed("msg_1") not in feed(conversation, COMPLETED)
    (turn,) = sent_messages(conversation)
    assert (turn["method"], turn["params"]["clientUserMessageId"]) == ("turn/start", "msg_1")
    assert "late" not in turn["params"]["input"][0]["text"]
    again = feed(
        conversation,
        {"id": turn["id"], "result": {}},
        notice("turn/started", turn={"id": "t2"}),
        prompt_started("msg_1"),
        SPOKE,
    )
    assert PushConfirmed("msg_1") in again


def test_a_prompt_after_the_end_of_a_turn_is_not_lost() -> None:
    conversation = started_conversation()
    conversation.send_prompt(Prompt("msg_1", "later still"))
    sent_messages(conversation)
    feed(conversation, COMPLETED, prompt_started("msg_1"))
    (turn,) = sent_messages(conversation)
    assert turn["params"]["clientUserMessageId"] == "msg_1"


def test_a_prompt_that_could_not_be_steered_starts_a_turn() -> None:
    conversation = started_conversation()
    sent_messages(conversation)
    conversation.send_prompt(Prompt("msg_1", "too late"))
    (steer,) = sent_messages(conversation)
    feed(
        conversation, COMPLETED, {"id": steer["id"], "error": {"code": -32600, "message": "no active turn to steer"}}
    )
    (turn,) = sent_messages(conversation)
    assert (turn["method"], turn["params"]["input"][0]["text"]) == ("turn/start", "too late")


@pytest.mark.parametrize(
    "end",
    [{"status": "interrupted", "error": None}, {"status": "failed", "error": {"message": "stream disconnected"}}],
)
def test_a_prompt_in_a_broken_turn_is_not_confirmed(end: dict[str, Any]) -> None:
    conversation = started_conversation()
    sent_messages(conversation)
    conversation.send_prompt(Prompt("msg_1", "and that"))
    (steer,) = sent_messages(conversation)
    feed(conversation, {"id": steer["id"], "result": {"turnId": TURN}})
    events = feed(conversation, notice("turn/completed", turn={"id": TURN, **end}))
    assert PushConfirmed("msg_1") not in events
    assert conversation.is_idle
    assert sent_messages(conversation) == [], (
        "The conversation repeated the prompt; only the sender may send an unconfirmed prompt again."
    )
    assert conversation.send_prompt(Prompt("req_2", "and that")) == ""
    (turn,) = sent_messages(conversation)
    assert (turn["method"], turn["params"]["clientUserMessageId"]) == ("turn/start", "req_2")


def test_a_rate_limit_is_reported_with_its_reset_time() -> None:
    conversation = started_conversation()
    windows = {
        "primary": {"usedPercent": 100, "resetsAt": 1794815183},
        "secondary": {"usedPercent": 7, "resetsAt": 9},
    }
    error = {"message": "You’ve hit your usage limit.", "codexErrorInfo": "usageLimitExceeded"}
    events = feed(
        conversation,
        {"method": "account/rateLimits/updated", "params": {"rateLimits": windows}},
        notice("error", error=error, willRetry=False),
        notice("turn/completed", turn={"id": TURN, "status": "failed", "error": error}),
    )
    limited, ended = reported(events)
    assert limited == RateLimited(1794815183, "You’ve hit your usage limit.")
    assert isinstance(ended, TurnEnded)


def test_events_of_other_threads_are_ignored() -> None:
    conversation = started_conversation()
    other = {"method": "turn/completed", "params": {"threadId": "other", "turn": {"id": "x"}}}
    assert feed(conversation, other) == []
    assert conversation.is_busy


def test_a_prompt_waits_while_an_ask_is_open() -> None:
    conversation = started_conversation()
    sent_messages(conversation)
    (asked,) = reported(feed(conversation, command_request("/bin/bash -lc 'git push'")))
    assert isinstance(asked, AskOpened)
    assert (asked.ask, asked.actions, asked.text) == ("0", ("shell:git push",), "shell: git push\n\nIt must be.")
    assert conversation.send_prompt(Prompt("msg_1", "wait")) == WAITS_FOR_ANSWER
    conversation.answer_ask("0", "deny")
    answer, prompt = sent_messages(conversation)
    assert answer == {"id": 0, "result": {"decision": "decline"}}
    assert prompt["method"] == "turn/steer"
    assert AskWithdrawn("0") in conversation.take_events()


@pytest.mark.parametrize(
    ("command", "seen"),
    [
        ("/bin/bash -lc 'ls -l'", "ls -l"),
        ("/usr/bin/zsh -lc ls", "ls"),
        ("sh -c 'ls -l'", "ls -l"),
        ("ls -l", "ls -l"),
        ("/bin/bash -lc 'ls | xargs rm -rf'", "ls | xargs rm -rf"),
        ("/bin/bash -lc \"ls 'a b'\"", "ls 'a b'"),
        ("/bin/bash -lc ls extra", "/bin/bash -lc ls extra"),
        ("/tmp/bash -lc ls", "/tmp/bash -lc ls"),
        ("/bin/bash --rcfile x -c ls", "/bin/bash --rcfile x -c ls"),
        ("env X=1 bash -lc ls", "env X=1 bash -lc ls"),
        ("/bin/bash -lc 'ls", "/bin/bash -lc 'ls"),
    ],
)
def test_the_ask_for_a_command_contains_the_whole_command(command: str, seen: str) -> None:
    (asked,) = reported(feed(started_conversation(), command_request(command, interpretation="ls")))
    assert isinstance(asked, AskOpened)
    assert (asked.title, asked.actions) == (f"shell: {seen}", (f"shell:{seen}",))


def test_the_policy_matches_the_command_and_not_the_interpretation_of_codex() -> None:
    conversation = started_conversation(allow=("shell:ls*",), rest="deny")
    sent_messages(conversation)
    feed(conversation, command_request("/bin/bash -lc 'ls | xargs rm -rf'", interpretation="ls"))
    assert sent_messages(conversation)[0]["result"] == {"decision": "decline"}
    feed(conversation, command_request("/bin/bash -lc 'ls -l'", interpretation="ls -l"))
    assert sent_messages(conversation)[0]["result"] == {"decision": "accept"}


def file_changes(*found: dict[str, Any]) -> dict[str, Any]:
    """Return Codex's notification about the files of a change."""
    return notice("item/started", item={"type": "fileChange", "id": "call_1", "changes": list(found)})


def change(path: str, *, to: str | None = None) -> dict[str, Any]:
    return {"path": path, "kind": {"type": "update", "move_path": to}, "diff": "@@"}


def permission_request(what: str, **params: Any) -> dict[str, Any]:
    told = {"threadId": THREAD, "itemId": "call_1", **params}
    return {"id": 0, "method": f"item/{what}/requestApproval", "params": told}


@pytest.mark.parametrize(
    "more",
    [
        {"kind": "writeStdin"},
        {"networkApprovalContext": {"host": "example.org", "protocol": "https"}},
        {"additionalPermissions": {"network": {"enabled": True}}},
    ],
)
def test_a_request_for_more_than_a_command_does_not_match_a_shell_pattern(more: dict[str, Any]) -> None:
    conversation = started_conversation(allow=("shell:*",), rest="deny")
    sent_messages(conversation)
    feed(conversation, permission_request("commandExecution", command="/bin/bash -lc python3", **more))
    assert sent_messages(conversation)[0]["result"] == {"decision": "decline"}


def test_the_ask_for_a_file_change_names_all_changed_files() -> None:
    conversation = started_conversation()
    feed(conversation, file_changes(change("/work/a.py"), change("/work/b.py", to="/work/c.py")))
    (asked,) = reported(feed(conversation, permission_request("fileChange", reason="They are wrong.")))
    assert isinstance(asked, AskOpened)
    assert asked.title == "edit: /work/a.py, /work/b.py, /work/c.py"
    assert asked.text == f"{asked.title}\n\nThey are wrong."
    assert asked.actions == ("edit:/work/a.py", "edit:/work/b.py", "edit:/work/c.py")


@pytest.mark.parametrize(
    ("found", "root", "allowed"),
    [
        ([change("/work/docs/a.md")], None, True),
        ([change("/work/docs/a.md"), change("/work/.git/config")], None, False),
        ([change("/work/docs/a.md", to="/work/.git/config")], None, False),
        ([change("/work/docs/a.md")], "/work", False),
        ([change("/work/docs/a.md")], "/work/docs", True),
        ([], None, False),
    ],
)
def test_each_changed_file_must_be_allowed(found: list[dict[str, Any]], root: str | None, allowed: bool) -> None:
    conversation = started_conversation(allow=("edit:docs/*",), rest="deny")
    sent_messages(conversation)
    feed(conversation, file_changes(*found), permission_request("fileChange", grantRoot=root))
    assert sent_messages(conversation)[0]["result"] == {"decision": "accept" if allowed else "decline"}


def test_the_ask_for_more_permissions_names_the_permissions() -> None:
    wanted = {"network": {"enabled": True}}
    (asked,) = reported(
        feed(started_conversation(), permission_request("permissions", permissions=wanted, reason="To fetch."))
    )
    assert isinstance(asked, AskOpened)
    assert asked.title == 'more permissions: {"network": {"enabled": true}}'
    assert "To fetch." in asked.text


@pytest.mark.parametrize(
    ("text", "answers"),
    [
        ("B\nEve", {"q1": {"answers": ["B"]}, "q2": {"answers": ["Eve"]}}),
        ("B", {"q1": {"answers": ["B"]}, "q2": {"answers": ["(no answer)"]}}),
        (UNANSWERED, {}),
    ],
)
def test_each_of_several_questions_gets_its_own_answer(text: str, answers: dict[str, Any]) -> None:
    conversation = started_conversation()
    sent_messages(conversation)
    options = [{"label": "A", "description": "the old one"}, {"label": "B", "description": "the new one"}]
    asks = [{"id": "q1", "question": "Which?", "options": options}, {"id": "q2", "question": "Whose?"}]
    params = {"threadId": THREAD, "questions": asks}
    (asked,) = reported(feed(conversation, {"id": 4, "method": "item/tool/requestUserInput", "params": params}))
    assert isinstance(asked, AskOpened)
    assert (asked.choices, "Whose?" in asked.text) == (("A", "B"), True)
    conversation.answer_ask("4", text)
    assert sent_messages(conversation) == [{"id": 4, "result": {"answers": answers}}]


def test_a_new_thread_is_started_if_the_old_thread_cannot_be_resumed() -> None:
    conversation = CodexConversation(opening(resumes="old"))
    conversation.start_conversation()
    sent_messages(conversation)
    feed(conversation, {"id": 1, "result": {}})
    _, resume = sent_messages(conversation)
    assert (resume["method"], resume["params"]["threadId"]) == ("thread/resume", "old")
    assert "cannot be resumed" in transcript(feed(conversation, {"id": 2, "error": {"message": "no rollout found"}}))
    assert sent_messages(conversation)[0]["method"] == "thread/start"


def test_an_unknown_request_is_refused() -> None:
    conversation = started_conversation()
    sent_messages(conversation)
    assert reported(feed(conversation, {"id": 9, "method": "odd/request", "params": {}})) == []
    assert "error" in sent_messages(conversation)[0]


def test_an_unknown_request_of_a_shared_conversation_is_not_answered() -> None:
    conversation = started_conversation(is_shared=True)
    sent_messages(conversation)
    feed(conversation, {"id": 9, "method": "odd/request", "params": {}})
    assert sent_messages(conversation) == []


def test_a_thread_can_be_joined_after_its_first_item() -> None:
    conversation = CodexConversation(opening())
    conversation.start_conversation()
    lines = first_program()
    first = _at(lines, "item/started")
    feed(conversation, *lines[:first])
    assert conversation.join_id == ""
    feed(conversation, lines[first])
    assert conversation.join_id == THREAD


def thread_config(*found: dict[str, Any]) -> Any:
    """Return the configuration at the start of a thread, after Codex has listed the given hooks."""
    conversation = CodexConversation(opening(settings={"config": {"mcp_servers": {}}}, hooks="/runs/ses_1"))
    conversation.start_conversation()
    sent_messages(conversation)
    feed(conversation, {"id": 1, "result": {}})
    _, asks = sent_messages(conversation)
    assert (asks["method"], asks["params"]) == ("hooks/list", {"cwds": ["/runs/ses_1"]})
    feed(conversation, {"id": asks["id"], "result": {"data": [{"cwd": "/runs/ses_1", "hooks": list(found)}]}})
    (start,) = sent_messages(conversation)
    assert start["method"] == "thread/start"
    assert start["params"]["config"].pop("mcp_servers") == {}
    return start["params"]["config"]


def test_only_the_hooks_of_maestro_are_trusted() -> None:
    file = "/runs/ses_1/.codex/hooks.json"
    ours = {"key": f"{file}:stop:0:0", "currentHash": "h1", "sourcePath": file}
    theirs = {"key": "/home/dana/.codex/hooks.json:stop:0:0", "currentHash": "h2"}
    theirs["sourcePath"] = "/home/dana/.codex/hooks.json"
    known_as = "/<session-flags>/config.toml:stop:0:0"
    assert thread_config(theirs, ours) == {"hooks.state": {known_as: {"trusted_hash": "h1"}}}
    assert thread_config(theirs) == {}


def test_a_version_of_codex_that_cannot_list_hooks_starts_without_trusted_hooks() -> None:
    conversation = CodexConversation(opening(hooks=("maestro hook codex Stop",)))
    conversation.start_conversation()
    feed(conversation, {"id": 1, "result": {}})
    *_, asks = sent_messages(conversation)
    feed(conversation, {"id": asks["id"], "error": {"message": "unknown method"}})
    (start,) = sent_messages(conversation)
    assert (start["method"], "config" in start["params"]) == ("thread/start", False)


def test_the_text_of_a_hook_does_not_confirm_a_prompt() -> None:
    conversation = started_conversation()
    conversation.send_prompt(Prompt("msg_2", "and that"))
    feed(conversation, prompt_started("msg_2"))
    assert reported(feed(conversation, notice("item/started", item={"type": "hookPrompt"}))) == []
    assert reported(feed(conversation, SPOKE)) == [PushConfirmed("msg_2")]
