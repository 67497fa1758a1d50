"""The supervisor: the small process that is the server's parent.

The supervisor starts the server again when the server dies. It adopts every descendant process that loses its parent.
The server recognises an adopted process by the process name of its parent, the supervisor. So the server never takes
an adopted process for the person.
"""

from __future__ import annotations

import binascii
import os

LOCK_FILE = "supervisor.lock"  # in the data directory; a supervisor holds the lock while it keeps a server running
_PREFIX = "maestro-"
_NAME_HEX_DIGITS = 7  # Linux cuts a process's name after 15 characters


def supervisor_process_name(home: str) -> str:
    """Return the process name of the supervisors of one data directory.

    Each data directory has another name, because an agent of one Maestro may be the person of another Maestro.
    """
    number = binascii.crc32(os.fsencode(os.path.realpath(home)))
    return f"{_PREFIX}{number:08x}"[: len(_PREFIX) + _NAME_HEX_DIGITS]


def is_supervisor_name(name: str) -> bool:
    """Return whether a process name is the name of a supervisor of any data directory."""
    if not name.startswith(_PREFIX):
        return False
    digits = name.removeprefix(_PREFIX)
    return len(digits) == _NAME_HEX_DIGITS and all(digit in "0123456789abcdef" for digit in digits)
