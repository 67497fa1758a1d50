"""The person and coordinators create, edit, list and archive members."""

from __future__ import annotations

from typing import Any

import pytest

from maestro.core import errors
from maestro.domain.members import Permission
from maestro.operations.members import CreateMember, EditMember, ListMembers, OneMember
from maestro.operations.task_shapes import CreateTask
from maestro.operations.teams import CreateTeam, OneTeam
from maestro.services.members import registry as members
from maestro.services.members import teams
from maestro.services.tasks import editing as tasks
from maestro.tools.registry import Tool

World = Any


async def create(world: World, name: str = "ada", *, project: str = "vc", **fields: Any) -> Any:
    by = fields.pop("by", None)
    request = CreateMember(project=project, name=name, role=fields.pop("role", "Engineer"), **fields)
    return await world.do(members.create_member, request, by=by)


async def test_a_member_keeps_all_given_fields(world: World) -> None:
    made = await create(
        world,
        "Ada",
        role=" Backend engineer ",
        identity="You are Ada.",
        avatar="🦉",
        model="opus",
        tool=Tool.CLAUDE,
        permission=Permission.EDIT,
        skills=["sql", "sql", "go"],
        allow=["task cancel"],
        deny=["task.create"],
    )
    assert (made.name, made.role, made.mail_id, made.skills) == ("ada", "Backend engineer", "@ada", ["sql", "go"])
    assert (made.allow, made.deny, made.created_by) == (["task.cancel"], ["task.create"], "dana")
    for ref in ("ada", "@ada", "ADA", made.id):
        shown = await world.do(members.show_member, OneMember(project="vc", id=ref))
        assert shown.id == made.id and shown.identity == "You are Ada." and shown.teams == shown.sessions == []
    event = (await world.log())[-1]
    assert (event.kind, event.subject, event.data) == (
        "member.created",
        made.id,
        {"name": "ada", "role": "Backend engineer"},
    )


async def test_a_name_belongs_to_one_member_of_a_project(world: World) -> None:
    first = await create(world, "ada")
    with pytest.raises(errors.NameTaken) as refused:
        await create(world, "ADA")
    assert "maestro member edit ada" in refused.value.hint and refused.value.data == {"id": first.id}
    await create(world, "ada", project="other")


@pytest.mark.parametrize("name", ["human", "Team", "mem_00000000000000000000000000"])
async def test_reserved_words_and_ids_are_refused_as_member_names(world: World, name: str) -> None:
    with pytest.raises(errors.Invalid):
        await create(world, name)
    await create(world, "ada")
    with pytest.raises(errors.Invalid):
        await world.do(members.edit_member, EditMember(project="vc", id="ada", name=name))


async def test_an_edit_of_a_member_changes_only_the_given_fields(world: World, clock: Any) -> None:
    made = await create(world, model="opus", tool=Tool.CODEX, permission=Permission.FULL, skills=["sql"])
    clock.advance(5)
    edited = await world.do(members.edit_member, EditMember(project="vc", id="ada", role="Tester", tool=""))
    assert (edited.role, edited.tool, edited.model, edited.skills) == ("Tester", None, "opus", ["sql"])
    assert edited.updated_at > made.updated_at == made.created_at
    event = (await world.log())[-1]
    assert (event.kind, event.data) == ("member.changed", {"name": "ada", "fields": ["role", "tool"]})
    cleared = await world.do(
        members.edit_member, EditMember(project="vc", id="ada", model="", permission="", skills=[])
    )
    assert (cleared.model, cleared.permission, cleared.skills) == (None, None, [])
    back = await world.do(members.edit_member, EditMember(project="vc", id="ada", tool="gemini", permission="plan"))
    assert (back.tool, back.permission) == (Tool.GEMINI, Permission.PLAN)


async def test_an_edit_of_a_member_without_a_difference_logs_no_event(world: World) -> None:
    await create(world, model="opus")
    before = len(await world.log())
    await world.do(members.edit_member, EditMember(project="vc", id="ada", model="opus", name="ADA"))
    assert len(await world.log()) == before
    with pytest.raises(errors.Invalid, match="No change to member"):
        await world.do(members.edit_member, EditMember(project="vc", id="ada"))


async def test_a_renamed_member_gets_a_new_address_and_a_warning_about_its_tasks(world: World) -> None:
    await create(world, "ada")
    await create(world, "grace")
    await world.do(tasks.create_task, CreateTask(project="vc", title="a", member="ada"))
    with pytest.raises(errors.NameTaken):
        await world.do(members.edit_member, EditMember(project="vc", id="ada", name="grace"))
    renamed = await world.do(members.edit_member, EditMember(project="vc", id="ada", name="Countess"))
    assert (renamed.name, renamed.mail_id) == ("countess", "@countess")
    assert renamed.warnings == [
        "1 open task is still assigned to ada. Assign to another member: maestro task edit … --member"
    ]
    event = (await world.log())[-1]
    assert event.data == {"name": "countess", "fields": ["name"], "was": "ada"}
    with pytest.raises(errors.NotFound):
        await world.do(members.show_member, OneMember(project="vc", id="ada"))


async def test_only_the_person_widens_rights_and_a_coordinator_only_adds_denials(world: World) -> None:
    await create(world, "ada", deny=["task.create"])
    with pytest.raises(errors.NotPermitted):
        await create(world, "bob", allow=["server.stop"], by=world.coordinator)
    await create(world, "carl", deny=["task.cancel"], by=world.coordinator)
    for change in ({"allow": ["server.stop"]}, {"deny": []}, {"deny": ["task.edit"]}):
        with pytest.raises(errors.NotPermitted):
            await world.do(members.edit_member, EditMember(project="vc", id="ada", **change), by=world.coordinator)
    request = EditMember(project="vc", id="ada", deny=["task.create", "task edit"])
    assert (await world.do(members.edit_member, request, by=world.coordinator)).deny == ["task.create", "task.edit"]
    assert (await world.do(members.edit_member, EditMember(project="vc", id="ada", deny=[]))).deny == []
    with pytest.raises(errors.Invalid, match=r"task\.cancel"):
        await world.do(members.edit_member, EditMember(project="vc", id="carl", allow=["task.cancel"]))


