"""The demo, as a newcomer runs it: a server, a repository and agents of its own, and nothing left behind."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

# What each part of the second half must have shown, in this order.
MAIL = (
    r"lead  \$ maestro mail send dora --type assignment .* --wait-for read",
    r"dora  ◂ assignment from lead: Write the display",
    r"dora  \$ maestro mail send --to-coordinator --type query",
    r"lead    ◂ query from dora: Celsius or Fahrenheit\?",
    r"lead  \$ maestro mail reply msg_",
    r"dora    ◂ response from lead: Re: Celsius or Fahrenheit\? \| Celsius",
    r"lead  \$ maestro mail broadcast --scope my-workers --subject \"Hand in\"",
    r"lead    reaches [^;]*; not lead itself",
    r"lead    3 completions, one wait",
    r"lead    ◂ CRITICAL status_update from dora",
    r"lead    wanted 10, has \d: critical mail ends the wait at once",
    r"lead    exit 7, accepted but not confirmed: .*fay sent",
)
# Noticed within seconds only where the system says when a process ends.
KILLED = (
    r"you   \$ kill -9 \d+",
    r"you     The server notices the end, and waits 10 s",
    r"lead    ◂ HIGH notification: fay is lost",
    r"lead    the 2 messages that fay had not read came back",
    r"lead    process \d+ has ended, its lease is over, no sign of life\. The session ended as lost\.",
    r"\$ maestro mail thread msg_",
)
# One worker needs the person, while the others go on.
ASKING = (
    r"emil  \$ maestro ask create",
    r"you     needs you",
    r"you     ask_\w+ .* question  emil  Buy the boiling sound",
    r"you   \$ maestro ask answer ask_\w+ yes",
    r"emil    dana says: yes",
)
# Sessions that Maestro starts itself: one is killed, one makes a slip, one loses a race.
WORK = (
    r"you   \$ maestro session spawn --name chief --mode coordinate",
    r"run of kettle#\d+ starts: dag",
    r"you   \$ kill -9 \d+  \(\S+, which measures\)",
    r"is started for “Read the sensor” \(fence 2\)",
    r"gate of “Boil” passes",
    r"run is completed",
    r"run of kettle#\d+ starts: race",
    r"gate of “Attempt 1: Boil faster” passes",
    r"“Attempt 2: Boil faster” is stopped: another attempt was faster",
    r"◂ run_\w+ \(kettle#\d+\) completed",
    r"\* +\w+ Merge maestro/",
    r"boil.txt, display.txt, sensor.txt: every number is right",
)
# Two projects, one issue.
NEIGHBOURS = (
    r"gil   \$ maestro issue open heater",
    r"you   \$ maestro agent list --project heater --online  \(exit 1: no agent\)",
    r"hana    1 unread",
    r"gil     ◂ query from hana of heater: Which model\?",
    r"hana    ◂ response from gil of kettle: K-2, every time\.",
    r"kettle#\d+ is ready without further action: the issue that it waited on, heater#1, is closed",
    r"\$ maestro issue show heater#1",
)
SLIP = (
    r"gate of “Format the display” fails: grep -qx 96.5 display.txt \(exit 1\)",
    r"is started for “Format the display” \(fence 2\)",
    r"gate of “Format the display” passes",
)


def test_the_demo_runs_to_its_end_and_leaves_nothing(tmp_path: Path) -> None:
    env = {name: value for name, value in os.environ.items() if not name.startswith("MAESTRO_")}
    done = subprocess.run(
        [sys.executable, "-c", "import maestro.demo, sys; sys.exit(maestro.demo.main())"],
        env=env | {"TMPDIR": str(tmp_path)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=115,
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
    for part in (MAIL, KILLED if hasattr(os, "pidfd_open") else (), ASKING, WORK, SLIP, NEIGHBOURS):
        in_order(done.stdout, part)
    assert re.search(r"reaches (?=.*dora)(?=.*emil)(?=.*fay)[^;]*;", done.stdout)
    assert not list(tmp_path.iterdir()), "something was left behind"


def in_order(text: str, patterns: tuple[str, ...]) -> None:
    """Each is there, after the one before."""
    place = 0
    for pattern in patterns:
        found = re.compile(pattern).search(text, place)
        assert found, f"{pattern!r} is missing, or too early, in:\n{text}"
        place = found.end()
