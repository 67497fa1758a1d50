"""The environment variables of a tool's program. The command client loads this module, so the module stays light."""

from __future__ import annotations

from typing import NamedTuple


class ToolEnvironment(NamedTuple):
    """The environment variables of a tool's program."""

    agent_marks: tuple[str, ...] = ()  # variables that the program sets for its commands
    dropped_prefixes: tuple[str, ...] = ()  # prefixes of variables that a new program does not inherit
    kept_variables: tuple[str, ...] = ()  # exceptions, which a new program inherits: API keys, folders
