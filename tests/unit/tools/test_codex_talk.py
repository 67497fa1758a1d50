"""Codex's protocol, from what it really said."""

from __future__ import annotations

import json
from typing import Any

import pytest
from recordings import feed, opening, recorded, shown, told, written

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
    """Of the recording, what the first of two programs said; the prompts' ids as they are now."""
    text = json.dumps(recorded("codex")).replace('"prm_1"', '"start"').replace('"prm_2"', '"msg_1"')
    lines: list[dict[str, Any]] = json.loads(text)
    return lines[: next(at for at, line in enumerate(lines) if line.get("id") == 7)]


def begun(**more: Any) -> CodexConversation:
    """A conversation whose first turn runs."""
    talk = CodexConversation(opening(system_prompt="Be good.", settings={"sandbox": "read-only"}, **more))
    talk.start_conversation()
    lines = first_program()
    feed(talk, *lines[: _at(lines, "item/completed") + 1], SPOKE)
    return talk


def _at(lines: list[dict[str, Any]], method: str, *, after: int = -1) -> int:
    return next(at for at, line in enumerate(lines) if line.get("method") == method and at > after)


def notice(method: str, **params: Any) -> dict[str, Any]:
    return {"method": method, "params": {"threadId": THREAD, **params}}


def heard(prompt: str) -> dict[str, Any]:
    return notice("item/started", item={"type": "userMessage", "clientId": prompt})


def wants_to_run(command: str, gist: str = "") -> dict[str, Any]:
    """Its request to be allowed a command, with what it makes of it for people to read."""
    told = {"command": command, "reason": "It must be.", "commandActions": [{"type": "unknown", "command": gist}]}
    return {"id": 0, "method": "item/commandExecution/requestApproval", "params": {"threadId": THREAD, **told}}


SPOKE = notice("item/completed", item={"type": "agentMessage", "text": "yes"})
COMPLETED = notice("turn/completed", turn={"id": TURN, "status": "completed", "error": None})


def test_a_whole_turn_with_a_prompt_in_the_middle() -> None:
    talk = CodexConversation(opening(system_prompt="Be good.", settings={"sandbox": "read-only"}))
    talk.start_conversation()
    lines = first_program()
    (hello,) = written(talk)
    assert hello["method"] == "initialize"
    feed(talk, lines[0])
    initialized, start = written(talk)
    assert initialized == {"method": "initialized"}
    assert start["params"] == {"sandbox": "read-only", "cwd": "/work", "developerInstructions": "Be good."}
    steered = next(at for at, line in enumerate(lines) if line.get("id") == 4)
    before = feed(talk, *lines[1:steered])
    assert told(before) == [TurnStarted(), ConversationStarted(THREAD), PushConfirmed("start")]
    (turn,) = written(talk)
    assert (turn["method"], turn["params"]["clientUserMessageId"]) == ("turn/start", "start")
    assert talk.send_prompt(Prompt("msg_1", "busy prompt")) == ""
    (steer,) = written(talk)
    assert (steer["method"], steer["params"]["expectedTurnId"]) == ("turn/steer", TURN)
    end = _at(lines, "turn/completed")
    rest = feed(talk, *lines[steered : end + 1])
    assert told(rest) == [PushConfirmed("msg_1"), TurnEnded(Usage(input_tokens=20, output_tokens=40))]
    assert "first done" in shown(rest)
    assert talk.is_idle


def test_it_is_told_of_skills_before_its_thread_begins() -> None:
    talk = CodexConversation(opening(skills=("/own/skills",)))
    talk.start_conversation()
    written(talk)
    feed(talk, first_program()[0])
    _, asked = written(talk)
    assert (asked["method"], asked["params"]) == ("skills/extraRoots/set", {"extraRoots": ["/own/skills"]})
    feed(talk, {"id": asked["id"], "result": {}})
    (start,) = written(talk)
    assert start["method"] == "thread/start"


