"""The part of `maestro doctor` that checks the stored data. The server program checks the data in its own process."""

from __future__ import annotations

import json
import subprocess
from typing import Any

from maestro.client import server_start
from maestro.client.connect import context

_DATABASE = "maestro.db"
REMEDY = "restore a backup (docs/recovery.md): maestro down, maestro restore FILE"


def check_data() -> tuple[list[str], list[str]]:
    """Return lines about the state of the data, and the problems of the data."""
    if not (context.data_directory() / _DATABASE).exists():
        return [], []
    command = server_start.program_command("server", context.data_directory(), "--check")
    done = subprocess.run(
        command,
        env=server_start.server_environment(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        return [], [f"the data cannot be checked: {done.stderr.strip()}"]
    report: dict[str, Any] = json.loads(done.stdout)
    problems = [str(finding["text"]) for finding in report["findings"]]
    files = "1 file" if report["files"] == 1 else f"{report['files']} files"
    return ([] if problems else [f"data      sound: the database and {files} beside it"]), problems
