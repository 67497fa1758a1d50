"""The supervisor: the small process that is the server's parent.

The supervisor starts the server again when the server dies, and adopts every process that loses its parent below it.
The server recognises such a process by the supervisor's process name, and so never takes it for the person.
"""

from __future__ import annotations

import binascii
import os

LOCK = "supervisor.lock"  # held, in the data directory, for as long as a supervisor keeps a server running
_PREFIX = "maestro-"
_NAME_HEX_DIGITS = 7  # Linux cuts a process's name after 15 characters


def process_name(home: str) -> str:
    """Return the process name of the supervisors of one data directory.

    The name differs between data directories: an agent of one Maestro may be the person of another.
    """
    number = binascii.crc32(os.fsencode(os.path.realpath(home)))
    return f"{_PREFIX}{number:08x}"[: len(_PREFIX) + _NAME_HEX_DIGITS]


def is_supervisor_name(name: str) -> bool:
    """Return whether a process has the name of a supervisor, of any data directory."""
    if not name.startswith(_PREFIX):
        return False
    digits = name.removeprefix(_PREFIX)
    return len(digits) == _NAME_HEX_DIGITS and all(digit in "0123456789abcdef" for digit in digits)
