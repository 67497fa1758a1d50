"""The repository lists the members of a team by name, and removes leaders and members of teams."""

from __future__ import annotations

from maestro.core import ids
from maestro.domain.members import Team
from maestro.store.base import Repositories
from maestro.testing.clock import FakeClock
from maestro.testing.factories import make_member

AT = FakeClock().now()
VC = "prj_00000000000000000000000000"


def insert_team(repositories: Repositories, name: str, *members: str, leader: str | None = None) -> Team:
    """Insert a team. `members` and `leader` are ids of members."""
    team = Team(
        id=ids.new_id("tea", AT),
        project_id=VC,
        name=name,
        leader=None,
        members=[],
        created_by="dana",
        created_at=AT,
    )
    repositories.members.teams.insert(team, leader_id=leader)
    for member in members:
        repositories.members.teams.add_member(team.id, member)
    return team


def test_a_team_lists_its_members_by_name_without_archived_members(repositories: Repositories) -> None:
    ada, bob, carl = (make_member(name=name) for name in ("ada", "bob", "carl"))
    for member in (ada, bob, carl):
        repositories.members.insert(member)
    team = insert_team(repositories, "backend", carl.id, ada.id, bob.id, ada.id, leader=bob.id)
    other = insert_team(repositories, "docs", ada.id)
    empty = insert_team(repositories, "empty")
    found = repositories.members.teams.get(team.id)
    assert found is not None and (found.leader, found.members) == ("bob", ["ada", "bob", "carl"])
    repositories.members.archive(carl.id, at=AT)
    listed = repositories.members.teams.list_page(VC, after="", limit=9)
    assert [(listed_team.id, listed_team.members) for listed_team in listed] == [
        (team.id, ["ada", "bob"]),
        (other.id, ["ada"]),
        (empty.id, []),
    ]
    assert [member.name for member in repositories.members.of_team(team.id)] == ["ada", "bob"]
    assert repositories.members.teams.has_member(team.id, carl.id)
    assert repositories.members.teams.by_name(VC, "docs") == listed[1]
    assert repositories.members.teams.list_page(VC, after="docs", limit=9) == listed[2:]


def test_the_leader_and_a_member_of_a_team_can_be_removed(repositories: Repositories) -> None:
    ada, bob = make_member(name="ada"), make_member(name="bob")
    repositories.members.insert(ada)
    repositories.members.insert(bob)
    team = insert_team(repositories, "backend", ada.id, bob.id, leader=ada.id)
    assert [led.id for led in repositories.members.teams.led_by(ada.id)] == [team.id]
    repositories.members.teams.set_leader(team.id, None)
    assert repositories.members.teams.led_by(ada.id) == []
    repositories.members.teams.remove_member(team.id, ada.id)
    assert not repositories.members.teams.has_member(team.id, ada.id)
    assert repositories.members.teams.of_member(ada.id, limit=9) == []
    assert [found.members for found in repositories.members.teams.of_member(bob.id, limit=9)] == [["bob"]]
