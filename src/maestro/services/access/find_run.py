"""Find the run that a request names, if the caller may read the run."""

from __future__ import annotations

from maestro.core import errors, limits
from maestro.domain.callers import Caller
from maestro.domain.runs import Run
from maestro.domain.visibility import may_read
from maestro.services.access.scope import find_project, find_task
from maestro.store.base import Tx

_SHORT_ID_CHARS_MIN = 4
_CANDIDATES_SHOWN_MAX = 5


def find_run(tx: Tx, caller: Caller, run_id: str, *, project: str = "") -> Run:
    """Return the run that `run_id` names: a full id, a part of an id, or a task, which stands for its newest run."""
    run = tx.runs.get(run_id) or _run_by_short_id(tx, caller, run_id, project)
    if run is None or not may_read(caller, run.project_id):
        raise errors.NotFound(f"There is no run {run_id!r}.", hint="maestro run list")
    return run


def _run_by_short_id(tx: Tx, caller: Caller, text: str, project: str) -> Run | None:
    if "#" in text or text.startswith("tsk_"):
        return tx.runs.last_of_task(find_task(tx, caller, text, project=project).id)
    wanted = text.removeprefix("run_").removeprefix("…")
    if len(wanted) < _SHORT_ID_CHARS_MIN:
        return None
    owner = find_project(tx, caller, project)
    newest = tx.runs.list_page(owner.id, before="run_~", limit=limits.page_items_max)
    matches = [run for run in newest if run.id.endswith(wanted) or run.id.startswith(f"run_{wanted}")]
    if len(matches) > 1:
        raise errors.Ambiguous(
            f"{text!r} could be {' or '.join(run.id for run in matches[:_CANDIDATES_SHOWN_MAX])}.",
            data={"candidates": [run.id for run in matches]},
        )
    return matches[0] if matches else None
