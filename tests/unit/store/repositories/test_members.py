"""The repository stores every field of a member, keeps archived members, and lists members in pages by name."""

from __future__ import annotations

import sqlite3

import pytest

from maestro.core import limits
from maestro.domain.members import Permission
from maestro.domain.tasks import TaskStatus
from maestro.store.base import Repositories
from maestro.testing.clock import FakeClock
from maestro.testing.factories import make_member, make_task
from maestro.tools.registry import Tool

AT = FakeClock().now()
VC = "prj_00000000000000000000000000"
FIRST_PAGE = ("", "")


def test_the_repository_stores_every_field_of_a_member(repositories: Repositories) -> None:
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
    repositories.members.insert(member)
    assert repositories.members.get(member.id) == member
    assert repositories.members.by_name(VC, "ada") == member
    assert repositories.members.by_name("prj_other", "ada") is None


def test_an_archived_member_frees_its_name_and_is_not_updated(repositories: Repositories) -> None:
    first = make_member()
    repositories.members.insert(first)
    with pytest.raises(sqlite3.IntegrityError):
        repositories.members.insert(make_member())
    repositories.members.archive(first.id, at=AT)
    assert repositories.members.by_name(VC, "ada") is None
    second = make_member()
    repositories.members.insert(second)
    repositories.members.update(make_member(id=first.id, role="Another"))
    kept = repositories.members.get(first.id)
    assert kept is not None and kept.archived and kept.role == "Engineer"


def test_pages_are_ordered_by_name_and_keep_archived_members_of_the_same_name(repositories: Repositories) -> None:
    for _ in range(3):
        member = make_member(name="bob")
        repositories.members.insert(member)
        repositories.members.archive(member.id, at=AT)
    for name in ("carl", "bob", "ada"):
        repositories.members.insert(make_member(name=name))
    present = repositories.members.list_page(VC, after=FIRST_PAGE, limit=9)
    assert [member.name for member in present] == ["ada", "bob", "carl"]
    found, after = [], FIRST_PAGE
    while page := repositories.members.list_page(VC, after=after, limit=2, archived=True):
        found += [(member.name, member.archived) for member in page]
        after = (page[-1].name, page[-1].id)
    assert sorted(found) == [("ada", False), ("bob", False), *[("bob", True)] * 3, ("carl", False)]


def test_a_long_identity_is_cut_in_lists_of_members(repositories: Repositories) -> None:
    member = make_member(identity="x" * 5000)
    repositories.members.insert(member)
    (listed,) = repositories.members.list_page(VC, after=FIRST_PAGE, limit=9)
    assert listed.identity == "x" * limits.identity_chars_in_lists + "…"


def test_open_tasks_of_a_member_are_counted_by_the_members_name(repositories: Repositories) -> None:
    repositories.tasks.insert(make_task(project_id=VC, member="ada"))
    repositories.tasks.insert(make_task(project_id=VC, member="ada", status=TaskStatus.COMPLETED))
    repositories.tasks.insert(make_task(project_id=VC, member="bob"))
    assert repositories.members.count_open_tasks(make_member()) == 1
