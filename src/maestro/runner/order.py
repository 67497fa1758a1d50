"""What a runner is told to do, once, when it starts: which program, where, and how it reports."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

TEMPORARY = "tmp"  # an agent's own place for passing things, in its runner's folder
NOTE = "runner.json"  # who a runner and its agent are, in its folder


@dataclass(frozen=True)
class Order:
    """One agent to be run. Comes as JSON on standard input, for it holds the session's token."""

    session_id: str
    token: str
    socket: str  # the server's
    folder: str  # the runner's own: control socket, transcript, spool
    words: list[str]
    directory: str
    environment: dict[str, str]
    secret: str = ""  # shows that a report is the runner's own; never in the agent's environment
    epoch: int = 1  # which start of the session this is
    terminal: bool = True
    rows: int = 40
    columns: int = 120
    input: str | None = None  # what the program finds on its standard input, where it has no terminal
    conversation: str | None = None  # whose protocol is spoken over its pipes
    opening: dict[str, Any] = field(default_factory=dict)  # what that begins with
    inbox: dict[str, str] = field(default_factory=dict)  # where messages are put that come beside its keyboard
    interrupt: str = ""  # the keys that stop what it does; none: a signal does
    listens: str = ""  # the path of a socket on which that is spoken, instead of over pipes
    front: list[str] = field(default_factory=list)  # a program that joins the conversation, in the terminal
    umask: int | None = None  # of the program; None: the runner's own
    stop_seconds: float = 10.0
    heartbeat_seconds: float = 30.0
    transcript_bytes_max: int = 8 * 1024 * 1024


def read(data: bytes) -> Order:
    """The order as it was given."""
    return Order(**json.loads(data))
