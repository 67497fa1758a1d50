"""The tool `command`: runs any program as an agent, for example a script or an unsupported tool.

The program finds its prompts in files that environment variables name, and later prompts on standard input.
"""

from __future__ import annotations

from collections.abc import Mapping

from maestro.core import errors
from maestro.domain.manifests import Reach
from maestro.domain.members import Permission
from maestro.domain.talks import Driver, Teller
from maestro.text import terminal_text
from maestro.tools.base import Abilities, Launch, Start


class Command:
    """Any program, given by the caller with arguments."""

    name = "command"
    aliases: tuple[str, ...] = ()
    waiter = None
    abilities = Abilities(
        prompt_while_busy=True,
        wakes_when_idle=True,
        asks_permission=False,
        tells_usage=False,
        resumes=False,
        takes_skills=False,
        confirms_prompts=False,
        exit_means_done=True,
        reach=Reach.COMMANDS,
        drivers={Driver.TERMINAL: Teller.NOBODY},
    )

    def launch(self, start: Start, environment: Mapping[str, str]) -> Launch:
        if not start.words:
            raise errors.Invalid(
                "The tool `command` needs a program.", hint="Give the program after two dashes: -- PROGRAM ARGS…"
            )
        return Launch(words=start.words, environment=dict(environment))

    def prompt(self, text: str) -> bytes | None:
        return terminal_text.typed(text).encode() + b"\n"

    def reach(self, permission: Permission) -> Reach:
        return self.abilities.reach
