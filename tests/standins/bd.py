#!/usr/bin/env python3
"""A stand-in for `bd`: a real program with its state in a file, in the shapes of one generation, traps included.

STANDIN_BD names the generation (0.46.0, 0.50.3, 1.0.5). Files in its folder make it misbehave:
`hang` (until the file is gone; with a pid in it, only for calls of that process), `stall` (the same, but when the
change is made and only the answer is missing), `fail` (what it says is the error), `schema` (newer than this one),
`kill` (`before 3 PID` or `after 3 PID`: at its third change, that process, if it is the caller, is killed). `calls` is its log.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import signal
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

VERSION = os.environ.get("STANDIN_BD", "1.0.5")
GENERATION = tuple(int(part) for part in VERSION.split("."))
IS_1 = GENERATION >= (1, 0, 0)
IS_050 = GENERATION >= (0, 50, 0)
SCHEMA = 5
MANY_COMMENTS = 6  # of so many, `show` of 1.0 gives only the count
FOLDER = Path(os.environ.get("BEADS_DIR") or ".beads")

VALUED = {
    "--description": "description", "-d": "description", "--type": "type", "-t": "type", "--priority": "priority",
    "-p": "priority", "-l": "labels", "--labels": "labels", "--assignee": "assignee", "--external-ref": "external_ref",
    "--status": "status", "--limit": "limit", "-a": "author", "--author": "author", "--reason": "reason",
    "--title": "title", "--actor": "actor", "--db": "db",
}  # fmt: skip
SWITCHES = {"--json", "--claim", "--no-daemon", "--readonly"}
# Flags by command; anything else is refused, as the real one does.
KNOWN = {
    "create": {"description", "type", "priority", "labels", "assignee", "external_ref"},
    "list": {"status", "limit", "assignee"},
    "show": set(), "comments": {"author"}, "update": {"status", "assignee", "title", "priority"},
    "close": {"reason"}, "reopen": {"reason"}, "version": set(),
}  # fmt: skip


class Fault(Exception):
    """What is said instead of an answer."""


def main() -> int:
    words, flags = parse(sys.argv[1:])
    command = words[0] if words else "help"
    if command == "mail":
        return mail(sys.argv[2:])
    if command == "version":
        say(f"bd version {VERSION} (stand-in)")
        return 0
    if not FOLDER.is_dir():
        return complain("no beads database found")
    with (FOLDER / "calls").open("a") as log:
        log.write(json.dumps(sys.argv[1:]) + "\n")
    wait_while("hang")
    if (FOLDER / "fail").exists():
        return complain((FOLDER / "fail").read_text().strip() or "broken")
    if (FOLDER / "schema").exists() and int((FOLDER / "schema").read_text()) > SCHEMA:
        return complain("database schema is newer than this bd; upgrade bd")
    strange = sorted(
        set(flags) - KNOWN.get(command, set()) - {"json", "claim", "actor", "db", "no-daemon", "readonly"}
    )
    if strange or command not in KNOWN:
        print(f"Error: unknown flag or command: {command} {strange}\nUsage:\n  bd {command} [flags]", file=sys.stderr)
        return 1
    if IS_1 and not os.environ.get("BD_JSON_ENVELOPE"):
        print("DEPRECATED: legacy JSON output; set BD_JSON_ENVELOPE=1", file=sys.stderr)
    try:
        return globals()[f"do_{command}"](words[1:], flags)
    except Fault as fault:
        return complain(str(fault))


def parse(arguments: list[str]) -> tuple[list[str], dict[str, Any]]:
    words: list[str] = []
    flags: dict[str, Any] = {}
    waiting = list(arguments)
    while waiting:
        one = waiting.pop(0)
        if one == "--":
            words += waiting
            break
        name, equals, value = one.partition("=")
        if name in VALUED:
            flags[VALUED[name]] = value if equals else waiting.pop(0)
        elif one in SWITCHES or one.startswith("-"):
            flags[one.lstrip("-")] = True
        else:
            words.append(one)
    return words, flags


def wait_while(name: str) -> None:
    with contextlib.suppress(FileNotFoundError):
        while (FOLDER / name).read_text() in ("", str(os.getppid())):
            time.sleep(0.01)


# What it prints


def say(text: str) -> None:
    print(text)


def answer(value: Any) -> int:
    if IS_1 and os.environ.get("BD_JSON_ENVELOPE"):
        value = {"schema_version": 1, "data": value}
    elif IS_1 and isinstance(value, dict):
        value = {**value, "schema_version": 1}
    say(json.dumps(value))
    return 0


def complain(text: str) -> int:
    if IS_1:
        print(json.dumps({"error": text, "code": "failed"}), file=sys.stderr)
    elif IS_050:
        say(json.dumps({"error": text}))
    else:
        print(f"Error: {text}", file=sys.stderr)
    return 1


def shown(issue: dict[str, Any], *, whole: bool = False, echo: bool = False) -> dict[str, Any]:
    """An issue as this generation prints it."""
    out = {name: value for name, value in issue.items() if value not in ("", None) and name != "comments"}
    if echo:
        out.pop("labels", None)  # never echoed by those that change it
    if IS_050:
        out["owner"] = "test@example.org"
        if not echo:
            out["comment_count"] = len(issue["comments"])
    if whole:
        comments = [told(one) for one in issue["comments"]]
        if not (IS_1 and len(comments) >= MANY_COMMENTS):
            out["comments"] = comments
        out |= {"dependencies": [], "dependents": []}
    return out


def told(comment: dict[str, Any]) -> dict[str, Any]:
    return {**comment, "id": f"c-{comment['id']:04x}" if IS_1 else comment["id"]}


# What it keeps


@contextlib.contextmanager
def database() -> Any:
    with (FOLDER / "lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        file = FOLDER / "standin.json"
        state = (
            json.loads(file.read_text()) if file.exists() else {"issues": {}, "next": 1, "comments": 0, "changes": 0}
        )
        yield state


def commit(state: dict[str, Any], issue: dict[str, Any] | None, event: str, *, quietly: bool = False) -> None:
    """A change becomes so; whoever called may die of it, just before or just after."""
    state["changes"] += 1
    kill(state, "before")
    if issue is not None and not quietly:
        issue["updated_at"] = now(state)
    part = FOLDER / "standin.part"
    part.write_text(json.dumps(state))
    part.replace(FOLDER / "standin.json")
    kill(state, "after")
    wait_while("stall")
    if issue is not None:
        hook(issue, event)


def kill(state: dict[str, Any], when: str) -> None:
    file = FOLDER / "kill"
    if file.exists() and file.read_text().split() == [when, str(state["changes"]), str(os.getppid())]:
        file.unlink()
        os.kill(os.getppid(), signal.SIGKILL)
        os._exit(137)


def hook(issue: dict[str, Any], event: str) -> None:
    """Started and not waited for; of every two, one never gets what it should read."""
    program = FOLDER / "hooks" / f"on_{event}"
    if event == "comment" and not IS_1:
        return
    program = FOLDER / "hooks" / "on_update" if event == "comment" else program
    if not program.exists():
        return
    process = subprocess.Popen([str(program), issue["id"], event], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
    assert process.stdin is not None
    if len(json.dumps(issue)) % 2:
        process.stdin.write(json.dumps(issue).encode())
    process.stdin.close()


def now(state: dict[str, Any]) -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.") + f"{state['changes']:09d}Z"


def actor() -> str:
    names = ("BEADS_ACTOR", "BD_ACTOR") if IS_1 else ("BD_ACTOR",)
    return next((os.environ[name] for name in names if os.environ.get(name)), os.environ.get("USER", "nobody"))


def find(state: dict[str, Any], ref: str) -> dict[str, Any]:
    if ref not in state["issues"]:
        raise Fault(f"issue {ref} not found")
    found: dict[str, Any] = state["issues"][ref]
    return found


# What it does


def do_create(words: list[str], flags: dict[str, Any]) -> int:
    if len(words) != 1 or not words[0] or len(words[0]) > 500:
        raise Fault("title must be between 1 and 500 characters")
    with database() as state:
        outside = flags.get("external_ref")
        if outside and any(one.get("external_ref") == outside for one in state["issues"].values()):
            raise Fault(f"UNIQUE constraint failed: external_ref {outside}")
        ref = f"bd-{state['next']:03x}"
        state["next"] += 1
        issue = {
            "id": ref,
            "title": words[0],
            "description": flags.get("description", ""),
            "status": "open",
            "priority": int(flags.get("priority", 2)),
            "issue_type": flags.get("type", "task"),
            "assignee": flags.get("assignee", ""),
            "external_ref": outside,
            "created_by": actor(),
            "labels": [one for one in flags.get("labels", "").split(",") if one],
            "comments": [],
        }
        state["issues"][ref] = issue
        commit(state, issue, "create")
        return answer(shown(issue, echo=True))


def do_list(words: list[str], flags: dict[str, Any]) -> int:
    with database() as state:
        found = [one for one in state["issues"].values() if one["status"] == flags.get("status", one["status"])]
        if IS_050 and "status" not in flags:
            found = [one for one in found if one["status"] != "closed"]
        many = int(flags.get("limit", 50))
        return answer([shown(one) for one in (found[:many] if many else found)])


def do_show(words: list[str], flags: dict[str, Any]) -> int:
    with database() as state:
        found = [shown(state["issues"][ref], whole=True) for ref in words if ref in state["issues"]]
        missing = [ref for ref in words if ref not in state["issues"]]
        for ref in missing:
            if not IS_050:
                print(f"Issue {ref} not found", file=sys.stderr)
        if missing and IS_050 and (not found or not IS_1):
            raise Fault(f"issue not found: {missing[0]}")
        return answer(found) if found else 0


def do_comments(words: list[str], flags: dict[str, Any]) -> int:
    with database() as state:
        if words[0] != "add":
            return answer([told(one) for one in find(state, words[0])["comments"]])
        issue = find(state, words[1])
        state["comments"] += 1
        comment = {
            "id": state["comments"],
            "issue_id": issue["id"],
            "author": flags.get("author") or actor(),
            "text": words[2],
            "created_at": now(state),
        }
        issue["comments"].append(comment)
        commit(state, issue, "comment", quietly=not IS_1)  # before 1.0 a comment does not touch its issue
        return answer(told(comment))


def do_update(words: list[str], flags: dict[str, Any]) -> int:
    with database() as state:
        issue = find(state, words[0])
        if "claim" in flags:
            return claim(state, issue)
        issue |= {name: flags[name] for name in ("status", "assignee", "title") if name in flags}
        commit(state, issue, "update")
        return answer([shown(issue, echo=True)])


def claim(state: dict[str, Any], issue: dict[str, Any]) -> int:
    who = actor()
    mine = IS_1 and issue["assignee"] == who and issue["status"] == "in_progress"
    if not mine and (issue["status"] != "open" or issue["assignee"] not in ("", who)):
        print(f"Error claiming {issue['id']}: already claimed by {issue['assignee']}", file=sys.stderr)
        return 1 if IS_1 else 0  # lost, and before 1.0 only standard error tells
    issue |= {"status": "in_progress", "assignee": who}
    commit(state, issue, "update")
    return answer([shown(issue, echo=True)])


def do_close(words: list[str], flags: dict[str, Any]) -> int:
    with database() as state:
        issue = find(state, words[0])
        if issue["status"] == "closed" and not IS_1:
            raise Fault(f"{words[0]} is already closed")
        issue |= {"status": "closed", "close_reason": flags.get("reason", "Closed")}
        commit(state, issue, "close")
        return answer([shown(issue, echo=True)])


def do_reopen(words: list[str], flags: dict[str, Any]) -> int:
    with database() as state:
        issue = find(state, words[0])
        issue |= {"status": "open", "close_reason": ""}
        commit(state, issue, "update")
        return answer([shown(issue, echo=True)])


def mail(arguments: list[str]) -> int:
    delegate = os.environ.get("BEADS_MAIL_DELEGATE", "").split()
    if not delegate:
        return complain("no mail delegate configured")
    return subprocess.run([*delegate, *arguments], check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
