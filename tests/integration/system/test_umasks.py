"""A server closes its own files and gives its programs the umask of the person. Each case runs in its own process."""

from __future__ import annotations

import subprocess
import sys

import pytest

PRINT = "print(umasks.program_umask(), oct(umasks.person_mode(0o777)), oct(os.umask(0)))"


def run_with_umask(umask: int, script: str) -> str:
    """Return the output of a Python script in a process with `umask`."""
    words = [sys.executable, "-c", f"import os; from maestro.system import umasks\n{script}"]
    return subprocess.run(words, umask=umask, capture_output=True, text=True, check=True, timeout=30).stdout.strip()


@pytest.mark.parametrize(("umask", "mode"), [(0o022, "0o755"), (0o007, "0o770"), (0, "0o777")])
def test_the_umask_before_the_change_is_the_umask_of_the_person(umask: int, mode: str) -> None:
    assert run_with_umask(umask, PRINT) == f"None {mode} {umask:#o}"


@pytest.mark.parametrize(("umask", "mode"), [(0o022, "0o755"), (0o007, "0o770"), (0, "0o777")])
def test_after_the_change_own_files_are_private_and_programs_get_the_umask_of_the_person(
    umask: int, mode: str
) -> None:
    assert run_with_umask(umask, f"umasks.make_files_private()\n{PRINT}") == f"{umask} {mode} 0o77"


def test_a_second_change_keeps_the_umask_of_the_person() -> None:
    script = f"umasks.make_files_private()\numasks.make_files_private()\n{PRINT}"
    assert run_with_umask(0o022, script) == "18 0o755 0o77"
    assert run_with_umask(0, script) == "0 0o777 0o77"


def test_a_started_program_gets_the_umask_of_the_person() -> None:
    script = (
        "import asyncio; from maestro.system import subprocesses\n"
        "umasks.make_files_private()\n"
        "async def run():\n"
        "    process = await subprocesses.start_process('sh', '-c', 'umask')\n"
        "    await process.wait()\n"
        "asyncio.run(run())\n"
    )
    assert int(run_with_umask(0o027, script), 8) == 0o027
