"""The repository of projects, with their keys and workspaces."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from maestro.core import errors
from maestro.domain.projects import InboundPolicy, Project, Workspace
from maestro.domain.sandboxes import SandboxMode
from maestro.store.base import Store, Tx
from maestro.testing.clock import FakeClock

AT = FakeClock().now()
VC = Project("prj_00000000000000000000000000", "example.org/vc", "vc", ["plan"], AT)  # inserted by `store`
DAVE = Workspace("wsp_1", VC.id, "dave", "dave/vc", "/src/dave ✓", AT)


async def both(store: Store, work: Callable[[Tx], Any]) -> Any:
    """Run a read on a reader and on the writer, which caches projects. Return the result if both agree."""
    read, written = await store.read(work), await store.write(work)
    assert read == written
    return read


async def test_a_project_keeps_every_field_after_a_change(store: Store) -> None:
    assert await both(store, lambda tx: tx.projects.get(VC.id)) == VC
    assert await both(store, lambda tx: tx.projects.by_name("vc")) == VC
    assert await both(store, lambda tx: tx.projects.by_key("example.org/vc")) == VC
    changed = Project(
        VC.id, "example.org/new", "new", ["a,b", "c"], AT, InboundPolicy.CLOSED, False, SandboxMode.BUBBLEWRAP, ["/c"]
    )
    await store.write(lambda tx: tx.projects.update(changed))
    assert await both(store, lambda tx: tx.projects.get(VC.id)) == changed
    assert await both(store, lambda tx: tx.projects.by_name("new")) == changed
    assert await both(store, lambda tx: tx.projects.by_name("vc")) is None
    assert await both(store, lambda tx: tx.projects.get("prj_unknown")) is None


async def test_a_rollback_removes_a_change_of_a_project_from_the_cache(store: Store) -> None:
    def change_and_fail(tx: Tx) -> None:
        tx.projects.update(msgspec.structs.replace(VC, name="never"))
        tx.projects.get(VC.id)
        raise errors.Conflict("no")

    with pytest.raises(errors.Conflict):
        await store.write(change_and_fail)
    assert await both(store, lambda tx: tx.projects.get(VC.id)) == VC


async def test_a_project_is_found_by_each_of_several_keys(store: Store) -> None:
    await store.write(lambda tx: tx.projects.add_key(VC.id, "former"))
    await store.write(lambda tx: tx.projects.add_key("prj_00000000000000000000000001", "former"))
    assert await both(store, lambda tx: tx.projects.by_key("former")) == VC, "a key stays with the first project"
    await store.write(lambda tx: tx.projects.drop_key("prj_00000000000000000000000001", "former"))
    assert await both(store, lambda tx: tx.projects.by_key("former")) == VC
    await store.write(lambda tx: tx.projects.drop_key(VC.id, "former"))
    assert await both(store, lambda tx: tx.projects.by_key("former")) is None


async def test_projects_are_listed_by_name_in_pages(store: Store) -> None:
    async def names(after: str, limit: int) -> list[str]:
        return [
            project.name for project in await store.read(lambda tx: tx.projects.list_page(after=after, limit=limit))
        ]

    assert [await names("", 9), await names("", 1), await names("other", 9)] == [["other", "vc"], ["other"], ["vc"]]


async def test_a_workspace_keeps_every_field_and_can_move_to_another_project(store: Store) -> None:
    await store.write(lambda tx: tx.projects.insert_workspace(DAVE))
    for find in (
        lambda tx: tx.projects.get_workspace("wsp_1"),
        lambda tx: tx.projects.workspace_at("/src/dave ✓"),
        lambda tx: tx.projects.workspace_by_name(VC.id, "dave"),
    ):
        assert await both(store, find) == DAVE
    assert await both(store, lambda tx: tx.projects.is_workspace_name_taken(VC.id, "dave"))
    other = "prj_00000000000000000000000001"
    await store.write(lambda tx: tx.projects.move_workspace("wsp_1", project_id=other, name="d"))
    moved = await both(store, lambda tx: tx.projects.get_workspace("wsp_1"))
    assert moved == Workspace("wsp_1", other, "d", "d/other", "/src/dave ✓", AT)
    assert not await both(store, lambda tx: tx.projects.is_workspace_name_taken(VC.id, "dave"))
    assert await both(store, lambda tx: tx.projects.get_workspace("wsp_unknown")) is None


async def test_workspaces_of_a_project_are_listed_by_name(store: Store) -> None:
    eve = Workspace("wsp_0", VC.id, "eve", "eve/vc", "/src/eve", AT)
    await store.write(lambda tx: [tx.projects.insert_workspace(workspace) for workspace in (eve, DAVE)])
    assert await both(store, lambda tx: tx.projects.workspaces_of(VC.id, limit=9)) == [DAVE, eve]
    assert await both(store, lambda tx: tx.projects.workspaces_of(VC.id, limit=1)) == [DAVE]


async def test_a_project_without_a_remote_is_found_by_path(store: Store) -> None:
    local = Project("prj_2", "root:abc:/src/local", "local", [], AT)
    workspace = Workspace("wsp_2", "prj_2", "dana", "dana/local", "/src/local", AT)

    def insert(tx: Tx) -> None:
        tx.projects.insert(local)
        tx.projects.insert_workspace(workspace)

    await store.write(insert)
    assert await both(store, lambda tx: tx.projects.by_local_path("/src/local")) == local
    assert await both(store, lambda tx: tx.projects.by_local_path("/local")) is None


async def test_an_accepted_setup_belongs_to_a_checkout_and_counts_for_the_project(store: Store) -> None:
    await store.write(lambda tx: tx.projects.insert_workspace(DAVE))
    assert await both(store, lambda tx: tx.projects.accepted_setup("wsp_1")) == ""
    assert await both(store, lambda tx: tx.projects.accepted_setup("wsp_unknown")) == ""
    await store.write(lambda tx: tx.projects.accept_setup("wsp_1", "make deps"))
    assert await both(store, lambda tx: tx.projects.accepted_setup("wsp_1")) == "make deps"
    assert await both(store, lambda tx: tx.projects.accepts_setup(VC.id, "make deps"))
    assert not await both(store, lambda tx: tx.projects.accepts_setup(VC.id, "make all"))
