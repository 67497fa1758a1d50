"""An agent of the second part: it calls the `maestro` command and prints its actions."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from typing import Any

# The recipient prints the text of a message, so the sender does not.
_HIDDEN_AFTER = "--message"
_COLOURS = {"lead": "35;1", "dora": "36", "emil": "33", "fay": "32"}
_COLOURED = sys.stdout.isatty() and "NO_COLOR" not in os.environ


class DemoAgent:
    """A process with its own name and session. It reaches other agents only through the command."""

    def __init__(self, name: str, *, began: float, command: list[str]) -> None:
        self.name = name
        self.began = began
        self.command = command
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

    def register_session(self, *arguments: str) -> None:
        """Register a session for this process. The session becomes a worker if its parent process has a session."""
        named = ("session", "register", "--name", self.name, "--pid", str(os.getpid()))
        _, session = self.call_maestro(*named, *arguments)
        os.environ["MAESTRO_TOKEN"] = session["token"]

    def show_and_call(self, *arguments: str) -> Any:
        """Print and run a command, and return the answer."""
        return self.show_and_call_for_code(*arguments)[1]

    def show_and_call_for_code(self, *arguments: str) -> tuple[int, Any]:
        """Print and run a command, and return the exit code and the answer."""
        self.print_line(f"$ maestro {typed_command(arguments)}")
        return self.call_maestro(*arguments)

    def wait_for_mail(self, *arguments: str) -> list[dict[str, Any]]:
        """Block until mail arrives. Print and return the messages."""
        self.print_line(f"$ maestro {typed_command(('mail', 'wait', *arguments))}")
        messages = self.next_mail(*arguments)
        for message in messages:
            self.print_line(f"  ◂ {message_summary(message)}")
        return messages

    def next_mail(self, *arguments: str) -> list[dict[str, Any]]:
        """Return the next mail. End the process if no mail comes for ten minutes or the server is gone."""
        code, answer = self.call_maestro("mail", "wait", *arguments)
        if code != 0:
            sys.exit(code)
        messages: list[dict[str, Any]] = answer["messages"]
        return messages

    def call_maestro(self, *arguments: str) -> tuple[int, Any]:
        """Return the exit code and the answer of a command. An error is also an answer."""
        done = subprocess.run([*self.command, *arguments, "--json"], capture_output=True, text=True, check=False)
        text = done.stdout or done.stderr
        return done.returncode, json.loads(text) if text else None

    def print_line(self, text: str) -> None:
        print_line(self.name, text, began=self.began)


def print_line(name: str, text: str, *, began: float) -> None:
    """Write a line with one system call, because several processes write to the same terminal."""
    _write_text(f"  {time.time() - began:5.1f} s  {_paint_text(f'{name:<5}', _COLOURS.get(name, '1'))} {text}\n")


def print_title(text: str) -> None:
    """Print the title of the next lines."""
    _write_text(f"\n  {_paint_text(text, '1')}\n")


def typed_command(arguments: tuple[str, ...]) -> str:
    """Return a command as a person types it, without the text of the message."""
    parts: list[str] = []
    for before, argument in zip(("", *arguments), arguments, strict=False):
        quoted = f'"{argument}"' if set(argument) & set(" '?#") else argument
        parts.append("…" if before == _HIDDEN_AFTER else quoted)
    return " ".join(parts)


def message_summary(message: dict[str, Any]) -> str:
    """Return a message on one line: priority, sender, text, and the reason of an unusual delivery."""
    urgent = "" if message["priority"] == "normal" else f"{message['priority'].upper()} "
    # The subject of a notification begins with the name of the session.
    sender = "" if message["type"] == "notification" else f" from {message['sender']['name']}"
    text = " ".join(message["body"].split())
    reason = f"  [{message['reason']}]" if message["reason"] else ""
    return f"{urgent}{message['type']}{sender}: {message['subject']} | {text}{reason}"


def agent_from_arguments() -> tuple[DemoAgent, list[str]]:
    """Return the agent of this process and its options. Arguments: name, start time, options, `--`, command."""
    name, began, *rest = sys.argv[1:]
    split = rest.index("--")
    return DemoAgent(name, began=float(began), command=rest[split + 1 :]), rest[:split]


def _paint_text(text: str, colour: str) -> str:
    return f"\x1b[{colour}m{text}\x1b[0m" if _COLOURED else text


def _write_text(text: str) -> None:
    os.write(sys.stdout.fileno(), text.encode())
