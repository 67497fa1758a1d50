"""The repository of members. Teams are reached through `MemberRepository.teams`."""

from __future__ import annotations

from datetime import datetime

import msgspec

from maestro.core import limits
from maestro.core.clock import from_micros, to_micros
from maestro.domain.members import Member, Permission, Tool
from maestro.store.repositories.teams import TeamRepository
from maestro.store.rows import Row, Rows

_encode = msgspec.json.Encoder().encode
_decode_texts = msgspec.json.Decoder(list[str]).decode


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
        row = self._rows.fetch_first("member_get", id=member_id)
        return _decode_member(row) if row else None

    def by_name(self, project_id: str, name: str) -> Member | None:
        """Return the member of a project with a name, unless the member is archived."""
        row = self._rows.fetch_first("member_by_name", project_id=project_id, name=name)
        return _decode_member(row) if row else None

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
        row = self._rows.fetch_first("member_open_tasks", project_id=member.project_id, name=member.name)
        return int(row[0]) if row else 0

    def _fetch_members(self, name: str, /, **values: object) -> list[Member]:
        rows = self._rows.fetch_page(name, identity_chars=limits.identity_chars_in_lists, **values)
        return [_decode_member(row) for row in rows]


def _editable_columns(member: Member) -> dict[str, object]:
    """Return the columns of a member that an edit may change."""
    return {
        "name": member.name,
        "role": member.role,
        "identity": member.identity,
        "avatar": member.avatar,
        "skills": _encode(member.skills).decode(),
        "model": member.model,
        "tool": member.tool.value if member.tool else None,
        "permission": member.permission.value if member.permission else None,
        "allow": _encode(member.allow).decode(),
        "deny": _encode(member.deny).decode(),
        "updated_at": to_micros(member.updated_at),
    }


def _decode_member(row: Row) -> Member:
    return Member(
        id=row[0],
        project_id=row[1],
        name=row[2],
        role=row[3],
        identity=row[4],
        avatar=row[5],
        mail_id=f"@{row[2]}",
        skills=_decode_texts(row[6]),
        model=row[7],
        tool=Tool(row[8]) if row[8] else None,
        permission=Permission(row[9]) if row[9] else None,
        allow=_decode_texts(row[10]),
        deny=_decode_texts(row[11]),
        archived=row[12] is not None,
        created_by=row[13],
        created_at=from_micros(row[14]),
        updated_at=from_micros(row[15]),
    )
