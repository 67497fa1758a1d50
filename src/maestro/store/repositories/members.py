"""The repository of members. Teams are reached through `MemberRepository.teams`."""

from __future__ import annotations

from datetime import datetime

import msgspec

from maestro.core import limits
from maestro.core.clock import to_micros
from maestro.domain.members import Member
from maestro.store.decoding import Decoder
from maestro.store.repositories.teams import TeamRepository
from maestro.store.rows import Rows

_encode = msgspec.json.Encoder().encode
_MEMBER = Decoder(Member)


class MemberRepository:
    """Members by id, name and team."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows
        self.teams = TeamRepository(rows)

    def insert(self, member: Member) -> None:
        self._rows.execute(
            "member_insert",
            id=member.id,
            project_id=member.project_id,
            created_by=member.created_by,
            created_at=to_micros(member.created_at),
            **_editable_columns(member),
        )

    def get(self, member_id: str) -> Member | None:
        return self._rows.fetch_first("member_get", _MEMBER, id=member_id)

    def by_name(self, project_id: str, name: str) -> Member | None:
        """Return the member of a project with a name, unless the member is archived."""
        return self._rows.fetch_first("member_by_name", _MEMBER, project_id=project_id, name=name)

    def update(self, member: Member) -> None:
        self._rows.execute("member_edit", id=member.id, **_editable_columns(member))

    def archive(self, member_id: str, *, at: datetime) -> None:
        self._rows.execute("member_archive", id=member_id, at=to_micros(at))

    def list_page(
        self, project_id: str, *, after: tuple[str, str], limit: int, archived: bool = False
    ) -> list[Member]:
        """Return the members after a name and id, with shortened identities. `archived`: include archived members."""
        name = "member_page_archived" if archived else "member_page"
        return self._fetch_members(name, project_id=project_id, after_name=after[0], after_id=after[1], limit=limit)

    def of_team(self, team_id: str) -> list[Member]:
        """Return the members of a team, with shortened identities."""
        return self._fetch_members("members_of_team", team_id=team_id, limit=limits.team_members_max)

    def count_open_tasks(self, member: Member) -> int:
        """Return the number of unfinished tasks that name a member."""
        return int(self._rows.fetch_value("member_open_tasks", project_id=member.project_id, name=member.name))

    def _fetch_members(self, name: str, /, **values: object) -> list[Member]:
        return self._rows.fetch_page(name, _MEMBER, identity_chars=limits.identity_chars_in_lists, **values)


def _editable_columns(member: Member) -> dict[str, object]:
    """Return the columns of a member that an edit may change."""
    return {
        "name": member.name,
        "role": member.role,
        "identity": member.identity,
        "avatar": member.avatar,
        "skills": _encode(member.skills).decode(),
        "model": member.model,
        "tool": member.tool,
        "permission": member.permission.value if member.permission else None,
        "allow": _encode(member.allow).decode(),
        "deny": _encode(member.deny).decode(),
        "updated_at": to_micros(member.updated_at),
    }
