"""The order for a runner: which program to run, where, and how to report. The runner gets it once, at its start."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class RunnerOrder:
    """One program to run. The order comes as JSON on standard input, because it holds the session's token."""

    session_id: str
    token: str
    socket: str  # the path of the server's socket
    folder: str  # the runner's folder: control socket, transcript, spool
    arguments: list[str]
    directory: str
    environment: dict[str, str]
    secret: str = ""  # proves that a report comes from the runner; never in the program's environment
    epoch: int = 1  # the number of this start of the session
    terminal: bool = True
    rows: int = 40
    columns: int = 120
    input: str | None = None  # the program's standard input, if the program has no terminal
    conversation: str | None = None  # the tool whose protocol the runner speaks with the program
    opening: dict[str, Any] = field(default_factory=dict)  # the start of the conversation
    inbox: dict[str, str] = field(default_factory=dict)  # the inbox for pushes to a program in a terminal
    interrupt: str = ""  # the keys that interrupt the program; without keys the runner sends a signal
    socket_path: str = ""  # the path of a socket for the conversation, instead of pipes
    # A second program, which joins the conversation in the terminal.
    terminal_client: list[str] = field(default_factory=list)
    umask: int | None = None  # the umask of the program; None: the runner's umask
    stop_seconds: float = 10.0
    heartbeat_seconds: float = 30.0
    transcript_bytes_max: int = 8 * 1024 * 1024


def order_fields(order: RunnerOrder) -> dict[str, Any]:
    """Return the order as the fields of its JSON."""
    return {name: getattr(order, name) for name in RunnerOrder.__dataclass_fields__}


def decode_order(data: bytes) -> RunnerOrder:
    return RunnerOrder(**json.loads(data))