def test_one_that_takes_no_skills_begins_all_the_same() -> None:
    talk = CodexConversation(opening(skills=("/own/skills",)))
    talk.start_conversation()
    feed(talk, first_program()[0])
    *_, asked = written(talk)
    happened = feed(talk, {"id": asked["id"], "error": {"code": -32601, "message": "unknown method"}})
    assert "Codex refuses the skills: unknown method" in shown(happened)
    (start,) = written(talk)
    assert start["method"] == "thread/start"


def test_usage_of_a_later_turn_is_its_own_and_an_interrupt_is_told() -> None:
    talk = CodexConversation(opening())
    talk.start_conversation()
    ends = [one for one in feed(talk, *first_program()) if isinstance(one, TurnEnded)]
    assert [(one.usage.output_tokens, one.interrupted) for one in ends if one.usage] == [(40, False), (20, True)]


def test_what_came_in_the_last_moment_gets_a_turn_of_its_own() -> None:
    talk = begun()
    written(talk)
    talk.send_prompt(Prompt("msg_1", "late"))
    written(talk)
    feed(talk, heard("msg_1"))
    assert PushConfirmed("msg_1") not in feed(talk, COMPLETED)
    (turn,) = written(talk)
    assert (turn["method"], turn["params"]["clientUserMessageId"]) == ("turn/start", "msg_1")
    assert "late" not in turn["params"]["input"][0]["text"]
    again = feed(
        talk, {"id": turn["id"], "result": {}}, notice("turn/started", turn={"id": "t2"}), heard("msg_1"), SPOKE
    )
    assert PushConfirmed("msg_1") in again


def test_what_is_heard_after_the_turn_is_not_lost() -> None:
    talk = begun()
    talk.send_prompt(Prompt("msg_1", "later still"))
    written(talk)
    feed(talk, COMPLETED, heard("msg_1"))
    (turn,) = written(talk)
    assert turn["params"]["clientUserMessageId"] == "msg_1"


def test_a_prompt_that_could_not_be_steered_starts_a_turn() -> None:
    talk = begun()
    written(talk)
    talk.send_prompt(Prompt("msg_1", "too late"))
    (steer,) = written(talk)
    feed(talk, COMPLETED, {"id": steer["id"], "error": {"code": -32600, "message": "no active turn to steer"}})
    (turn,) = written(talk)
    assert (turn["method"], turn["params"]["input"][0]["text"]) == ("turn/start", "too late")


@pytest.mark.parametrize(
    "end",
    [{"status": "interrupted", "error": None}, {"status": "failed", "error": {"message": "stream disconnected"}}],
)
def test_what_was_steered_into_a_turn_that_broke_off_is_gone_with_it(end: dict[str, Any]) -> None:
    talk = begun()
    written(talk)
    talk.send_prompt(Prompt("msg_1", "and that"))
    (steer,) = written(talk)
    feed(talk, {"id": steer["id"], "result": {"turnId": TURN}})
    happened = feed(talk, notice("turn/completed", turn={"id": TURN, **end}))
    assert PushConfirmed("msg_1") not in happened
    assert talk.is_idle
    assert written(talk) == [], "whoever sent it sees that it is unread, and sends it again"
    assert talk.send_prompt(Prompt("req_2", "and that")) == ""
    (turn,) = written(talk)
    assert (turn["method"], turn["params"]["clientUserMessageId"]) == ("turn/start", "req_2")


def test_a_limit_says_until_when() -> None:
    talk = begun()
    windows = {
        "primary": {"usedPercent": 100, "resetsAt": 1794815183},
        "secondary": {"usedPercent": 7, "resetsAt": 9},
    }
    error = {"message": "You’ve hit your usage limit.", "codexErrorInfo": "usageLimitExceeded"}
    happened = feed(
        talk,
        {"method": "account/rateLimits/updated", "params": {"rateLimits": windows}},
        notice("error", error=error, willRetry=False),
        notice("turn/completed", turn={"id": TURN, "status": "failed", "error": error}),
    )
    limited, ended = told(happened)
    assert limited == RateLimited(1794815183, "You’ve hit your usage limit.")
    assert isinstance(ended, TurnEnded)


def test_other_threads_are_none_of_ours() -> None:
    talk = begun()
    other = {"method": "turn/completed", "params": {"threadId": "other", "turn": {"id": "x"}}}
    assert feed(talk, other) == []
    assert talk.is_busy


