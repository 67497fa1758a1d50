"""Let Gemini's model wait for mail with a background command.

Gemini takes input only from the keyboard, but the end of a background command starts a turn or joins the running
turn. The model gets the output of such a command as a text of the user, on one line and cut at 5,000 characters. So
the command prints only an announcement; Gemini's hooks add the mail.
"""

from __future__ import annotations

import shlex
from pathlib import Path

_PIPE_NAME = "in"


def pipe_path(folder: str) -> str:
    """Return the path of the pipe from which the command reads."""
    return str(Path(folder) / _PIPE_NAME)


class GeminiModelWait:
    """Lets the model wait with a plain `cat`: Gemini runs no command that contains a command substitution."""

    def wait_command(self, folder: str) -> str:
        return f"cat {shlex.quote(pipe_path(folder))}"

    def instructions(self, folder: str) -> str:
        """Return the instructions about waiting, for the first prompt."""
        return (
            "<waiting>\n"
            "While you are idle, mail reaches you through a command that waits in the background. Start the command "
            f"before anything else: {_tool_call(self.wait_command(folder))}. The command ends when mail has arrived. "
            "The mail follows the command's output. Then first start the command again in the same way. Keep one "
            "such command running while you work. Never wait for the command, read its output or mention the "
            "command.\n"
            "</waiting>"
        )

    def reminder(self, folder: str) -> str:
        return (
            "Maestro: the command that waits for your mail does not run. Before you stop, start it again: "
            f"{_tool_call(self.wait_command(folder))}. Then stop, with a one-word answer at most."
        )

    def mail_announcement(self, count: int) -> str:
        if count == 1:
            mail = "a message has arrived for you. The message is in the context of this turn, with its sender."
        else:
            mail = f"{count} messages have arrived. The messages are in the context of this turn, with their senders."
        return f"Maestro: {mail} First start the command that waits for your mail again; then act on the mail."


def _tool_call(command: str) -> str:
    return f"run_shell_command with command `{command}` and is_background true"


MODEL_WAIT = GeminiModelWait()
