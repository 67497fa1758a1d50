"""Commands of members and teams pass on lists, files, empty texts and old names."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from maestro.domain.members import Team
from maestro.operations.members import MemberList
from maestro.operations.teams import TeamList
from maestro.testing.factories import make_member
from maestro.tools.registry import Tool

ADA = make_member(role="Engineer")
TEAM = Team(
    id="tea_1",
    project_id="prj_1",
    name="backend",
    leader=None,
    members=["ada", "bob"],
    created_by="dana",
    created_at=datetime(2026, 1, 1, tzinfo=UTC),
)


@pytest.fixture(autouse=True)
def answered(app: Any) -> None:
    for name in ("member.create", "member.edit"):
        app.answers[name] = ADA
    for name in ("team.create", "team.add", "team.remove"):
        app.answers[name] = TEAM
    app.answers["member.list"] = MemberList(members=[ADA])
    app.answers["team.list"] = TeamList(teams=[TEAM])


async def test_lists_are_repeated_or_separated_by_commas_and_old_names_are_accepted(cli: Any, app: Any) -> None:
    line = "member create ada --role Engineer --tool claude-code --permission readOnly --skill a,b --skill c"
    ended = await cli.run(f'{line} --deny "task create,task.edit"')
    assert ended.code == 0, ended.err
    request = app.last.request
    assert (request.tool, request.permission, request.skills) == (Tool.CLAUDE, "plan", ["a", "b", "c"])
    assert request.deny == ["task create", "task.edit"]


async def test_the_identity_of_a_member_is_read_from_a_file(cli: Any, app: Any) -> None:
    await cli.run("member create ada --role x --identity-file ada.md", files={"ada.md": b"You are Ada.\n"})
    assert app.last.request.identity == "You are Ada."


async def test_an_empty_text_removes_a_value_and_a_missing_flag_keeps_the_value(cli: Any, app: Any) -> None:
    await cli.run("member edit ada --tool '' --permission '' --model '' --skill '' --allow ''")
    request = app.last.request
    assert (request.tool, request.permission, request.model, request.skills, request.allow) == ("", "", "", [], [])
    assert request.role is request.identity is request.deny is request.name is None


async def test_missing_and_unknown_arguments_are_refused_with_the_usage_or_the_nearest_choice(cli: Any) -> None:
    ended = await cli.run("member create ada")
    assert ended.code == 2 and "--role ROLE is missing" in ended.err
    assert "usage: maestro member create NAME --role ROLE" in ended.err
    ended = await cli.run("member edit ada --tool claud")
    assert ended.code == 2 and "did you mean `claude`" in ended.err
    ended = await cli.run("team remove backend")
    assert ended.code == 2 and "MEMBERS is missing" in ended.err


async def test_the_members_of_a_team_are_given_as_arguments_or_as_flags(cli: Any, app: Any) -> None:
    await cli.run("team create backend --leader ada --member bob --member carl,dora")
    assert (app.last.request.leader, app.last.request.members) == ("ada", ["bob", "carl", "dora"])
    await cli.run("team add backend bob,carl dora")
    assert (app.last.request.id, app.last.request.members) == ("backend", ["bob", "carl", "dora"])
    await cli.run("team add backend --leader bob")
    assert (app.last.request.members, app.last.request.leader) == ([], "bob")


async def test_completion_offers_members_and_teams(cli: Any) -> None:
    ended = await cli.run(["__complete", "--", "member", "show", "a"])
    assert ended.out == "ada\tEngineer\n"
    ended = await cli.run(["__complete", "--", "team", "create", "backend", "--leader", ""])
    assert ended.out == "ada\tEngineer\n"
    ended = await cli.run(["__complete", "--", "team", "show", ""])
    assert ended.out == "backend\tada, bob\n"
