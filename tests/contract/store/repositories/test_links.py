"""The repository of links: the names that a checkout gives to other projects."""

from __future__ import annotations

import pytest

from maestro.domain.links import LinkSource, ProjectLink
from maestro.domain.projects import Workspace
from maestro.store.base import Store
from maestro.testing.clock import FakeClock

VC, OTHER = "prj_00000000000000000000000000", "prj_00000000000000000000000001"
AT = FakeClock().now()
WORKSPACES = [Workspace(f"wsp_{name}", VC, name, f"{name}/vc", f"/{name}", AT) for name in ("dave", "eve")]


@pytest.fixture(autouse=True)
async def workspaces(store: Store) -> None:
    await store.write(lambda tx: [tx.projects.insert_workspace(workspace) for workspace in WORKSPACES])


def make_link(name: str, *, source: LinkSource = LinkSource.CONFIG, of: str = "dave/vc") -> ProjectLink:
    return ProjectLink(
        name=name,
        project_id=OTHER,
        project="other",
        key="example.org/other",
        source=source,
        remote="git@example.org:other",
        path="../other ✓",
        of=of,
    )


async def put(store: Store, link: ProjectLink, workspace: Workspace = WORKSPACES[0]) -> None:
    await store.write(lambda tx: tx.links.put(workspace.id, link))


async def test_a_link_keeps_every_field_and_is_replaced(store: Store) -> None:
    for link in (make_link("lib"), make_link("lib", source=LinkSource.LOCAL)):
        await put(store, link)
        assert await store.read(lambda tx: tx.links.of_workspace("wsp_dave")) == [link]
    await store.write(lambda tx: tx.links.drop("wsp_dave", "lib"))
    assert await store.read(lambda tx: tx.links.of_workspace("wsp_dave")) == []


async def test_links_are_listed_by_checkout_and_by_project(store: Store) -> None:
    links = [make_link("b"), make_link("a"), make_link("b", of="eve/vc")]
    for link, workspace in zip(links, (*WORKSPACES[:1], *WORKSPACES), strict=True):
        await put(store, link, workspace)
    assert await store.read(lambda tx: tx.links.of_workspace("wsp_dave")) == [links[1], links[0]]
    assert await store.read(lambda tx: tx.links.of_project(VC)) == [links[1], links[0], links[2]]
    assert await store.read(lambda tx: tx.links.to_project(OTHER)) == [links[1], links[0], links[2]]
    assert await store.read(lambda tx: (tx.links.of_project(OTHER), tx.links.to_project(VC))) == ([], [])


async def test_the_name_of_a_link_is_searched_in_the_checkout_before_the_project(store: Store) -> None:
    await put(store, make_link("lib"))

    async def find(workspace_id: str | None, project_id: str | None) -> str | None:
        values = {"workspace_id": workspace_id, "project_id": project_id}
        return await store.read(lambda tx: tx.links.find_project("lib", **values))

    assert await find("wsp_dave", None) == await find("wsp_eve", VC) == await find(None, VC) == OTHER
    assert await find("wsp_eve", None) is None and await find(None, OTHER) is None


async def test_the_writer_finds_a_changed_link(store: Store) -> None:
    async def find() -> str | None:
        return await store.write(lambda tx: tx.links.find_project("lib", workspace_id="wsp_dave", project_id=VC))

    assert await find() is None
    await put(store, make_link("lib"))
    assert await find() == OTHER
    await store.write(lambda tx: tx.links.drop("wsp_dave", "lib"))
    assert await find() is None


async def test_a_link_from_a_neighbour_does_not_link_two_projects(store: Store) -> None:
    await put(store, make_link("lib", source=LinkSource.NEIGHBOUR))
    assert not await store.read(lambda tx: tx.links.has_link_between(VC, OTHER))
    await put(store, make_link("lib"))
    assert await store.read(lambda tx: tx.links.has_link_between(VC, OTHER))
    assert not await store.read(lambda tx: tx.links.has_link_between(OTHER, VC))
