"""Maestro in other programs' settings: put there, taken out again, looked after. Runs in the client.

Knows nothing of the server but the command's own way to it.
"""

from __future__ import annotations


def connect(arguments: list[str]) -> int:
    """`maestro connect TOOL`."""
    from maestro.client.connect import commands

    return commands.connect(arguments)


def disconnect(arguments: list[str]) -> int:
    """`maestro disconnect TOOL`."""
    from maestro.client.connect import commands

    return commands.disconnect(arguments)


def doctor(arguments: list[str]) -> int:
    """`maestro doctor`."""
    from maestro.client.connect import health

    return health.run(arguments)
