"""The tool `command`: runs any program as an agent, for example a script or an unsupported tool.

The program finds its prompts in files that environment variables name, and later prompts on standard input.
"""

from __future__ import annotations

from collections.abc import Mapping

from maestro.core import errors
from maestro.domain.conversations import DriverKind, StateReporter
from maestro.domain.manifests import AgentReach
from maestro.domain.members import Permission
from maestro.text import terminal_text
from maestro.tools.base import Abilities, Launch, LaunchRequest


class CommandTool:
    """Any program, given by the caller with arguments."""

    name = "command"
    aliases: tuple[str, ...] = ()
    model_wait = None
    abilities = Abilities(
        prompt_while_busy=True,
        wakes_when_idle=True,
        asks_permission=False,
        tells_usage=False,
        resumes=False,
        takes_skills=False,
        confirms_prompts=False,
        exit_means_done=True,
        reach=AgentReach.COMMANDS,
        drivers={DriverKind.TERMINAL: StateReporter.NONE},
    )

    def prepare_launch(self, start: LaunchRequest, environment: Mapping[str, str]) -> Launch:
        if not start.arguments:
            raise errors.Invalid(
                "The tool `command` needs a program.", hint="Give the program after two dashes: -- PROGRAM ARGS…"
            )
        return Launch(arguments=start.arguments, environment=dict(environment))

    def typed_prompt(self, text: str) -> bytes | None:
        return terminal_text.escape_keys(text).encode() + b"\n"

    def reach_with(self, permission: Permission) -> AgentReach:
        return self.abilities.reach
