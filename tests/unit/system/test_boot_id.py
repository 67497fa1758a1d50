"""Server and runner identify a process by its number, its start time and the start of the machine."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from maestro.runner import process_tree
from maestro.services.runners.runners import RunnerNote, Runners
from maestro.system import boot_id, processes

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="start times are absolute elsewhere")


def test_server_and_runner_compute_the_same_start_of_a_process() -> None:
    found = processes.find_process(os.getpid())
    assert found is not None and found.started == process_tree.process_start(os.getpid())
    ticks, _, boot = found.started.partition("@")
    assert ticks.isdigit() and Path("/proc/sys/kernel/random/boot_id").read_text().startswith(boot) and boot
    assert not boot_id.is_from_earlier_boot(found.started)
    assert boot_id.is_from_earlier_boot(f"{ticks}@before") and not boot_id.is_from_earlier_boot(None)


@pytest.mark.parametrize(
    ("change", "ends"),
    [({}, True), ({"boot": "before"}, False), ({"epoch": 2}, False), ({"ticks": "1"}, False)],
    ids=["the very one", "of an earlier start of the machine", "of another start", "of another time"],
)
def test_an_orphan_is_killed_only_if_its_start_boot_and_epoch_match_the_note(
    tmp_path: Path, change: dict[str, object], ends: bool
) -> None:
    orphan = "sleep 600 > /dev/null 2>&1 & echo $!"  # no child of this process: the server spares its own children
    pid = int(subprocess.run(["sh", "-c", orphan], capture_output=True, check=True).stdout)
    try:
        ticks, _, boot = process_tree.process_start(pid).partition("@")
        started = f"{change.get('ticks', ticks)}@{change.get('boot', boot)}"
        runners = Runners(tmp_path)
        runners.session_folder("ses_1").mkdir(parents=True)
        note = RunnerNote(runner=1, runner_started="1", program=pid, program_started=started, epoch=1)
        (runners.session_folder("ses_1") / "runner.json").write_bytes(msgspec.json.encode(note))
        epoch = change.get("epoch", 1)
        assert isinstance(epoch, int)
        assert runners.kill_orphans("ses_1", epoch=epoch) is ends
        found = processes.find_process(pid)
        assert (found is None or found.has_ended) is ends
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
