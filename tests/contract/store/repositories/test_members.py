"""The repository of members: search by id and by name, pages, and archived members."""

from __future__ import annotations

import msgspec

from maestro.core import limits
from maestro.domain.members import Member, Permission
from maestro.domain.tasks import TaskStatus
from maestro.store.base import Store
from maestro.testing.clock import FakeClock
from maestro.testing.factories import make_member, make_task

VC, OTHER = "prj_00000000000000000000000000", "prj_00000000000000000000000001"
START = ("", "")


async def insert(store: Store, *members: Member) -> None:
    await store.write(lambda tx: [tx.members.insert(member) for member in members])


async def test_a_member_keeps_every_field_and_is_edited(store: Store) -> None:
    full = make_member(
        identity="You are Ada.\n",
        avatar="🦉",
        skills=["sql", "a,b"],
        model="opus",
        tool="codex",
        permission=Permission.PLAN,
        allow=["task.create"],
        deny=["mail.send"],
    )
    bare = make_member(name="bob")
    await insert(store, full, bare)
    for member in (full, bare):
        assert await store.read(lambda tx, member=member: tx.members.get(member.id)) == member
        assert await store.read(lambda tx, member=member: tx.members.by_name(VC, member.name)) == member
    edited = msgspec.structs.replace(full, name="eva", mail_id="@eva", tool=None, skills=[], allow=[])
    await store.write(lambda tx: tx.members.update(edited))
    assert await store.read(lambda tx: tx.members.get(full.id)) == edited
    assert await store.read(lambda tx: (tx.members.by_name(VC, "ada"), tx.members.by_name(OTHER, "eva"))) == (
        None,
        None,
    )


async def test_an_archived_member_frees_the_name_and_cannot_be_edited(store: Store, clock: FakeClock) -> None:
    first, second = make_member(), make_member()
    await insert(store, first)
    await store.write(lambda tx: tx.members.archive(first.id, at=tx.at))
    await store.write(lambda tx: tx.members.update(msgspec.structs.replace(first, role="Other")))
    archived = await store.read(lambda tx: tx.members.get(first.id))
    assert archived == msgspec.structs.replace(first, archived=True, updated_at=clock.now())
    assert await store.read(lambda tx: tx.members.by_name(VC, "ada")) is None
    await insert(store, second)
    assert await store.read(lambda tx: tx.members.by_name(VC, "ada")) == second


async def test_members_are_listed_by_name_in_pages(store: Store) -> None:
    members = [make_member(name=name) for name in ("ada", "bob", "cid")]
    await insert(store, *reversed(members), make_member(name="dan", project_id=OTHER))
    await store.write(lambda tx: tx.members.archive(members[1].id, at=tx.at))

    async def names(*, after: tuple[str, str] = START, limit: int = 9, archived: bool = False) -> list[str]:
        page = await store.read(lambda tx: tx.members.list_page(VC, after=after, limit=limit, archived=archived))
        return [member.name for member in page]

    assert await names() == ["ada", "cid"] and await names(archived=True) == ["ada", "bob", "cid"]
    assert await names(limit=1) == ["ada"] and await names(after=("ada", members[0].id)) == ["cid"]


async def test_lists_of_members_cut_long_identities(store: Store) -> None:
    member = make_member(identity="x" * (limits.identity_chars_in_lists + 1))
    await insert(store, member)
    (listed,) = await store.read(lambda tx: tx.members.list_page(VC, after=START, limit=9))
    assert listed == msgspec.structs.replace(member, identity="x" * limits.identity_chars_in_lists + "…")


async def test_the_open_tasks_of_a_member_are_counted(store: Store) -> None:
    member = make_member()
    tasks = [make_task(number=number, member="ada", status=status) for number, status in enumerate(TaskStatus, 1)]
    await insert(store, member)
    await store.write(lambda tx: [tx.tasks.insert(task) for task in (*tasks, make_task(number=9, member="bob"))])
    assert await store.read(lambda tx: tx.members.count_open_tasks(member)) == 4
