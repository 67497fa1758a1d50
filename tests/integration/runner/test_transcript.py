"""The transcript of a real program contains its output, within a limit."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable

from maestro.testing.supervised import SupervisedRunner

Supervise = Callable[..., SupervisedRunner]


def test_both_halves_of_a_transcript_are_asciicasts_with_a_head(supervise: Supervise) -> None:
    script = "for n in range(4000): print('y' * 100)"
    runner = supervise(sys.executable, "-c", script, transcript_bytes_max=50_000, rows=50, columns=90)
    runner.wait_for_report("exited")
    for name in ("transcript.cast", "transcript-older.cast"):
        head, *events = (runner.folder / name).read_text().splitlines()
        report = json.loads(head)
        assert (report["version"], report["width"], report["height"]) == (2, 90, 50)
        times = [json.loads(event)[0] for event in events]
        assert times == sorted(times)


def test_characters_that_arrive_byte_by_byte_are_recorded_completely(supervise: Supervise) -> None:
    script = (
        "import sys\nout = sys.stdout.buffer\n"
        "for byte in '€ü漢'.encode():\n    out.write(bytes([byte])); out.flush()\n"
        "    __import__('os').getppid()\nout.write(b'\\xff.'); out.flush()"
    )
    runner = supervise(sys.executable, "-c", script, terminal=False)
    runner.wait_for_report("exited")
    assert runner.transcript_output() == "€ü漢\N{REPLACEMENT CHARACTER}."
