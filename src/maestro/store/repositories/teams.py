"""The repository of teams and their members. A team value holds the names of its members, the tables hold ids."""

from __future__ import annotations

from maestro.core.clock import to_micros
from maestro.domain.members import Team
from maestro.store.decoding import Decoder
from maestro.store.rows import Rows

_TEAM = Decoder(Team)


class TeamRepository:
    """Teams by id, name and member."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows

    def insert(self, team: Team, *, leader_id: str | None) -> None:
        """Insert a team without members. Members are added one by one."""
        self._rows.execute(
            "team_insert",
            id=team.id,
            project_id=team.project_id,
            name=team.name,
            leader_id=leader_id,
            created_by=team.created_by,
            created_at=to_micros(team.created_at),
        )

    def get(self, team_id: str) -> Team | None:
        return self._rows.fetch_first("team_get", _TEAM, id=team_id)

    def by_name(self, project_id: str, name: str) -> Team | None:
        return self._rows.fetch_first("team_by_name", _TEAM, project_id=project_id, name=name)

    def list_page(self, project_id: str, *, after: str, limit: int) -> list[Team]:
        return self._rows.fetch_all("team_page", _TEAM, project_id=project_id, after=after, limit=limit)

    def of_member(self, member_id: str, *, limit: int) -> list[Team]:
        return self._rows.fetch_all("teams_of_member", _TEAM, member_id=member_id, limit=limit)

    def led_by(self, member_id: str) -> list[Team]:
        return self._rows.fetch_all("teams_led", _TEAM, leader_id=member_id)

    def has_member(self, team_id: str, member_id: str) -> bool:
        """Return whether a member, archived or not, is in a team."""
        return self._rows.has_row("team_has", team_id=team_id, member_id=member_id)

    def add_member(self, team_id: str, member_id: str) -> None:
        self._rows.execute("team_join", team_id=team_id, member_id=member_id)

    def remove_member(self, team_id: str, member_id: str) -> None:
        self._rows.execute("team_leave", team_id=team_id, member_id=member_id)

    def set_leader(self, team_id: str, leader_id: str | None) -> None:
        """Set or remove the leader of a team."""
        self._rows.execute("team_lead", id=team_id, leader_id=leader_id)
