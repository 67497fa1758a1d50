"""The umask of Maestro's own files, and the umask of the programs that Maestro starts.

The server closes its files to all other users. Agents, gates, set-up commands, git and trackers work on the person's
files: they get the umask of the person's command that started the server.
"""

from __future__ import annotations

import os

PRIVATE = 0o077
_of_person: int | None = None


def make_private() -> None:
    """Close the files that this process creates to others; remember its umask for the programs that it starts."""
    global _of_person
    before = os.umask(PRIVATE)
    _of_person = before if _of_person is None else _of_person


def of_programs() -> int | None:
    """Return the umask for started programs; None where this process has kept the person's umask itself."""
    return _of_person


def person_mode(mode: int) -> int:
    """Return the mode that a file or directory in the person's checkout gets, made with `mode`."""
    if _of_person is not None:
        return mode & ~_of_person
    os.umask(present := os.umask(PRIVATE))
    return mode & ~present
