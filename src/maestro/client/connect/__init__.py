"""Add Maestro to the settings of other programs, remove it, and check the settings. Runs in the client.

The package reaches the server only through the client's own commands.
"""

from __future__ import annotations


def connect(arguments: list[str]) -> int:
    """`maestro connect TOOL`."""
    from maestro.client.connect import commands

    return commands.run_connect(arguments)


def disconnect(arguments: list[str]) -> int:
    """`maestro disconnect TOOL`."""
    from maestro.client.connect import commands

    return commands.run_disconnect(arguments)


def doctor(arguments: list[str]) -> int:
    """`maestro doctor`."""
    from maestro.client.connect import health

    return health.run_doctor(arguments)
