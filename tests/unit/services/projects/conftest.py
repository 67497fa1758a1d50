"""Provide a project locator and a project discovery for real checkouts, connected as in the server."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from maestro.operations.projects import InitProject, LocateProject, ProjectLocation
from maestro.services.projects.discovery import ProjectDiscovery
from maestro.services.projects.link_settings import ProjectLinking
from maestro.services.projects.locate import ProjectLocator

World = Any


class Checkouts:
    """Helpers that register checkouts and their settings, as the person or as a named caller."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.discovery = ProjectDiscovery(world.store)
        self.locator = ProjectLocator(
            world.store,
            refresh_settings=self.discovery.refresh_settings,
            has_pending_rules=self.discovery.has_pending_rules,
        )
        self.linking = ProjectLinking(world.store, self.locator, self.discovery)

    async def locate(self, path: Path, *, by: Any = None) -> ProjectLocation:
        return await self.locator.locate_directory(by or self.world.dana, LocateProject(path=str(path)))

    async def init(self, path: Path, *, by: Any = None, name: str | None = None) -> ProjectLocation:
        request = InitProject(path=str(path), name=name)
        return await self.locator.register_directory(by or self.world.dana, request)

    async def links(self, location: ProjectLocation) -> dict[str, str]:
        """Return the keys of the projects that the checkout links, by the names of the links."""
        found = await self.world.store.read(lambda tx: tx.links.of_workspace(location.workspace.id))
        return {link.name: link.key for link in found}

    @staticmethod
    def write_settings(checkout: Path, text: str, *, name: str = "config.toml") -> None:
        """Write a settings file of a checkout."""
        (checkout / ".maestro").mkdir(exist_ok=True)
        (checkout / ".maestro" / name).write_text(text)


@pytest.fixture
def checkouts(world: World) -> Checkouts:
    return Checkouts(world)
