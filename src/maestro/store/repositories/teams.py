"""The repository of teams and their members. A team value holds the names of its members, the tables hold ids."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from maestro.core.clock import from_micros, to_micros
from maestro.domain.members import Team
from maestro.store.rows import Row, Rows

_encode = msgspec.json.Encoder().encode


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
        return self._decode_optional_team(self._rows.fetch_first("team_get", id=team_id))

    def by_name(self, project_id: str, name: str) -> Team | None:
        return self._decode_optional_team(self._rows.fetch_first("team_by_name", project_id=project_id, name=name))

    def list_page(self, project_id: str, *, after: str, limit: int) -> list[Team]:
        return self._decode_teams(self._rows.fetch_all("team_page", project_id=project_id, after=after, limit=limit))

    def of_member(self, member_id: str, *, limit: int) -> list[Team]:
        return self._decode_teams(self._rows.fetch_all("teams_of_member", member_id=member_id, limit=limit))

    def led_by(self, member_id: str) -> list[Team]:
        return self._decode_teams(self._rows.fetch_all("teams_led", leader_id=member_id))

    def has_member(self, team_id: str, member_id: str) -> bool:
        """Return whether a member, archived or not, is in a team."""
        return self._rows.fetch_first("team_has", team_id=team_id, member_id=member_id) is not None

    def add_member(self, team_id: str, member_id: str) -> None:
        self._rows.execute("team_join", team_id=team_id, member_id=member_id)

    def remove_member(self, team_id: str, member_id: str) -> None:
        self._rows.execute("team_leave", team_id=team_id, member_id=member_id)

    def set_leader(self, team_id: str, leader_id: str | None) -> None:
        """Set or remove the leader of a team."""
        self._rows.execute("team_lead", id=team_id, leader_id=leader_id)

    def _decode_optional_team(self, row: Row | None) -> Team | None:
        return self._decode_teams([row])[0] if row else None

    def _decode_teams(self, rows: Sequence[Row]) -> list[Team]:
        """Return teams with the names of their members, read with a single statement."""
        members: dict[str, list[str]] = {row[0]: [] for row in rows}
        for team_id, name in self._rows.fetch_all("team_member_names", ids=_encode(list(members)).decode()):
            members[team_id].append(name)
        return [_decode_team(row, members[row[0]]) for row in rows]


def _decode_team(row: Row, members: list[str]) -> Team:
    return Team(
        id=row[0],
        project_id=row[1],
        name=row[2],
        leader=row[3],
        members=members,
        created_by=row[4],
        created_at=from_micros(row[5]),
    )
