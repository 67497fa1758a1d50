"""What a session is told, made from values: the manifest and both prompts."""

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
ROUNDS = 25  # in a batch
# About what people write; some of it has to be escaped.
DESCRIPTION = "Headers of the new version have a length in front: `if size < 4 && !old { … }`.\n" * 20


def composing() -> Figure:
    """A coordinator's manifest, encoded as it is kept, and its two prompts.

    It waits for nothing, so what it takes is its CPU time: the middle of a batch of rounds, and of the batches the
    one that others disturbed least.
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
