"""The repository of teams: a team holds the names of its members in order, without archived members."""

from __future__ import annotations

from maestro.core import ids
from maestro.domain.members import Member, Team
from maestro.store.base import Store, Tx
from maestro.testing.clock import FakeClock
from maestro.testing.factories import make_member

VC = "prj_00000000000000000000000000"
AT = FakeClock().now()


def make_team(name: str, *, leader: str | None = None, members: list[str] | None = None) -> Team:
    return Team(
        id=ids.new_id("tea", AT),
        project_id=VC,
        name=name,
        leader=leader,
        members=members or [],
        created_by="dana",
        created_at=AT,
    )


async def insert_members(store: Store) -> list[Member]:
    members = [make_member(name=name) for name in ("ada", "bob", "cid")]
    await store.write(lambda tx: [tx.members.insert(member) for member in members])
    return members


async def put(store: Store, team: Team, *members: Member, leader: Member | None = None) -> None:
    def work(tx: Tx) -> None:
        tx.members.teams.insert(team, leader_id=leader.id if leader else None)
        for member in members:
            tx.members.teams.add_member(team.id, member.id)

    await store.write(work)


async def test_a_team_keeps_every_field(store: Store) -> None:
    ada, bob, _ = await insert_members(store)
    full, empty = make_team("core", leader="bob", members=["ada", "bob"]), make_team("none")
    await put(store, full, bob, ada, ada, leader=bob)
    await put(store, empty)
    for team in (full, empty):
        assert await store.read(lambda tx, team=team: tx.members.teams.get(team.id)) == team
        assert await store.read(lambda tx, team=team: tx.members.teams.by_name(VC, team.name)) == team
    assert await store.read(lambda tx: tx.members.teams.get("tea_unknown")) is None


async def test_teams_are_listed_by_name_by_member_and_by_leader(store: Store) -> None:
    ada, bob, _ = await insert_members(store)
    teams = [make_team("a", members=["ada"]), make_team("b", leader="bob", members=["ada", "bob"]), make_team("c")]
    await put(store, teams[2])
    await put(store, teams[1], ada, bob, leader=bob)
    await put(store, teams[0], ada)
    assert await store.read(lambda tx: tx.members.teams.list_page(VC, after="", limit=9)) == teams
    assert await store.read(lambda tx: tx.members.teams.list_page(VC, after="a", limit=1)) == teams[1:2]
    assert await store.read(lambda tx: tx.members.teams.of_member(ada.id, limit=9)) == teams[:2]
    assert await store.read(lambda tx: tx.members.teams.of_member(ada.id, limit=1)) == teams[:1]
    assert await store.read(lambda tx: tx.members.teams.led_by(bob.id)) == teams[1:2]


async def test_a_team_loses_removed_and_archived_members_and_the_leader(store: Store) -> None:
    ada, bob, cid = await insert_members(store)
    team = make_team("core")
    await put(store, team, ada, bob, cid, leader=ada)

    def change(tx: Tx) -> None:
        tx.members.teams.remove_member(team.id, bob.id)
        tx.members.archive(cid.id, at=tx.at)
        tx.members.teams.set_leader(team.id, None)

    await store.write(change)
    changed = await store.read(lambda tx: tx.members.teams.get(team.id))
    assert changed is not None and (changed.leader, changed.members) == (None, ["ada"])
    assert [member.name for member in await store.read(lambda tx: tx.members.of_team(team.id))] == ["ada"]

    async def has(member: Member) -> bool:
        return await store.read(lambda tx: tx.members.teams.has_member(team.id, member.id))

    assert [await has(member) for member in (ada, bob, cid)] == [True, False, True]