def test_an_approval_is_asked_for_and_a_prompt_waits_meanwhile() -> None:
    talk = begun()
    written(talk)
    (asked,) = told(feed(talk, wants_to_run("/bin/bash -lc 'git push'")))
    assert isinstance(asked, AskOpened)
    assert (asked.ask, asked.actions, asked.text) == ("0", ("shell:git push",), "shell: git push\n\nIt must be.")
    assert talk.send_prompt(Prompt("msg_1", "wait")) == WAITS_FOR_ANSWER
    talk.answer_ask("0", "deny")
    answer, prompt = written(talk)
    assert answer == {"id": 0, "result": {"decision": "decline"}}
    assert prompt["method"] == "turn/steer"
    assert AskWithdrawn("0") in talk.take_events()


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
def test_the_whole_command_is_shown_and_judged(command: str, seen: str) -> None:
    (asked,) = told(feed(begun(), wants_to_run(command, gist="ls")))
    assert isinstance(asked, AskOpened)
    assert (asked.title, asked.actions) == (f"shell: {seen}", (f"shell:{seen}",))


def test_what_is_left_out_of_the_gist_of_a_command_is_not_allowed_by_it() -> None:
    talk = begun(allow=("shell:ls*",), rest="deny")
    written(talk)
    feed(talk, wants_to_run("/bin/bash -lc 'ls | xargs rm -rf'", gist="ls"))
    assert written(talk)[0]["result"] == {"decision": "decline"}
    feed(talk, wants_to_run("/bin/bash -lc 'ls -l'", gist="ls -l"))
    assert written(talk)[0]["result"] == {"decision": "accept"}


def changes(*found: dict[str, Any]) -> dict[str, Any]:
    """It is about to change files, and tells which."""
    return notice("item/started", item={"type": "fileChange", "id": "call_1", "changes": list(found)})


def change(path: str, *, to: str | None = None) -> dict[str, Any]:
    return {"path": path, "kind": {"type": "update", "move_path": to}, "diff": "@@"}


def wants(what: str, **params: Any) -> dict[str, Any]:
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
def test_what_is_more_than_a_command_is_not_allowed_by_its_pattern(more: dict[str, Any]) -> None:
    talk = begun(allow=("shell:*",), rest="deny")
    written(talk)
    feed(talk, wants("commandExecution", command="/bin/bash -lc python3", **more))
    assert written(talk)[0]["result"] == {"decision": "decline"}


def test_a_change_of_files_names_them() -> None:
    talk = begun()
    feed(talk, changes(change("/work/a.py"), change("/work/b.py", to="/work/c.py")))
    (asked,) = told(feed(talk, wants("fileChange", reason="They are wrong.")))
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
def test_of_files_that_it_wants_to_change_each_must_be_allowed(
    found: list[dict[str, Any]], root: str | None, allowed: bool
) -> None:
    talk = begun(allow=("edit:docs/*",), rest="deny")
    written(talk)
    feed(talk, changes(*found), wants("fileChange", grantRoot=root))
    assert written(talk)[0]["result"] == {"decision": "accept" if allowed else "decline"}


def test_more_permissions_are_shown() -> None:
    wanted = {"network": {"enabled": True}}
    (asked,) = told(feed(begun(), wants("permissions", permissions=wanted, reason="To fetch.")))
    assert isinstance(asked, AskOpened)
    assert asked.title == 'more permissions: {"network": {"enabled": true}}'
    assert "To fetch." in asked.text


@pytest.mark.parametrize(
    ("said", "answers"),
    [
        ("B\nEve", {"q1": {"answers": ["B"]}, "q2": {"answers": ["Eve"]}}),
        ("B", {"q1": {"answers": ["B"]}, "q2": {"answers": ["(no answer)"]}}),
        (UNANSWERED, {}),
    ],
)
def test_each_of_several_questions_has_its_own_answer(said: str, answers: dict[str, Any]) -> None:
    talk = begun()
    written(talk)
    options = [{"label": "A", "description": "the old one"}, {"label": "B", "description": "the new one"}]
    asks = [{"id": "q1", "question": "Which?", "options": options}, {"id": "q2", "question": "Whose?"}]
    params = {"threadId": THREAD, "questions": asks}
    (asked,) = told(feed(talk, {"id": 4, "method": "item/tool/requestUserInput", "params": params}))
    assert isinstance(asked, AskOpened)
    assert (asked.choices, "Whose?" in asked.text) == (("A", "B"), True)
    talk.answer_ask("4", said)
    assert written(talk) == [{"id": 4, "result": {"answers": answers}}]


