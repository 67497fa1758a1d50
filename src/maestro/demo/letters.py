"""The second part, from where the person sits: a coordinator is started, a question answered, a worker killed."""

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
# Where the system tells when a process ends, that is noticed within seconds; elsewhere it would take minutes.
NOTICES_SOON = hasattr(os, "pidfd_open")
DOOMED = "fay"


def act(world: World) -> bool:
    """Whether it went to its end."""
    print(
        "\nNow mail: a coordinator, lead, and its workers dora, emil and fay. Each is a process of its own that knows"
    )
    print(
        "nothing but the `maestro` command. ◂ marks mail that came out; `you` is what the person does.\n", flush=True
    )
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
    """Follow the log until the coordinator is done, and be the person where one is needed. Gives dora's question."""
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
    """What agents ask stands first when the person looks."""
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
    say("you", f"  The server sees it end, and gives it {seconds} s to be heard of. We wait for that.", began=began)


def show_thread(world: World, question: str) -> None:
    title("What remains: every conversation, by any of its messages.")
    print(f"  $ maestro mail thread {question}\n{indented(world.maestro('mail', 'thread', question))}", end="")


@contextlib.contextmanager
def coordinator(world: World, began: float) -> Iterator[subprocess.Popen[bytes]]:
    """The coordinator's process, in a group of its own with those it starts, so that none of them is left behind."""
    words = [*(["kill"] if NOTICES_SOON else []), "--", *command()]
    process = subprocess.Popen(
        [sys.executable, "-m", "maestro.demo.lead", "lead", str(began), *words],
        cwd=world.repository,
        env=world.environment,
        stdin=subprocess.DEVNULL,
        process_group=0,
    )
    try:
        yield process
    finally:
        with contextlib.suppress(ProcessLookupError):  # all of them went home
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
