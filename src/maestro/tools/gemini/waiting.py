"""How gemini's model waits for Maestro: its program listens to nobody but the keyboard, but the end of a command that
runs in the background starts a turn, or joins the one that runs.

What such a command prints comes to the model as words of the user, on one line and cut at 5,000 characters. So it
says little: the mail stands beside it, as the program's hooks put it there.
"""

from __future__ import annotations

import shlex
from pathlib import Path

_PIPE = "in"


def pipe(folder: str) -> str:
    """Where the command waits."""
    return str(Path(folder) / _PIPE)


class Waiter:
    """A plain `cat`, for the program runs nothing with a substitution in it."""

    def command(self, folder: str) -> str:
        return f"cat {shlex.quote(pipe(folder))}"

    def told(self, folder: str) -> str:
        """What it is told at its start."""
        return (
            "<waiting>\n"
            "When you have nothing to do, Maestro wakes you through a command that waits in the background. Start it "
            f"before anything else: {_call(self.command(folder))}. It ends when something has come for you; what "
            "that is stands beside it. Then start it again first, in the same way, and keep one of it running for "
            "as long as you work. Never wait for it, read from it, or speak of it.\n"
            "</waiting>"
        )

    def owed(self, folder: str) -> str:
        return (
            "Maestro: nothing waits for what may come for you. Before you stop, start it again: "
            f"{_call(self.command(folder))}. Then stop, with no more than a word."
        )

    def knock(self, messages: int) -> str:
        came = (
            "a message has come for you. It stands" if messages == 1 else f"{messages} messages have come. They stand"
        )
        return (
            f"Maestro: {came} in the context of this turn, with whom it is from. Start the command that waits for "
            "Maestro again first; then act on what has come."
        )


def _call(command: str) -> str:
    return f"run_shell_command with command `{command}` and is_background true"
