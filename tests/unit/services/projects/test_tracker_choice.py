"""The settings of one checkout choose the tracker of a project, and only that checkout changes the tracker."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from maestro.domain.links import LinkSource
from maestro.domain.projects import Workspace
from maestro.domain.trackers import ProjectTracker, TrackerKind
from maestro.operations.issues import OpenIssue
from maestro.services.issues.operations import IssueOperations
from maestro.services.projects.tracker_choice import apply_tracker_setting

World = Any
BEADS = (TrackerKind.BEADS, LinkSource.CONFIG)


@pytest.fixture
async def checkout(world: World, tmp_path: Path) -> Workspace:
    """Add a checkout of project vc with an existing directory, and return its workspace."""
    return await add_checkout(world, tmp_path / "first")


async def add_checkout(world: World, path: Path) -> Workspace:
    path.mkdir()
    project_id = await world.store.read(lambda tx: tx.projects.by_name("vc").id)
    workspace = Workspace(f"wsp_{path.name}", project_id, path.name, f"{path.name}/vc", str(path), world.clock.now())
    await world.store.write(lambda tx: tx.projects.insert_workspace(workspace))
    return workspace


async def choose(world: World, checkout: Workspace, setting: tuple[TrackerKind, LinkSource] | None) -> None:
    await world.store.write(lambda tx: apply_tracker_setting(tx, world.dana, checkout, setting))


async def tracker(world: World, checkout: Workspace) -> ProjectTracker | None:
    found: ProjectTracker | None = await world.store.read(lambda tx: tx.trackers.get(checkout.project_id))
    return found


async def changes(world: World) -> list[dict[str, str]]:
    return [event.data for event in await world.log() if event.kind == "project.changed"]


async def test_a_new_tracker_gets_the_issues_from_before_the_choice(world: World, checkout: Workspace) -> None:
    opener = await world.join("opener", project="other")
    issue = OpenIssue(to="vc", title="Crash", message="It crashes.")
    await world.do(IssueOperations(world.guard).open_issue, issue, by=opener)
    await choose(world, checkout, BEADS)
    chosen = await tracker(world, checkout)
    assert chosen is not None
    assert (chosen.kind, chosen.path, chosen.source) == (TrackerKind.BEADS, checkout.path, LinkSource.CONFIG)
    last_before_the_choice = (await world.log())[-2].seq
    assert chosen.cursor == last_before_the_choice
    dirty = await world.store.read(lambda tx: tx.trackers.list_dirty(checkout.project_id, at=tx.at, limit=10))
    assert len(dirty) == 1
    assert await changes(world) == [{"tracker": "beads", "path": checkout.path}]


async def test_the_same_tracker_setting_changes_nothing(world: World, checkout: Workspace) -> None:
    await choose(world, checkout, BEADS)
    before = await tracker(world, checkout)
    await choose(world, checkout, BEADS)
    assert await tracker(world, checkout) == before
    assert len(await changes(world)) == 1


async def test_the_same_tracker_from_another_settings_file_keeps_the_cursor(
    world: World, checkout: Workspace
) -> None:
    await choose(world, checkout, BEADS)
    before = await tracker(world, checkout)
    await world.task()
    await choose(world, checkout, (TrackerKind.BEADS, LinkSource.LOCAL))
    after = await tracker(world, checkout)
    assert before is not None and after is not None
    assert (after.source, after.cursor) == (LinkSource.LOCAL, before.cursor)


@pytest.mark.parametrize("setting", [None, (TrackerKind.BUILTIN, LinkSource.CONFIG)])
async def test_a_removed_or_built_in_setting_restores_the_built_in_tracker(
    world: World, checkout: Workspace, setting: tuple[TrackerKind, LinkSource] | None
) -> None:
    await choose(world, checkout, BEADS)
    await choose(world, checkout, setting)
    assert await tracker(world, checkout) is None
    assert (await changes(world))[-1] == {"tracker": "builtin", "path": checkout.path}
    await choose(world, checkout, setting)
    assert len(await changes(world)) == 2


async def test_another_checkout_changes_the_tracker_only_after_the_first_checkout_is_deleted(
    world: World, checkout: Workspace, tmp_path: Path
) -> None:
    second = await add_checkout(world, tmp_path / "second")
    await choose(world, checkout, BEADS)
    for setting in (None, BEADS):
        await choose(world, second, setting)
        chosen = await tracker(world, checkout)
        assert chosen is not None and chosen.path == checkout.path
    Path(checkout.path).rmdir()
    await choose(world, second, BEADS)
    moved = await tracker(world, checkout)
    assert moved is not None and moved.path == second.path
