"""Projects: find, register, edit and link projects and their checkouts."""

from __future__ import annotations

from maestro.domain.events import EventKind
from maestro.operations import projects as project_ops
from maestro.server.base import ServerBase
from maestro.server.dispatch import Binding
from maestro.server.part import Part, Reaction
from maestro.services.projects import registry
from maestro.services.projects.discovery import ProjectDiscovery, RequestNames
from maestro.services.projects.link_settings import ProjectLinking
from maestro.services.projects.locate import ProjectLocator
from maestro.services.projects.sandboxes import ProjectSandboxes


class ProjectPart(Part, frozen=True, kw_only=True):
    """The services for projects."""

    locator: ProjectLocator
    request_names: RequestNames
    sandboxes: ProjectSandboxes


def build_projects(base: ServerBase) -> ProjectPart:
    discovery = ProjectDiscovery(base.store)
    locator = ProjectLocator(
        base.store,
        prefer_remote=base.settings.remote,
        refresh_settings=discovery.refresh_settings,
        has_pending_rules=discovery.has_pending_rules,
    )
    links = ProjectLinking(base.store, locator, discovery)
    return ProjectPart(
        locator=locator,
        request_names=RequestNames(discovery),
        sandboxes=ProjectSandboxes(base.store, base.home),
        bindings={
            project_ops.INIT.name: Binding(locator.register_directory),
            project_ops.LOCATE.name: Binding(locator.locate_directory),
            project_ops.LIST.name: Binding(registry.list_projects),
            project_ops.SHOW.name: Binding(registry.show_project),
            project_ops.EDIT.name: Binding(registry.edit_project),
            project_ops.LINK.name: Binding(links.link_project),
            project_ops.UNLINK.name: Binding(links.unlink_project),
        },
        reactions=(Reaction((EventKind.PROJECT_CHANGED,), lambda project_id: locator.forget_locations()),),
    )
