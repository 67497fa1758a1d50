"""The base of program launches: the folders, the MCP server and the command line of a program, and its run."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

KEY = "sk-not-a-real-key-00000000000000000000"
SERVER = "maestro"  # the name of Maestro's MCP server in the settings of the programs
_GROUP_SECONDS_MAX = 10


@dataclass(frozen=True)
class Stdio:
    """An MCP server that the program starts."""

    words: Sequence[str]
    environment: Mapping[str, str]


@dataclass(frozen=True)
class Http:
    """An MCP server that runs already."""

    url: str
    token: str


@dataclass(frozen=True)
class Room:
    """The folders of a program, which reads and writes no other folders."""

    home: Path
    work: Path

    @property
    def environment(self) -> dict[str, str]:
        """Return the complete environment of the program."""
        temporary = self.home / "tmp"
        temporary.mkdir(parents=True, exist_ok=True, mode=0o700)
        named = {"HOME": self.home, "TMPDIR": temporary, "XDG_CONFIG_HOME": self.home / ".config"}
        fixed = {"PATH": os.environ["PATH"], "LANG": "C.UTF-8", "TERM": "dumb"}
        return fixed | {name: str(path) for name, path in named.items()}


@dataclass(frozen=True)
class Launch:
    """A command line and its environment."""

    words: Sequence[str]
    environment: Mapping[str, str]
    work: Path


class Program(Protocol):
    """A tool's real program."""

    name: str

    def once(self, room: Room, *, model: str, mcp: Stdio | Http, prompt: str) -> Launch:
        """Return the launch that carries out a prompt and ends. `model` is the URL of a scripted conversation."""


@dataclass(frozen=True)
class Finished:
    code: int
    output: str


def run(launch: Launch, *, seconds: float) -> Finished:
    """Run a program to its end or to the time limit. Kill every process that it started."""
    process = subprocess.Popen(
        launch.words,
        cwd=launch.work,
        env=launch.environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    with process:
        try:
            said, _ = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            _end_group(process.pid)
            said, _ = process.communicate(timeout=_GROUP_SECONDS_MAX)
            said += f"\n(ended after {seconds:.0f} seconds)".encode()
        finally:
            _end_group(process.pid)
    return Finished(process.returncode, said.decode(errors="replace"))


def _end_group(leader: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(leader, signal.SIGKILL)
