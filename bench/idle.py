"""The cost of an idle server."""

from __future__ import annotations

import os
import tempfile
import time
from pathlib import Path

from bench.report import Figure
from maestro.testing.live import LiveServer

SECONDS = 60


def idle() -> Figure:
    """Return the CPU time of a server during a minute without requests, as a share of a core."""
    with tempfile.TemporaryDirectory(prefix="maestro-idle-") as folder, LiveServer(Path(folder) / "data") as live:
        live.run_command("status")
        time.sleep(1)
        before = _cpu_seconds(live)
        time.sleep(SECONDS)
        used = _cpu_seconds(live) - before
        memory = _resident_mb(live)
    share = used / SECONDS * 100
    note = f"{memory:.0f} MB resident"
    return Figure("server idle for a minute, share of a core", share, at_most=0.5, unit=" %", note=note)


def _cpu_seconds(live: LiveServer) -> float:
    assert live.process is not None
    fields = Path(f"/proc/{live.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _resident_mb(live: LiveServer) -> float:
    assert live.process is not None
    pages = int(Path(f"/proc/{live.process.pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6