async def test_a_session_changes_members_of_its_own_project_only(world: World) -> None:
    theirs = await create(world, "ada", project="other")
    with pytest.raises(errors.NotPermitted):
        await create(world, "bob", project="other", by=world.coordinator)
    with pytest.raises(errors.NotPermitted):
        await world.do(members.edit_member, EditMember(id=theirs.id, role="x"), by=world.coordinator)
    with pytest.raises(errors.NotPermitted):
        await world.do(members.archive_member, OneMember(id=theirs.id), by=world.coordinator)
    assert (await world.do(members.show_member, OneMember(id=theirs.id), by=world.coordinator)).name == "ada"
    made = await create(world, "bob", project="", by=world.coordinator)
    assert made.project_id == world.coordinator.project_id


async def test_an_archived_member_stays_stored_and_its_name_becomes_free(world: World) -> None:
    first = await create(world, "ada")
    archived = await world.do(members.archive_member, OneMember(project="vc", id="ada"))
    assert archived.archived and archived.warnings == []
    assert (await world.log())[-1].data == {"name": "ada", "fields": ["archived"]}
    assert (await world.do(members.show_member, OneMember(id=first.id))).archived
    with pytest.raises(errors.NotFound):
        await world.do(members.show_member, OneMember(project="vc", id="ada"))
    for service, request in (
        (members.archive_member, OneMember(id=first.id)),
        (members.edit_member, EditMember(id=first.id, role="x")),
    ):
        with pytest.raises(errors.Conflict, match="is archived"):
            await world.do(service, request)
    second = await create(world, "ada")
    listed = (await world.do(members.list_members, ListMembers(project="vc"))).members
    assert [member.id for member in listed] == [second.id]
    everyone = (await world.do(members.list_members, ListMembers(project="vc", archived=True))).members
    assert {member.id for member in everyone} == {first.id, second.id}


async def test_the_teams_of_an_archived_leader_have_no_leader(world: World) -> None:
    await create(world, "ada")
    await create(world, "bob")
    team = await world.do(teams.create_team, CreateTeam(project="vc", name="backend", leader="ada", members=["bob"]))
    shown = await world.do(members.show_member, OneMember(project="vc", id="ada"))
    assert (shown.teams, shown.leads) == (["backend"], ["backend"])
    archived = await world.do(members.archive_member, OneMember(project="vc", id="ada"))
    assert archived.warnings == [
        "Team backend has no leader now. Name a leader: maestro team add backend --leader MEMBER"
    ]
    left = await world.do(teams.show_team, OneTeam(id=team.id))
    assert (left.leader, left.members) == (None, ["bob"])
    kinds = [(event.kind, event.data) for event in (await world.log())[-2:]]
    assert kinds[0] == ("team.changed", {"name": "backend", "leader": None})
    kept = await world.do(members.show_member, OneMember(id=archived.id))
    assert (kept.teams, kept.leads) == (["backend"], [])


async def test_members_are_listed_in_pages(world: World) -> None:
    for name in ("carl", "ada", "bob"):
        await create(world, name)
    first = await world.do(members.list_members, ListMembers(project="vc", limit=2))
    assert [member.name for member in first.members] == ["ada", "bob"] and first.cursor
    rest = await world.do(members.list_members, ListMembers(project="vc", limit=2, cursor=first.cursor))
    assert [member.name for member in rest.members] == ["carl"] and rest.cursor is None


async def test_the_archiving_of_a_member_warns_about_live_sessions_and_unread_mail(world: World) -> None:
    await create(world, "ada")
    await world.join("w", member="ada")
    for subject in ("first", "second"):
        await world.send(None, "@ada", subject=subject)
    archived = await world.do(members.archive_member, OneMember(project="vc", id="ada"))
    assert archived.warnings == [
        "1 live session still works as ada.",
        "2 messages in the mailbox of ada are unread.",
    ]


async def test_a_member_with_a_permission_above_the_grant_of_the_caller_is_refused(world: World) -> None:
    lead = await world.boss("lead")
    with pytest.raises(errors.NotPermitted, match="full"):
        await create(world, "ada", permission=Permission.FULL, by=lead)
    await create(world, "ada", permission=Permission.EDIT, by=lead)
    with pytest.raises(errors.NotPermitted, match="full"):
        await world.do(members.edit_member, EditMember(id="ada", permission="full"), by=lead)


async def test_the_identity_of_a_member_is_hidden_from_other_projects(world: World) -> None:
    made = await create(world, "ada", identity="You are Ada.", project="other")
    listed = await world.do(members.list_members, ListMembers(project="other"), by=world.coordinator)
    shown = await world.do(members.show_member, OneMember(id=made.id), by=world.coordinator)
    assert listed.members[0].identity == shown.identity == ""
    assert (await world.do(members.show_member, OneMember(id=made.id))).identity == "You are Ada."


async def test_a_shown_member_names_its_live_sessions(world: World) -> None:
    await create(world, "ada")
    worker, ended = await world.join("w", member="ada"), await world.join("ended", member="ada")
    await world.end(ended)
    shown = await world.do(members.show_member, OneMember(project="vc", id="ada"))
    assert [(session.id, session.name) for session in shown.sessions] == [(worker.name, "w")]
