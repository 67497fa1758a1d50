"""Tests of members and teams, the same on every surface."""

from __future__ import annotations

from typing import Any

import pytest

from maestro.core import errors
from maestro.operations import members, tasks, teams

Surface = Any


async def people(surface: Surface, *names: str) -> None:
    for name in names:
        await surface.call(members.CREATE, name=name, role=f"{name} role")


async def test_a_member_is_created_shown_edited_and_archived(surface: Surface) -> None:
    made = await surface.call(
        members.CREATE,
        name="Ada",
        role="Backend engineer",
        identity="# Ada\n\nYou write it down first.",
        avatar="🦉",
        model="opus",
        tool="claude",
        permission="edit",
        skills=["sql", "go"],
        allow=["task.cancel"],
        deny=["task create"],
    )
    assert (made["name"], made["mail_id"], made["tool"], made["permission"]) == ("ada", "@ada", "claude", "edit")
    assert (made["skills"], made["allow"], made["deny"]) == (["sql", "go"], ["task.cancel"], ["task.create"])
    for ref in ("ada", "@ada", made["id"]):
        shown = await surface.call(members.SHOW, id=ref)
        assert {name: shown[name] for name in made} == made
        assert shown["teams"] == shown["leads"] == shown["sessions"] == []
    edited = await surface.call(members.EDIT, id="ada", role="Architect", tool="", model="", permission="")
    assert (edited["role"], edited["tool"], edited["model"], edited["permission"]) == ("Architect", None, None, None)
    assert (edited["identity"], edited["skills"]) == (made["identity"], ["sql", "go"])
    assert (await surface.call(members.EDIT, id="@ada", tool="codex"))["tool"] == "codex"
    archived = await surface.call(members.ARCHIVE, id="ada")
    assert archived["archived"] and archived["warnings"] == []
    assert (await surface.call(members.LIST))["members"] == []
    (listed,) = (await surface.call(members.LIST, archived=True))["members"]
    assert listed["id"] == made["id"] == (await surface.call(members.SHOW, id=made["id"]))["id"]
    with pytest.raises(errors.NotFound):
        await surface.call(members.SHOW, id="ada")
    with pytest.raises(errors.Conflict):
        await surface.call(members.ARCHIVE, id=made["id"])


@pytest.mark.not_over("mcp", why="left to the command: members are made when things are set up")
async def test_a_taken_name_and_an_invalid_name_of_a_member_are_refused(surface: Surface) -> None:
    await people(surface, "ada")
    with pytest.raises(errors.NameTaken) as taken:
        await surface.call(members.CREATE, name="ADA", role="x")
    assert "maestro member edit ada" in taken.value.hint
    for name in ("human", "Coordinator", "mem_00000000000000000000000000", "-x", "a b", ""):
        with pytest.raises(errors.Invalid):
            await surface.call(members.CREATE, name=name, role="x")


@pytest.mark.not_over("mcp", why="left to the command: members are made when things are set up")
async def test_unknown_values_are_refused_with_the_nearest_known_values(surface: Surface) -> None:
    with pytest.raises(errors.Invalid) as refused:
        await surface.call(members.CREATE, name="ada", role="x", deny=["task.creat"])
    assert "task.create" in refused.value.data["nearest"]
    for field in ("tool", "permission"):
        with pytest.raises(errors.Invalid):
            await surface.call(members.CREATE, name="ada", role="x", **{field: "nonsense"})
    await people(surface, "ada")
    with pytest.raises(errors.Invalid):
        await surface.call(members.EDIT, id="ada", tool="nonsense")
    with pytest.raises(errors.Invalid):
        await surface.call(members.EDIT, id="ada")


async def test_sessions_see_members_and_only_coordinators_create_members(surface: Surface) -> None:
    await surface.join("w")
    await surface.join("c", mode="coordinate")
    await people(surface, "ada")
    await surface.call(members.CREATE, by="c", name="bob", role="x", deny=["task.cancel"])
    for by in ("w", "c"):
        assert [one["name"] for one in (await surface.call(members.LIST, by=by))["members"]] == ["ada", "bob"]
        assert (await surface.call(members.SHOW, by=by, id="ada"))["role"] == "ada role"
    for operation, fields in (
        (members.CREATE, {"name": "x", "role": "x"}),
        (members.EDIT, {"id": "ada", "role": "x"}),
        (members.ARCHIVE, {"id": "ada"}),
        (teams.CREATE, {"name": "x"}),
    ):
        with pytest.raises(errors.NotPermitted):
            await surface.call(operation, by="w", **fields)
    with pytest.raises(errors.NotPermitted):
        await surface.call(members.EDIT, by="c", id="ada", allow=["server.stop"])
    with pytest.raises(errors.NotPermitted):
        await surface.call(members.EDIT, by="c", id="bob", deny=["task.edit"])


