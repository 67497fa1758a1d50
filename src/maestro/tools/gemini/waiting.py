"""How Gemini's model waits for mail. Gemini takes input only from the keyboard, but the end of a background command
starts a turn or joins the running turn.

The model gets the output of such a command as a text of the user, on one line and cut at 5,000 characters. So the
command prints only a notice; Gemini's hooks add the mail.
"""

from __future__ import annotations

import shlex
from pathlib import Path

_PIPE = "in"


def pipe_path(folder: str) -> str:
    """Return the path of the pipe from which the command reads."""
    return str(Path(folder) / _PIPE)


class GeminiModelWait:
    """Waits with a plain `cat`, because Gemini runs no command with a substitution."""

    def wait_command(self, folder: str) -> str:
        return f"cat {shlex.quote(pipe_path(folder))}"

    def instructions(self, folder: str) -> str:
        """Return the instructions about waiting, for the first prompt."""
        return (
            "<waiting>\n"
            "When you are idle, Maestro wakes you through a command that waits in the background. Start the command "
            f"before anything else: {_tool_call(self.wait_command(folder))}. The command ends when mail has arrived; "
            "the mail stands beside its output. Then first start the command again in the same way. Keep one running "
            "as long as you work. Never wait for the command, read its output yourself, or mention it.\n"
            "</waiting>"
        )

    def reminder(self, folder: str) -> str:
        return (
            "Maestro: the command that waits for your mail does not run. Before you stop, start it again: "
            f"{_tool_call(self.wait_command(folder))}. Then stop, with a one-word answer at most."
        )

    def mail_notice(self, count: int) -> str:
        arrival = (
            "a message has arrived for you. It stands" if count == 1 else f"{count} messages have arrived. They stand"
        )
        return (
            f"Maestro: {arrival} in the context of this turn, with the sender. First start the command that waits "
            "for Maestro again; then act on the mail."
        )


def _tool_call(command: str) -> str:
    return f"run_shell_command with command `{command}` and is_background true"


MODEL_WAIT = GeminiModelWait()
