"""Members and teams in the database."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator

import pytest

from maestro.core import ids, limits
from maestro.domain.members import Permission, Team, Tool
from maestro.domain.projects import Project
from maestro.domain.tasks import TaskStatus
from maestro.store.base import Repositories
from maestro.store.sqlite.connection import SqliteRows
from maestro.store.sqlite.steps import migration_scripts
from maestro.testing.clock import FakeClock
from maestro.testing.factories import make_member, make_task

AT = FakeClock().now()
PROJECT = Project("prj_00000000000000000000000000", "example.org/vc", "vc", [], AT)
START = ("", "")


@pytest.fixture
def tables() -> Iterator[Repositories]:
    with contextlib.closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        for script in migration_scripts():
            connection.executescript(script)
        tables = Repositories(SqliteRows(connection))
        tables.projects.insert(PROJECT)
        yield tables


def a_team(tables: Repositories, name: str, *members: str, leader: str | None = None) -> Team:
    """A team of members by id."""
    team = Team(
        id=ids.new_id("tea", AT),
        project_id=PROJECT.id,
        name=name,
        leader=None,
        members=[],
        created_by="dana",
        created_at=AT,
    )
    tables.members.teams.insert(team, leader_id=leader)
    for member in members:
        tables.members.teams.add_member(team.id, member)
    return team


def test_a_member_comes_back_as_it_went_in(tables: Repositories) -> None:
    member = make_member(
        identity="You are Ada.\n",
        avatar="🦉",
        skills=["sql", "go"],
        model="opus",
        tool=Tool.CODEX,
        permission=Permission.PLAN,
        allow=["task.cancel"],
        deny=["task.create"],
    )
    tables.members.insert(member)
    assert tables.members.get(member.id) == member
    assert tables.members.by_name(PROJECT.id, "ada") == member
    assert tables.members.by_name("prj_other", "ada") is None


def test_an_archived_member_frees_its_name_and_stays_as_it_was(tables: Repositories) -> None:
    first = make_member()
    tables.members.insert(first)
    with pytest.raises(sqlite3.IntegrityError):
        tables.members.insert(make_member())
    tables.members.archive(first.id, at=AT)
    assert tables.members.by_name(PROJECT.id, "ada") is None
    second = make_member()
    tables.members.insert(second)
    tables.members.update(make_member(id=first.id, role="Another"))
    kept = tables.members.get(first.id)
    assert kept is not None and kept.archived and kept.role == "Engineer"


def test_pages_go_by_name_and_an_archived_namesake_is_not_lost_between_them(tables: Repositories) -> None:
    for _ in range(3):
        member = make_member(name="bob")
        tables.members.insert(member)
        tables.members.archive(member.id, at=AT)
    for name in ("carl", "bob", "ada"):
        tables.members.insert(make_member(name=name))
    assert [one.name for one in tables.members.list_page(PROJECT.id, after=START, limit=9)] == ["ada", "bob", "carl"]
    found, after = [], START
    while page := tables.members.list_page(PROJECT.id, after=after, limit=2, archived=True):
        found += [(one.name, one.archived) for one in page]
        after = (page[-1].name, page[-1].id)
    assert sorted(found) == [("ada", False), ("bob", False), *[("bob", True)] * 3, ("carl", False)]


def test_lists_carry_the_beginning_of_a_long_identity(tables: Repositories) -> None:
    member = make_member(identity="x" * 5000)
    tables.members.insert(member)
    (listed,) = tables.members.list_page(PROJECT.id, after=START, limit=9)
    assert listed.identity == "x" * limits.identity_chars_in_lists + "…"


def test_a_team_knows_its_members_by_name_and_not_the_archived(tables: Repositories) -> None:
    ada, bob, carl = (make_member(name=name) for name in ("ada", "bob", "carl"))
    for member in (ada, bob, carl):
        tables.members.insert(member)
    team = a_team(tables, "backend", carl.id, ada.id, bob.id, ada.id, leader=bob.id)
    other = a_team(tables, "docs", ada.id)
    empty = a_team(tables, "empty")
    found = tables.members.teams.get(team.id)
    assert found is not None and (found.leader, found.members) == ("bob", ["ada", "bob", "carl"])
    tables.members.archive(carl.id, at=AT)
    listed = tables.members.teams.list_page(PROJECT.id, after="", limit=9)
    assert [(one.id, one.members) for one in listed] == [
        (team.id, ["ada", "bob"]),
        (other.id, ["ada"]),
        (empty.id, []),
    ]
    assert [one.name for one in tables.members.of_team(team.id)] == ["ada", "bob"]
    assert tables.members.teams.has_member(team.id, carl.id)
    assert tables.members.teams.by_name(PROJECT.id, "docs") == listed[1]
    assert tables.members.teams.list_page(PROJECT.id, after="docs", limit=9) == listed[2:]


def test_leaving_and_leading(tables: Repositories) -> None:
    ada, bob = make_member(name="ada"), make_member(name="bob")
    tables.members.insert(ada)
    tables.members.insert(bob)
    team = a_team(tables, "backend", ada.id, bob.id, leader=ada.id)
    assert [one.id for one in tables.members.teams.led_by(ada.id)] == [team.id]
    tables.members.teams.set_leader(team.id, None)
    assert tables.members.teams.led_by(ada.id) == []
    tables.members.teams.remove_member(team.id, ada.id)
    assert not tables.members.teams.has_member(team.id, ada.id)
    assert tables.members.teams.of_member(ada.id, limit=9) == []
    assert [one.members for one in tables.members.teams.of_member(bob.id, limit=9)] == [["bob"]]


def test_open_tasks_are_counted_by_the_name_they_carry(tables: Repositories) -> None:
    tables.tasks.insert(make_task(project_id=PROJECT.id, member="ada"))
    tables.tasks.insert(make_task(project_id=PROJECT.id, member="ada", status=TaskStatus.COMPLETED))
    tables.tasks.insert(make_task(project_id=PROJECT.id, member="bob"))
    assert tables.members.count_open_tasks(make_member()) == 1