async def test_a_session_can_read_but_not_change_members_of_another_project(surface: Surface) -> None:
    await surface.join("c", mode="coordinate")
    other = await surface.another_project()
    theirs = await surface.call(members.CREATE, project=other, name="eve", role="x")
    assert (await surface.call(members.SHOW, by="c", project=other, id="eve"))["id"] == theirs["id"]
    with pytest.raises(errors.NotFound):
        await surface.call(members.SHOW, by="c", id="eve")
    with pytest.raises(errors.NotPermitted):
        await surface.call(members.CREATE, by="c", project=other, name="x", role="x")
    with pytest.raises(errors.NotPermitted):
        await surface.call(members.EDIT, by="c", id=theirs["id"], role="x")


async def test_a_team_is_created_and_gains_and_loses_members_and_a_leader(surface: Surface) -> None:
    await people(surface, "ada", "bob", "carl")
    team = await surface.call(teams.CREATE, name="Backend", leader="ada", members=["bob"])
    assert (team["name"], team["leader"], team["members"]) == ("backend", "ada", ["ada", "bob"])
    with pytest.raises(errors.NameTaken):
        await surface.call(teams.CREATE, name="backend")
    grown = await surface.call(teams.ADD, id="backend", members=["@carl", "bob"])
    assert grown["members"] == ["ada", "bob", "carl"] and len(grown["warnings"]) == 1
    shown = await surface.call(teams.SHOW, id=team["id"])
    assert [(one["name"], one["role"]) for one in shown["roster"]] == [
        ("ada", "ada role"),
        ("bob", "bob role"),
        ("carl", "carl role"),
    ]
    shrunk = await surface.call(teams.REMOVE, id="backend", members=["ada", "bob"])
    assert (shrunk["members"], shrunk["leader"]) == (["carl"], None) and "no leader" in shrunk["warnings"][0]
    assert (await surface.call(teams.ADD, id="backend", leader="ada"))["leader"] == "ada"
    with pytest.raises(errors.NotFound):
        await surface.call(teams.REMOVE, id="backend", members=["bob"])
    with pytest.raises(errors.NotFound):
        await surface.call(teams.ADD, id="frontend", members=["bob"])
    assert [one["name"] for one in (await surface.call(teams.LIST))["teams"]] == ["backend"]


async def test_archiving_the_leader_of_a_team_warns_that_the_team_has_no_leader(surface: Surface) -> None:
    await people(surface, "ada", "bob")
    await surface.call(teams.CREATE, name="backend", leader="ada", members=["bob"])
    warnings = (await surface.call(members.ARCHIVE, id="ada"))["warnings"]
    assert len(warnings) == 1 and "backend has no leader" in warnings[0]
    team = await surface.call(teams.SHOW, id="backend")
    assert (team["leader"], team["members"]) == (None, ["bob"])


@pytest.mark.not_over("mcp", why="left to the command: few enough for one page")
async def test_the_next_page_of_a_list_starts_after_the_last_page(surface: Surface) -> None:
    await people(surface, "carl", "ada", "bob")
    first = await surface.call(members.LIST, limit=2)
    assert [one["name"] for one in first["members"]] == ["ada", "bob"]
    rest = await surface.call(members.LIST, limit=2, cursor=first["cursor"])
    assert [one["name"] for one in rest["members"]] == ["carl"] and rest["cursor"] is None


@pytest.mark.not_over("mcp", why="left to the command: members are made when things are set up")
async def test_a_repeated_creation_with_the_same_key_creates_one_member(surface: Surface) -> None:
    key = f"ada-of-{surface.project}"
    first = await surface.call(members.CREATE, key=key, name="ada", role="x")
    assert await surface.call(members.CREATE, key=key, name="ada", role="x") == first


async def test_the_allowed_and_denied_operations_of_a_member_apply_to_the_sessions(surface: Surface) -> None:
    await surface.call(members.CREATE, name="ada", role="x", allow=["task cancel"], deny=["task.create"])
    await surface.join("w", member="ada")
    await surface.call(tasks.CREATE, title="a")
    with pytest.raises(errors.NotPermitted):
        await surface.call(tasks.CREATE, by="w", title="b")
    await surface.call(tasks.START, by="w", id="#1")  # a worker still moves only tasks that it holds
    assert (await surface.call(tasks.CANCEL, by="w", id="#1"))["status"] == "cancelled"
    await surface.call(members.EDIT, id="ada", allow=["task delete"], deny=["task.edit"])
    assert (await surface.call(tasks.CREATE, by="w", title="b"))["title"] == "b"
    with pytest.raises(errors.NotPermitted):
        await surface.call(tasks.CANCEL, by="w", id="#2")
    (session,) = (await surface.call(members.SHOW, id="ada"))["sessions"]
    assert session["name"] == "w"
    assert "1 live session still works as ada." in (await surface.call(members.ARCHIVE, id="ada"))["warnings"]
