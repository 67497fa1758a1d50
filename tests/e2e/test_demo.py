"""The demo, as a newcomer runs it: a server, a repository and three agents of its own, and nothing left behind."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path


def test_the_demo_runs_to_its_end_and_leaves_nothing(tmp_path: Path) -> None:
    env = {name: value for name, value in os.environ.items() if not name.startswith("MAESTRO_")}
    done = subprocess.run(
        [sys.executable, "-c", "import maestro.demo, sys; sys.exit(maestro.demo.main())"],
        env=env | {"TMPDIR": str(tmp_path)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=110,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "is not ready: it waits on" in done.stdout
    assert "would wait on itself" in done.stdout
    assert "was killed (SIGKILL)" in done.stdout
    assert "the lease ran out, the task is open again" in done.stdout
    assert "(fence 2)" in done.stdout
    assert "8 files were written" in done.stdout
    assert "kettle#1 completed" in done.stdout
    assert not list(tmp_path.iterdir()), "something was left behind"
