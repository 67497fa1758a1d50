"""Members and teams are rendered with their facts, warnings and notes."""

from __future__ import annotations

from datetime import UTC, datetime

import msgspec

from maestro.domain.members import Permission, Team
from maestro.operations import members as member_ops
from maestro.operations import teams as team_ops
from maestro.surfaces.cli.render import members
from maestro.surfaces.cli.render.base import Rendered
from maestro.surfaces.cli.render.style import View, finish_text
from maestro.testing.factories import make_member
from maestro.tools.registry import Tool

AT = datetime(2026, 1, 1, 12, tzinfo=UTC)
PLAIN = View()
TTY = View(tty=True, columns=80)
ADA = make_member(
    id="mem_1",
    role="Backend",
    avatar="🦉",
    model="opus",
    tool=Tool.CLAUDE,
    permission=Permission.EDIT,
    skills=["a", "b"],
)
BOB = make_member(id="mem_2", name="bob", role="Tester", archived=True)
TEAM = Team(
    id="tea_1",
    project_id="prj_1",
    name="backend",
    leader="bob",
    members=["ada", "bob"],
    created_by="dana",
    created_at=AT,
)


def text(found: Rendered) -> str:
    return finish_text(str(found.out))


def test_a_member_shows_only_the_facts_that_it_has() -> None:
    assert text(members.render_member(ADA, PLAIN)) == (
        "ada  🦉\n"
        "  role        Backend\n"
        "  mail        @ada\n"
        "  id          mem_1\n"
        "  tool        claude\n"
        "  model       opus\n"
        "  permission  edit\n"
        "  skills      a, b\n"
        "  created     2026-01-01T12:00:00Z by dana\n"
    )


def test_the_detail_of_a_member_shows_teams_sessions_rights_and_identity() -> None:
    detail = member_ops.MemberDetail(
        **msgspec.structs.asdict(
            msgspec.structs.replace(ADA, identity="You are Ada.\n\nBe brief.", deny=["task.edit"])
        ),
        teams=["backend", "docs"],
        leads=["docs"],
        sessions=[member_ops.LiveSession(id="ses_1", name="parser")],
    )
    said = text(members.render_member_detail(detail, PLAIN))
    assert "  teams       backend, docs (leads)\n" in said and "  deny        task.edit\n" in said
    assert "  sessions    parser (ses_1)\n" in said
    assert said.endswith("\n\n  You are Ada.\n\n  Be brief.\n")


def test_the_list_of_members_marks_archived_members_and_names_the_next_page() -> None:
    found = members.render_member_list(member_ops.MemberList(members=[ADA, BOB], cursor="bob/mem_2"), PLAIN)
    assert text(found) == (
        "ada             claude  opus  mem_1  Backend\n"
        "bob (archived)  –       –     mem_2  Tester\n"
    )  # fmt: skip
    assert found.notes == ["more results: --cursor bob/mem_2"]
    assert text(members.render_member_list(member_ops.MemberList(members=[ADA]), TTY)).startswith("NAME  TOOL")
    assert "member create" in members.render_member_list(member_ops.MemberList(members=[]), PLAIN).notes[0]


def test_a_changed_member_shows_its_warnings() -> None:
    changed = member_ops.ChangedMember(**msgspec.structs.asdict(BOB), warnings=["Team x has\nno leader."])
    found = members.render_changed_member(changed, PLAIN)
    assert text(found).startswith("bob  (archived)\n") and found.notes == ["warning: Team x has no leader."]


def test_a_team_shows_its_leader_first_and_its_warnings() -> None:
    assert text(members.render_team(TEAM, PLAIN)) == "backend  tea_1  bob (leads), ada\n"
    empty = msgspec.structs.replace(TEAM, leader=None, members=[])
    assert text(members.render_team_list(team_ops.TeamList(teams=[TEAM, empty]), PLAIN)).endswith(
        "backend  tea_1  no members\n"
    )
    assert "team create" in members.render_team_list(team_ops.TeamList(teams=[]), PLAIN).notes[0]
    changed = team_ops.ChangedTeam(**msgspec.structs.asdict(TEAM), warnings=["w"])
    assert members.render_changed_team(changed, PLAIN).notes == ["warning: w"]


def test_the_detail_of_a_team_shows_the_roles_of_its_members() -> None:
    roster = [
        team_ops.RosterMember(
            id="mem_1", name="ada", role="Backend", avatar="🦉", mail_id="@ada", model=None, tool=None
        ),
        team_ops.RosterMember(
            id="mem_2", name="bob", role="Tester", avatar="", mail_id="@bob", model="opus", tool=Tool.CODEX
        ),
    ]
    said = text(members.render_team_detail(team_ops.TeamDetail(**msgspec.structs.asdict(TEAM), roster=roster), PLAIN))
    assert said.startswith("backend\n  id       tea_1\n  leader   bob\n")
    assert said.endswith("\nmembers\n  ada  🦉  –      –     Backend\n  bob      codex  opus  Tester\n")
    empty = members.render_team_detail(team_ops.TeamDetail(**msgspec.structs.asdict(TEAM), roster=[]), PLAIN)
    assert empty.notes == ["the team has no members"]


def test_a_member_with_hostile_texts_is_shown_without_control_characters() -> None:
    evil = make_member(role="x\x1b[2J\ny", avatar="\x1b", created_by="\x07", skills=["\u202e"])
    said = text(members.render_member(evil, PLAIN))
    assert "\x1b" not in said and "\x07" not in said and "\u202e" not in said and "x\\x1b[2J y" in said
