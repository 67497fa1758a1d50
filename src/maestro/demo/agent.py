"""What an agent of the second part can do: call the `maestro` command, and say on the screen what it did."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from typing import Any

# The text of a message need not be read twice: whoever gets it shows it.
_LEFT_OUT = "--message"
_COLOURS = {"lead": "35;1", "dora": "36", "emil": "33", "fay": "32"}
_COLOURED = sys.stdout.isatty() and "NO_COLOR" not in os.environ


class Agent:
    """A process with a name and a session of its own. It knows no other way to the others than the command."""

    def __init__(self, name: str, *, began: float, command: list[str]) -> None:
        self.name = name
        self.began = began
        self.command = command
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

    def register(self, *words: str) -> None:
        """A session for this very process. One that another session's process started is that one's worker."""
        named = ("session", "register", "--name", self.name, "--pid", str(os.getpid()))
        _, session = self.call(*named, *words)
        os.environ["MAESTRO_TOKEN"] = session["token"]

    def do(self, *words: str) -> Any:
        """Show a command, carry it out, and give its answer."""
        return self.attempt(*words)[1]

    def attempt(self, *words: str) -> tuple[int, Any]:
        """The same, with the exit code."""
        self.say(f"$ maestro {typed(words)}")
        return self.call(*words)

    def wait(self, *words: str) -> list[dict[str, Any]]:
        """Block until there is mail, and show what came."""
        self.say(f"$ maestro {typed(('mail', 'wait', *words))}")
        messages = self.listen(*words)
        for message in messages:
            self.say(f"  ◂ {summary(message)}")
        return messages

    def listen(self, *words: str) -> list[dict[str, Any]]:
        """The next mail. Without any for ten minutes, or without a server, there is nothing left to do."""
        code, answer = self.call("mail", "wait", *words)
        if code != 0:
            sys.exit(code)
        messages: list[dict[str, Any]] = answer["messages"]
        return messages

    def call(self, *words: str) -> tuple[int, Any]:
        """Exit code and answer of a command; an error is an answer too."""
        done = subprocess.run([*self.command, *words, "--json"], capture_output=True, text=True, check=False)
        text = done.stdout or done.stderr
        return done.returncode, json.loads(text) if text else None

    def say(self, text: str) -> None:
        say(self.name, text, began=self.began)


def say(name: str, text: str, *, began: float) -> None:
    """One line, written at once, because several processes write to one screen."""
    _write(f"  {time.time() - began:5.1f} s  {_painted(f'{name:<5}', _COLOURS.get(name, '1'))} {text}\n")


def title(text: str) -> None:
    """What the next lines are about."""
    _write(f"\n  {_painted(text, '1')}\n")


def typed(words: tuple[str, ...]) -> str:
    """A command as one would type it, without the text of the message."""
    parts: list[str] = []
    for before, word in zip(("", *words), words, strict=False):
        quoted = f'"{word}"' if set(word) & set(" '?#") else word
        parts.append("…" if before == _LEFT_OUT else quoted)
    return " ".join(parts)


def summary(message: dict[str, Any]) -> str:
    """A message on one line: how urgent, from whom, what it says, and why it came here if that is odd."""
    urgent = "" if message["priority"] == "normal" else f"{message['priority'].upper()} "
    # A notification's subject begins with whom it is about.
    sender = "" if message["type"] == "notification" else f" from {message['sender']['name']}"
    text = " ".join(message["body"].split())
    why = f"  [{message['reason']}]" if message["reason"] else ""
    return f"{urgent}{message['type']}{sender}: {message['subject']} | {text}{why}"


def from_arguments() -> tuple[Agent, list[str]]:
    """The agent that this process is: its name, when the part began, its own words, `--`, and the command."""
    name, began, *rest = sys.argv[1:]
    split = rest.index("--")
    return Agent(name, began=float(began), command=rest[split + 1 :]), rest[:split]


def _painted(text: str, colour: str) -> str:
    return f"\x1b[{colour}m{text}\x1b[0m" if _COLOURED else text


def _write(text: str) -> None:
    os.write(sys.stdout.fileno(), text.encode())
