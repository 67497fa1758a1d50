"""The launch of any program as an agent, for example a script or an unsupported tool.

The program finds its prompts in files that environment variables name, and later prompts on standard input.
"""

from __future__ import annotations

from collections.abc import Mapping

from maestro.core import errors
from maestro.text import terminal_text
from maestro.tools.base import Launch, LaunchRequest


def prepare_launch(start: LaunchRequest, environment: Mapping[str, str]) -> Launch:
    """Return the launch of the caller's own program."""
    if not start.arguments:
        raise errors.Invalid(
            "The tool `command` needs a program.", hint="Give the program after two dashes: -- PROGRAM ARGS…"
        )
    return Launch(arguments=start.arguments, environment=dict(environment))


def typed_prompt(text: str) -> bytes | None:
    """Return a prompt as a line of input."""
    return terminal_text.escape_keys(text).encode() + b"\n"
