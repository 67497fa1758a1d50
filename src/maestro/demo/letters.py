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
from maestro.demo.agent import say, title
from maestro.demo.world import World, command, indented

SECONDS_MAX = 60.0
# With pidfd the server notices the end of a process within seconds; without pidfd this takes minutes.
NOTICES_SOON = hasattr(os, "pidfd_open")
DOOMED = "fay"


def act(world: World) -> bool:
    """Play the part. Return whether it was completed."""
    print("\nPart two, mail: a coordinator, lead, and its workers dora, emil and fay. Each is a process that uses")
    print("only the `maestro` command. ◂ marks received mail; `you` marks the actions of the person.\n", flush=True)
    began = time.time()
    with world.followed(seconds_max=SECONDS_MAX) as events, coordinator(world, began) as lead:
        question = watch(world, events, began)
        try:
            finished = lead.wait(timeout=5) == 0 and bool(question)
        except subprocess.TimeoutExpired:
            finished = False
    if finished:
        show_thread(world, question)
    return finished


def watch(world: World, events: Iterator[dict[str, Any]], began: float) -> str:
    """Follow the log until the coordinator ends, and act as the person. Return the id of dora's question."""
    question = ""
    for event in events:
        match event["kind"], event["data"]:
            case "mail.sent", {"type": "query"}:
                question = event["subject"]
            case "ask.opened", _:
                answer(world, event["subject"], began)
            case "mail.sent", {"subject": "Are you there?"}:
                kill(world, began)
            case "session.ended", {"name": "lead"}:
                return question
    return ""


def answer(world: World, request: str, began: float) -> None:
    """Answer an ask as the person. The board shows open asks first."""
    say("you", "$ maestro", began=began)
    for line in world.maestro().splitlines()[:2]:
        say("you", f"  {line}", began=began)
    time.sleep(1)  # a person thinks
    say("you", f"$ maestro ask answer {request} yes", began=began)
    world.maestro("ask", "answer", request, "yes")


def kill(world: World, began: float) -> None:
    process = world.ask("session", "show", DOOMED)["pid"]
    say("you", f"$ kill -9 {process}  ({DOOMED}, in the middle of its work)", began=began)
    os.kill(process, signal.SIGKILL)
    seconds = limits.session_grace_seconds
    say(
        "you",
        f"  The server notices the end, and waits {seconds} s for a sign of life. The demonstration waits too.",
        began=began,
    )


def show_thread(world: World, question: str) -> None:
    title("Every thread stays readable, by the id of any of its messages.")
    print(f"  $ maestro mail thread {question}\n{indented(world.maestro('mail', 'thread', question))}", end="")


@contextlib.contextmanager
def coordinator(world: World, began: float) -> Iterator[subprocess.Popen[bytes]]:
    """Start the coordinator in its own process group, and end the whole group afterwards."""
    arguments = [*(["kill"] if NOTICES_SOON else []), "--", *command()]
    process = subprocess.Popen(
        [sys.executable, "-m", "maestro.demo.lead", "lead", str(began), *arguments],
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
