#!/usr/bin/env python3
"""A process that hides from the server, and then asks the server for things that only the person may do.

`hidden_caller.py PLAN` takes the plan (JSON) away, so that one plan is played once. The fields of the plan:
`steps` (orphan, double_fork, setsid, rename), `is_early` (hide before the file `go` is there, not after), `is_empty`
(no environment), `is_closed` (no streams), `argv0`, `name` (for rename), `commands`, `requests`, `home`, `folder`.
The process writes `begun` and, once hidden, `ready` (its pid) into the folder, waits for `go`, and writes `answers`:
a list of [exit code, text].
"""

from __future__ import annotations

import ctypes
import json
import os
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

Plan = dict[str, Any]
SECONDS_MAX = 60.0
SERVER_SECONDS_MAX = 15.0
PR_SET_NAME = 15


def main() -> None:
    try:
        taken = Path(sys.argv[1]).rename(f"{sys.argv[1]}.{os.getpid()}")
    except FileNotFoundError:
        return  # another process plays this plan
    plan = json.loads(taken.read_text())
    close_streams()
    write(plan, "begun", str(os.getpid()))
    if plan["is_early"]:
        hide(plan)
    write(plan, "ready", str(os.getpid()))
    wait_for(Path(plan["folder"], "go"))
    if not plan["is_early"]:
        hide(plan)
        write(plan, "ready", str(os.getpid()))
    asked = [ask_command(plan, words) for words in plan["commands"]]
    asked += [ask_over_tcp(plan, *request) for request in plan["requests"]]
    write(plan, "answers", json.dumps(asked))


def close_streams() -> None:
    """Let go of the streams of the program that started this one: that program may wait for their end."""
    null = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(null, number)


def hide(plan: Plan) -> None:
    for step in plan["steps"]:
        if step == "orphan":
            become_orphan()
        elif step == "double_fork":
            become_orphan()
            become_orphan()
        elif step == "setsid":
            leave_session()
        elif step == "rename":
            ctypes.CDLL(None).prctl(PR_SET_NAME, plan["name"].encode(), 0, 0, 0)


def become_orphan() -> None:
    parent = os.getpid()
    if os.fork():
        os._exit(0)
    ends = time.monotonic() + SECONDS_MAX
    while os.getppid() == parent and time.monotonic() < ends:
        time.sleep(0.001)


def leave_session() -> None:
    try:
        os.setsid()
    except PermissionError:  # this process leads a group: its child does not
        become_orphan()
        os.setsid()


def ask_command(plan: Plan, words: list[str]) -> tuple[int, str]:
    """Run one command line with the wanted name, environment and streams; return its exit code and output."""
    out = Path(plan["folder"], "out")
    pid = os.fork()
    if not pid:
        descriptor = os.open(out, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(descriptor, 1)
        if plan["is_closed"]:
            os.closerange(2, 64)
            os.close(0)
        else:
            os.dup2(descriptor, 2)
        os.execve(words[0], [plan["argv0"] or words[0], *words[1:]], environment(plan))
    _, status = os.waitpid(pid, 0)
    return os.waitstatus_to_exitcode(status), out.read_text()


def environment(plan: Plan) -> dict[str, str]:
    kept = {} if plan["is_empty"] else dict(os.environ)
    for name in ("MAESTRO_TOKEN", "MAESTRO_SESSION_ID"):
        kept.pop(name, None)
    return kept | {"MAESTRO_HOME": plan["home"]}


def ask_over_tcp(plan: Plan, verb: str, path: str, body: str) -> tuple[int, str]:
    """Send one request without a token; return the status and the answer. The server may be away for a while."""
    ends = time.monotonic() + SERVER_SECONDS_MAX
    while True:
        try:
            url = json.loads(Path(plan["home"], "server.json").read_text())["url"]
            asked = urllib.request.Request(url + path, data=body.encode() or None, method=verb)
            asked.add_header("Content-Type", "application/json")
            with urllib.request.urlopen(asked, timeout=10) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()
        except (OSError, ValueError) as error:
            if time.monotonic() > ends:
                return 0, str(error)
        time.sleep(0.02)


def wait_for(path: Path) -> None:
    ends = time.monotonic() + SECONDS_MAX
    while not path.exists() and time.monotonic() < ends:
        time.sleep(0.005)


def write(plan: Plan, name: str, text: str) -> None:
    part = Path(plan["folder"], f"{name}.part")
    part.write_text(text)
    part.rename(part.with_suffix(""))


if __name__ == "__main__":
    main()
