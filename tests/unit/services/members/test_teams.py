"""The person and coordinators create, list, show and change teams."""

from __future__ import annotations

from typing import Any

import pytest

from maestro.core import errors, limits
from maestro.operations.members import CreateMember, OneMember
from maestro.operations.teams import AddToTeam, CreateTeam, ListTeams, OneTeam, RemoveFromTeam
from maestro.services.members import registry as members
from maestro.services.members import teams

World = Any


@pytest.fixture(autouse=True)
async def people(world: World) -> dict[str, Any]:
    made = {}
    for name in ("ada", "bob", "carl"):
        made[name] = await world.do(
            members.create_member, CreateMember(project="vc", name=name, role=f"{name}'s role")
        )
    return made


async def create(world: World, name: str = "backend", **fields: Any) -> Any:
    by = fields.pop("by", None)
    return await world.do(
        teams.create_team, CreateTeam(project=fields.pop("project", "vc"), name=name, **fields), by=by
    )


async def test_the_leader_of_a_team_is_a_member_of_the_team(world: World, people: dict[str, Any]) -> None:
    team = await create(world, "Backend", leader="@ada", members=["bob", people["bob"].id])
    assert (team.name, team.leader, team.members) == ("backend", "ada", ["ada", "bob"])
    event = (await world.log())[-1]
    assert (event.kind, event.subject) == ("team.created", team.id)
    assert event.data == {"name": "backend", "leader": "ada", "members": ["ada", "bob"]}
    shown = await world.do(teams.show_team, OneTeam(project="vc", id="BACKEND"))
    assert [(member.name, member.role) for member in shown.roster] == [("ada", "ada's role"), ("bob", "bob's role")]


async def test_a_name_belongs_to_one_team_of_a_project(world: World) -> None:
    await create(world)
    with pytest.raises(errors.NameTaken, match="already"):
        await create(world, "BACKEND")
    await create(world, project="other")
    with pytest.raises(errors.Invalid):
        await create(world, "team")


async def test_only_members_of_the_project_that_are_not_archived_join_a_team(
    world: World, people: dict[str, Any]
) -> None:
    with pytest.raises(errors.NotFound, match="nobody"):
        await create(world, members=["nobody"])
    theirs = await world.do(members.create_member, CreateMember(project="other", name="eve", role="x"))
    with pytest.raises(errors.Invalid, match="does not belong to project vc"):
        await create(world, members=[theirs.id])
    await world.do(members.archive_member, OneMember(project="vc", id="carl"))
    with pytest.raises(errors.Conflict, match="archived"):
        await create(world, leader=people["carl"].id)
    assert (await world.do(teams.list_teams, ListTeams(project="vc"))).teams == []


async def test_add_to_team_adds_members_and_replaces_the_leader(world: World) -> None:
    team = await create(world, leader="ada")
    grown = await world.do(teams.add_to_team, AddToTeam(project="vc", id="backend", members=["ada", "bob"]))
    assert (grown.members, grown.leader) == (["ada", "bob"], "ada")
    assert grown.warnings == ["ada is already in team backend."]
    assert (await world.log())[-1].data == {"name": "backend", "added": ["bob"]}
    led = await world.do(teams.add_to_team, AddToTeam(id=team.id, leader="carl"))
    assert (led.members, led.leader, led.warnings) == (["ada", "bob", "carl"], "carl", [])
    assert (await world.log())[-1].data == {"name": "backend", "added": ["carl"], "leader": "carl"}


async def test_a_change_of_a_team_without_a_difference_logs_no_event(world: World) -> None:
    await create(world, leader="ada")
    before = len(await world.log())
    await world.do(teams.add_to_team, AddToTeam(project="vc", id="backend", members=["ada"], leader="ada"))
    assert len(await world.log()) == before
    with pytest.raises(errors.Invalid, match="No member to add"):
        await world.do(teams.add_to_team, AddToTeam(project="vc", id="backend"))


async def test_a_removal_removes_all_named_members_of_a_team_or_none(world: World) -> None:
    await create(world, leader="ada", members=["bob"])
    with pytest.raises(errors.NotFound, match="carl is not in team backend") as refused:
        await world.do(teams.remove_from_team, RemoveFromTeam(project="vc", id="backend", members=["bob", "carl"]))
    assert refused.value.hint == "Members of the team: ada, bob."
    left = await world.do(teams.remove_from_team, RemoveFromTeam(project="vc", id="backend", members=["bob"]))
    assert (left.members, left.leader, left.warnings) == (["ada"], "ada", [])
    left = await world.do(teams.remove_from_team, RemoveFromTeam(project="vc", id="backend", members=["ada", "@ada"]))
    assert (left.members, left.leader) == ([], None) and "no leader now" in left.warnings[0]
    assert (await world.log())[-1].data == {"name": "backend", "removed": ["ada"], "leader": None}


async def test_an_archived_member_is_removed_from_a_team_by_its_id(world: World, people: dict[str, Any]) -> None:
    await create(world, members=["ada", "bob"])
    await world.do(members.archive_member, OneMember(project="vc", id="ada"))
    left = await world.do(
        teams.remove_from_team, RemoveFromTeam(project="vc", id="backend", members=[people["ada"].id])
    )
    assert (left.members, left.warnings) == (["bob"], [])


async def test_a_session_changes_teams_of_its_own_project_only(world: World) -> None:
    theirs = await create(world, project="other")
    await world.do(members.create_member, CreateMember(project="other", name="eve", role="x"))
    with pytest.raises(errors.NotPermitted):
        await create(world, "mine", project="other", by=world.coordinator)
    with pytest.raises(errors.NotPermitted):
        await world.do(teams.add_to_team, AddToTeam(id=theirs.id, members=["eve"]), by=world.coordinator)
    assert (await create(world, "mine", project="", by=world.coordinator)).name == "mine"


async def test_a_team_with_too_many_members_is_refused(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "team_members_max", 2)
    with pytest.raises(errors.Conflict, match="at most 2"):
        await create(world, members=["ada", "bob", "carl"])
    await create(world, members=["ada", "bob"])
    with pytest.raises(errors.Conflict, match="at most 2"):
        await world.do(teams.add_to_team, AddToTeam(project="vc", id="backend", members=["carl"]))


async def test_teams_are_listed_in_pages(world: World) -> None:
    for name in ("c", "a", "b"):
        await create(world, name)
    first = await world.do(teams.list_teams, ListTeams(project="vc", limit=2))
    assert [team.name for team in first.teams] == ["a", "b"] and first.cursor == "b"
    rest = await world.do(teams.list_teams, ListTeams(project="vc", limit=2, cursor="b"))
    assert [team.name for team in rest.teams] == ["c"] and rest.cursor is None


async def test_an_unknown_team_is_not_found(world: World) -> None:
    for ref in ("nowhere", "tea_00000000000000000000000000"):
        with pytest.raises(errors.NotFound, match="no team"):
            await world.do(teams.show_team, OneTeam(project="vc", id=ref))
