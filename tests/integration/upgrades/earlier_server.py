"""`python earlier_server.py`: a server with the folder `runs` of the versions before schema 20, for upgrade tests."""

from __future__ import annotations

import sys
from pathlib import Path

from maestro.server import __main__ as server
from maestro.server import lifecycle
from maestro.wire import runner_folder


def leave_folder(home: Path) -> None:
    """Keep the folder's name. Earlier versions knew no other name."""


if __name__ == "__main__":
    runner_folder.SESSIONS = runner_folder.EARLIER_SESSIONS
    lifecycle.adopt_sessions_folder = leave_folder
    sys.exit(server.main())
