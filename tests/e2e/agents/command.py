"""What the two agents of the story have: the `maestro` command, and nothing else of Maestro."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

_COMMAND = str(Path(sys.executable).with_name("maestro"))


def raw(*words: str, **options: Any) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run([_COMMAND, *words], capture_output=True, check=False, **options)


def maestro(*words: str) -> Any:
    """A command's answer; whatever goes wrong ends the agent."""
    done = raw(*words, "--json")
    if done.returncode:
        sys.exit(f"{words} exited with {done.returncode}: {done.stderr.decode()}")
    return json.loads(done.stdout)


def register(name: str) -> Any:
    """Be known from now on; a crash of this process ends it."""
    pid = str(os.getpid())
    me = maestro("session", "register", "--name", f"{name}-{pid}", "--pid", pid)
    os.environ["MAESTRO_TOKEN"] = me["token"]
    return me


def mail() -> list[Any]:
    """Whatever comes, however long it takes."""
    found: list[Any] = maestro("mail", "wait", "--timeout", "5m")["messages"]
    return found
