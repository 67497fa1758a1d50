"""The environment variables of a tool's program. The command client loads this module, so the module stays light."""

from __future__ import annotations

from typing import NamedTuple


class ToolEnvironment(NamedTuple):
    """The environment variables of a tool's program."""

    agent_marks: tuple[str, ...] = ()  # set by the program for its commands; each mark shows that an agent runs
    dropped_prefixes: tuple[str, ...] = ()  # prefixes of variables of one run; a new agent gets no such variable
    kept_variables: tuple[str, ...] = ()  # API keys and configuration folders; a new agent gets these variables
