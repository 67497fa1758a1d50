"""The composition of the manifest and of both prompts of a session."""

from __future__ import annotations

import statistics
import time

from bench.report import Figure
from maestro.domain import manifests
from maestro.domain.sessions import SessionMode
from maestro.prompts import templates
from maestro.prompts.compose import system_prompt, task_prompt
from maestro.testing.manifests import make_large_manifest

TASKS = 50
MEMBERS = 20
BATCHES = 20
ROUNDS = 25  # rounds in a batch
# A typical text of a person; parts of the text must be escaped.
DESCRIPTION = "Headers of the new version have a length in front: `if size < 4 && !old { … }`.\n" * 20


def composing() -> Figure:
    """Compose a coordinator's encoded manifest and its two prompts.

    The work waits for nothing, so the measure is CPU time: the median of a batch of rounds, and of all batches the
    smallest, which other processes disturbed least.
    """
    middles = [_batch() for _ in range(BATCHES)]
    note = f"of all batches {statistics.median(middles):.2f} ms"
    what = f"manifest and both prompts, {TASKS} tasks and {MEMBERS} members"
    return Figure(what, min(middles), at_most=5, unit=" ms", note=note)


def _batch() -> float:
    template = templates.packaged_templates().choose_template(SessionMode.COORDINATE, "dag")
    took = []
    for _ in range(ROUNDS):
        begun = time.thread_time()
        manifest = make_large_manifest(SessionMode.COORDINATE, tasks=TASKS, members=MEMBERS, description=DESCRIPTION)
        manifests.encode_manifest(manifest)
        system_prompt(manifest, template)
        task_prompt(manifest)
        took.append(time.thread_time() - begun)
    return statistics.median(took) * 1e3
