"""The umask of Maestro's own files, and the umask of the programs that Maestro starts.

The server closes its files to all other users. Agents, gates, set-up commands, git and trackers work on files of the
person. These programs get the umask of the person's command that started the server.
"""

from __future__ import annotations

import os

PRIVATE_UMASK = 0o077
_person_umask: int | None = None


def make_files_private() -> None:
    """Close the new files of this process to other users; keep the former umask for the programs that it starts."""
    global _person_umask
    before = os.umask(PRIVATE_UMASK)
    _person_umask = before if _person_umask is None else _person_umask


def program_umask() -> int | None:
    """Return the umask for started programs; None if this process still has the person's umask."""
    return _person_umask


def person_mode(mode: int) -> int:
    """Return the mode of a new file or directory in the person's checkout: `mode` without the bits of the umask."""
    if _person_umask is not None:
        return mode & ~_person_umask
    os.umask(present := os.umask(PRIVATE_UMASK))
    return mode & ~present
