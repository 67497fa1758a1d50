"""The second part, as the person sees it: start a coordinator, answer an ask, kill a worker."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Any

from maestro.core import limits
from maestro.demo.agent import print_line, print_title
from maestro.demo.world import DemoWorld, indent_text, maestro_command

SECONDS_MAX = 60.0
# With pidfd the server notices the end of a process within seconds; without pidfd this takes minutes.
NOTICES_SOON = hasattr(os, "pidfd_open")
DOOMED = "fay"


def play_part(world: DemoWorld) -> bool:
    """Play the part. Return whether it was completed."""
    print("\nPart two, mail: a coordinator, lead, and its workers dora, emil and fay. Each is a process that uses")
    print("only the `maestro` command. ◂ marks received mail; `you` marks the actions of the person.\n", flush=True)
    began = time.time()
    with world.followed_events(seconds_max=SECONDS_MAX) as events, started_coordinator(world, began) as lead:
        question = watch_events(world, events, began)
        try:
            finished = lead.wait(timeout=5) == 0 and bool(question)
        except subprocess.TimeoutExpired:
            finished = False
    if finished:
        show_thread(world, question)
    return finished


def watch_events(world: DemoWorld, events: Iterator[dict[str, Any]], began: float) -> str:
    """Follow the log until the coordinator ends, and act as the person. Return the id of dora's question."""
    question = ""
    for event in events:
        match event["kind"], event["data"]:
            case "mail.sent", {"type": "query"}:
                question = event["subject"]
            case "ask.opened", _:
                answer_ask(world, event["subject"], began)
            case "mail.sent", {"subject": "Are you there?"}:
                kill_worker(world, began)
            case "session.ended", {"name": "lead"}:
                return question
    return ""


def answer_ask(world: DemoWorld, request: str, began: float) -> None:
    """Answer an ask as the person. The board shows open asks first."""
    print_line("you", "$ maestro", began=began)
    for line in world.run_maestro().splitlines()[:2]:
        print_line("you", f"  {line}", began=began)
    time.sleep(1)  # a person thinks
    print_line("you", f"$ maestro ask answer {request} yes", began=began)
    world.run_maestro("ask", "answer", request, "yes")


def kill_worker(world: DemoWorld, began: float) -> None:
    process = world.call_for_json("session", "show", DOOMED)["pid"]
    print_line("you", f"$ kill -9 {process}  ({DOOMED}, in the middle of its work)", began=began)
    os.kill(process, signal.SIGKILL)
    seconds = limits.session_grace_seconds
    print_line(
        "you",
        f"  The server notices the end, and waits {seconds} s for a sign of life. The demonstration waits too.",
        began=began,
    )


def show_thread(world: DemoWorld, question: str) -> None:
    print_title("Every thread stays readable, by the id of any of its messages.")
    print(f"  $ maestro mail thread {question}\n{indent_text(world.run_maestro('mail', 'thread', question))}", end="")


@contextlib.contextmanager
def started_coordinator(world: DemoWorld, began: float) -> Iterator[subprocess.Popen[bytes]]:
    """Start the coordinator in its own process group, and end the whole group afterwards."""
    arguments = [*(["kill"] if NOTICES_SOON else []), "--", *maestro_command()]
    process = subprocess.Popen(
        [sys.executable, "-m", "maestro.demo.mail_coordinator", "lead", str(began), *arguments],
        cwd=world.repository,
        env=world.environment,
        stdin=subprocess.DEVNULL,
        process_group=0,
    )
    try:
        yield process
    finally:
        with contextlib.suppress(ProcessLookupError):  # all processes have ended
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
