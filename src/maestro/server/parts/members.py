"""Members and teams of projects."""

from __future__ import annotations

from maestro.operations import members as member_ops
from maestro.operations import teams as team_ops
from maestro.server.dispatch import Binding
from maestro.server.part import Part
from maestro.services.members import registry, teams


def build_members() -> Part:
    return Part(
        bindings={
            member_ops.CREATE.name: Binding(registry.create_member),
            member_ops.LIST.name: Binding(registry.list_members),
            member_ops.SHOW.name: Binding(registry.show_member),
            member_ops.EDIT.name: Binding(registry.edit_member),
            member_ops.ARCHIVE.name: Binding(registry.archive_member),
            team_ops.CREATE.name: Binding(teams.create_team),
            team_ops.LIST.name: Binding(teams.list_teams),
            team_ops.SHOW.name: Binding(teams.show_team),
            team_ops.ADD.name: Binding(teams.add_to_team),
            team_ops.REMOVE.name: Binding(teams.remove_from_team),
        }
    )
