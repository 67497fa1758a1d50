"""Input of any size reaches a real program completely."""

from __future__ import annotations

import sys
from collections.abc import Callable

from maestro.testing.supervised import SupervisedRunner

Supervise = Callable[..., SupervisedRunner]


def test_input_larger_than_a_pipe_arrives_completely(supervise: Supervise) -> None:
    runner = supervise("sh", "-c", "cat > all; wc -c < all > size", terminal=False, input="z" * 500_000)
    assert runner.wait_for_report("exited")["code"] == 0
    assert runner.wait_for_file("size") == "500000"


def test_large_input_for_a_running_program_arrives_completely(supervise: Supervise, terminal: bool) -> None:
    lines = b"".join(b"%05d %s\n" % (n, b"w" * 90) for n in range(3000))
    script = (
        "import sys\nfor line in sys.stdin:\n    if line.startswith('end'): break\n"
        "    open('got', 'a').write(line)\nopen('size', 'w').write('done\\n')"
    )
    runner = supervise(sys.executable, "-c", script, terminal=terminal)
    runner.wait_for_report("started")
    runner.write(lines)
    runner.write(b"end\n")
    assert runner.wait_for_file("size") == "done"
    assert (runner.folder / "got").read_bytes() == lines