def test_a_thread_that_is_gone_is_begun_anew() -> None:
    talk = CodexConversation(opening(resumes="old"))
    talk.start_conversation()
    written(talk)
    feed(talk, {"id": 1, "result": {}})
    _, resume = written(talk)
    assert (resume["method"], resume["params"]["threadId"]) == ("thread/resume", "old")
    assert "cannot be resumed" in shown(feed(talk, {"id": 2, "error": {"message": "no rollout found"}}))
    assert written(talk)[0]["method"] == "thread/start"


def test_what_it_asks_that_nobody_knows_is_refused() -> None:
    talk = begun()
    written(talk)
    assert told(feed(talk, {"id": 9, "method": "odd/request", "params": {}})) == []
    assert "error" in written(talk)[0]


def test_what_nobody_knows_is_left_to_the_person_who_takes_part() -> None:
    talk = begun(is_shared=True)
    written(talk)
    feed(talk, {"id": 9, "method": "odd/request", "params": {}})
    assert written(talk) == []


def test_it_can_be_joined_once_a_word_is_in_it() -> None:
    talk = CodexConversation(opening())
    talk.start_conversation()
    lines = first_program()
    first = _at(lines, "item/started")
    feed(talk, *lines[:first])
    assert talk.join_id == ""
    feed(talk, lines[first])
    assert talk.join_id == THREAD


def vouched(*found: dict[str, Any]) -> Any:
    """What it is told to trust at the start of a thread, of the hooks that it has found."""
    talk = CodexConversation(opening(settings={"config": {"mcp_servers": {}}}, hooks="/runs/ses_1"))
    talk.start_conversation()
    written(talk)
    feed(talk, {"id": 1, "result": {}})
    _, asks = written(talk)
    assert (asks["method"], asks["params"]) == ("hooks/list", {"cwds": ["/runs/ses_1"]})
    feed(talk, {"id": asks["id"], "result": {"data": [{"cwd": "/runs/ses_1", "hooks": list(found)}]}})
    (start,) = written(talk)
    assert start["method"] == "thread/start"
    assert start["params"]["config"].pop("mcp_servers") == {}
    return start["params"]["config"]


def test_only_our_own_hooks_are_vouched_for() -> None:
    file = "/runs/ses_1/.codex/hooks.json"
    ours = {"key": f"{file}:stop:0:0", "currentHash": "h1", "sourcePath": file}
    theirs = {"key": "/home/dana/.codex/hooks.json:stop:0:0", "currentHash": "h2"}
    theirs["sourcePath"] = "/home/dana/.codex/hooks.json"
    known_as = "/<session-flags>/config.toml:stop:0:0"
    assert vouched(theirs, ours) == {"hooks.state": {known_as: {"trusted_hash": "h1"}}}
    assert vouched(theirs) == {}


def test_one_that_cannot_tell_its_hooks_begins_without() -> None:
    talk = CodexConversation(opening(hooks=("maestro hook codex Stop",)))
    talk.start_conversation()
    feed(talk, {"id": 1, "result": {}})
    *_, asks = written(talk)
    feed(talk, {"id": asks["id"], "error": {"message": "unknown method"}})
    (start,) = written(talk)
    assert (start["method"], "config" in start["params"]) == ("thread/start", False)


def test_what_a_hook_said_is_no_word_of_the_model() -> None:
    talk = begun()
    talk.send_prompt(Prompt("msg_2", "and that"))
    feed(talk, heard("msg_2"))
    assert told(feed(talk, notice("item/started", item={"type": "hookPrompt"}))) == []
    assert told(feed(talk, SPOKE)) == [PushConfirmed("msg_2")]
