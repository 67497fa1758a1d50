"""Test the operations `tracker status` and `tracker sync`."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.services.conftest import AT, OTHER, VC
from tests.unit.services.trackers.conftest import Tracked

from maestro.core import errors
from maestro.domain.projects import Workspace
from maestro.domain.trackers import TrackerKind
from maestro.operations import trackers as ops
from maestro.services.trackers.sync_job import TrackerSyncJob
from maestro.services.trackers.views import TrackerOperations


class Views:
    """The operations, with a count of the nudges to the job."""

    def __init__(self, tracked: Tracked) -> None:
        self.tracked, self.nudges = tracked, 0
        world = tracked.world
        self.job = TrackerSyncJob(world.store, lambda choice: tracked.tracker, clock=world.clock, seconds=30)
        self.operations = TrackerOperations(world.store, self.job, self._count_nudge)

    def _count_nudge(self) -> None:
        self.nudges += 1

    async def status(self, project: str = OTHER.id) -> ops.TrackerStatus:
        status: ops.TrackerStatus = await self.tracked.world.do(
            self.operations.show_status, ops.TrackerRequest(project=project)
        )
        return status


@pytest.fixture
def views(tracked: Tracked) -> Views:
    return Views(tracked)


async def test_the_tracker_status_counts_changes_that_the_tracker_does_not_have(views: Views) -> None:
    await views.tracked.synchronise()
    assert (await views.status()).behind_events == 0
    await views.tracked.open_issue()
    status = await views.status()
    assert (status.kind, status.path, status.source) == (TrackerKind.BEADS, "/src/other", ".maestro/config.toml")
    assert status.behind_events > 0
    await views.tracked.synchronise()
    await views.tracked.synchronise()
    status = await views.status()
    assert (status.issues, status.behind_events, status.behind_issues) == (1, 0, 0)


async def test_the_tracker_status_names_refused_issues(views: Views) -> None:
    issue = await views.tracked.open_issue("Refused")
    views.tracked.tracker.refused = {"Refused"}
    await views.tracked.synchronise()
    status = await views.status()
    (refused,) = status.unsynced
    assert (refused.issue, refused.ref, refused.problem) == (issue.ref, None, "Refused is refused.")
    assert status.retry_at is not None and status.retry_at == refused.retry_at


async def test_a_session_cannot_read_the_tracker_status_of_another_project(views: Views) -> None:
    with pytest.raises(errors.NotPermitted) as refused:
        await views.tracked.world.do(
            views.operations.show_status, ops.TrackerRequest(project=OTHER.id), by=views.tracked.finder
        )
    assert "issue list --project" in refused.value.hint


async def test_the_tracker_status_hints_at_a_tracker_folder_in_the_checkout(views: Views, tmp_path: Path) -> None:
    checkout = Workspace("wsp_00000000000000000000000009", VC.id, "tmp", "tmp/vc", str(tmp_path), AT)
    await views.tracked.world.store.write(lambda tx: tx.projects.insert_workspace(checkout))
    assert (await views.status(VC.id)).hint == ""
    (tmp_path / ".beads").mkdir()
    status = await views.status(VC.id)
    assert status.kind is TrackerKind.BUILTIN and 'kind = "beads"' in status.hint and str(tmp_path) in status.hint


async def test_a_request_for_a_round_nudges_the_job(views: Views) -> None:
    status = await views.operations.request_sync(views.tracked.world.dana, ops.TrackerRequest(project=OTHER.id))
    assert (status.project, status.busy, views.nudges) == ("other", False, 1)
    await views.job.run_once()
    assert (await views.status()).busy
    await views.job.close()


async def test_a_requested_round_is_refused_for_a_project_without_an_external_tracker(views: Views) -> None:
    with pytest.raises(errors.Conflict, match="vc has no external tracker"):
        await views.operations.request_sync(views.tracked.world.dana, ops.TrackerRequest(project=VC.id))
    assert views.nudges == 0
