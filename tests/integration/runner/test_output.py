"""The end of large output is kept, in the report and in the transcript."""

from __future__ import annotations

import sys
from collections.abc import Callable

from maestro.testing.supervised import SupervisedRunner

Supervise = Callable[..., SupervisedRunner]


def test_the_end_of_large_output_is_kept_in_report_and_transcript(supervise: Supervise, terminal: bool) -> None:
    script = "import sys\nfor n in range(40000): print(f'line {n} ' + 'x' * 60)\nprint('the end')"
    runner = supervise(sys.executable, "-c", script, terminal=terminal, transcript_bytes_max=200_000)
    report = runner.wait_for_report("exited")
    assert report["code"] == 0
    assert report["tail"].rstrip().endswith("the end")
    assert runner.transcript_output().rstrip().endswith("the end")
    sizes = [(runner.folder / name).stat().st_size for name in ("transcript.cast", "transcript-older.cast")]
    assert sum(sizes) <= 200_000 + 100_000  # one chunk of output may exceed the free part of a file
