"""Tests of issues and presence, the same on every surface."""

from __future__ import annotations

from typing import Any

import pytest

from maestro.core import errors
from maestro.operations import agents, issues, mail, projects, tasks

Surface = Any


@pytest.fixture
async def other(surface: Surface) -> str:
    """Create a second project with a worker named keeper, and return the project's name."""
    name: str = await surface.another_project()
    await surface.join("finder")
    await surface.join("keeper", project=name)
    return name


async def test_an_issue_with_a_file_is_opened_claimed_discussed_closed_and_reopened(
    surface: Surface, other: str
) -> None:
    file = {"file_name": "repro.txt", "content": b"boom"}
    opened = await surface.call(
        issues.OPEN, by="finder", to=other, title="Crash", message="It crashes.", attach=[file], priority="high"
    )
    assert (opened["ref"], opened["status"], opened["from_project"]) == (f"{other}#1", "todo", surface.project)
    assert opened["from_project_id"] and opened["message"]["deliveries"][0]["status"] == "sent"
    mine = await surface.call(tasks.CREATE, by="finder", title="Wait", depends_on=[opened["ref"]])
    assert not mine["ready"]
    listed = await surface.call(issues.LIST, by="keeper", project=other)
    assert [one["title"] for one in listed["issues"]] == ["Crash"]
    shown = await surface.come_out(issues.SHOW, by="keeper", id=opened["id"])
    (comment,) = shown["comments"]
    (attached,) = comment["attachments"]
    assert comment["body"] == "It crashes." and attached["file_name"] == "repro.txt"
    status = await surface.call(mail.STATUS, by="finder", id=comment["id"])
    assert [one["status"] for one in status["deliveries"]] == ["read"]
    await surface.call(issues.CLAIM, by="keeper", id=opened["id"])
    asked = await surface.call(issues.REPLY, by="keeper", id=opened["id"], message="Which?", type="query")
    assert asked["issue"] == opened["ref"]
    await surface.call(mail.REPLY, by="finder", id=asked["id"], message="1.3")
    done = await surface.call(issues.CLOSE, by="keeper", id=opened["id"], message="Fixed.")
    assert (done["status"], done["unblocked"]) == ("completed", [mine["ref"]])
    inbox = await surface.call(mail.INBOX, by="finder", peek=True)
    assert [one["body"] for one in inbox["messages"]][-1] == "Fixed."
    again = await surface.call(issues.REOPEN, id=opened["id"])
    assert again["status"] == "todo"


async def test_wrong_targets_wrong_callers_and_a_closed_project_are_refused(surface: Surface, other: str) -> None:
    letter = {"title": "t", "message": "m"}
    with pytest.raises(errors.NotFound):
        await surface.call(issues.OPEN, by="finder", to="nowhere", **letter)
    with pytest.raises(errors.Invalid):
        await surface.call(issues.OPEN, by="finder", to=surface.project, **letter)
    opened = await surface.call(issues.OPEN, by="finder", to=other, **letter)
    for operation in (issues.CLAIM, issues.CLOSE, issues.REOPEN):
        with pytest.raises(errors.NotPermitted):
            await surface.call(operation, by="finder", id=opened["id"])
    task = await surface.call(tasks.CREATE, title="Of its own project")
    with pytest.raises(errors.NotFound):
        await surface.call(issues.SHOW, id=task["id"])
    with pytest.raises(errors.Conflict):
        await surface.call(issues.CLOSE, by="keeper", id=opened["id"])  # the issue is not claimed
    await surface.call(projects.EDIT, project=other, inbound="closed")
    with pytest.raises(errors.NotPermitted) as refused:
        await surface.call(issues.OPEN, by="finder", to=other, **letter)
    assert refused.value.data["inbound"] == "closed"


@pytest.mark.not_over("mcp", why="left to the command: an exit code")
async def test_the_online_agents_of_another_project_are_listed(surface: Surface, other: str) -> None:
    found = await surface.call(agents.LIST, by="finder", project=other, online=True)
    assert [(one["name"], one["presence"]) for one in found["agents"]] == [("keeper", "online")]
    assert found["reached"] and found["online"] == 1
