"""Provide an agent of each of the two projects of an issue."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.services.conftest import OTHER, World

from maestro.domain.callers import Caller
from maestro.domain.projects import Project
from maestro.operations import issues as ops
from maestro.operations import mail_shapes
from maestro.operations import projects as project_ops
from maestro.services.issues import moves as issue_moves
from maestro.services.issues.operations import IssueOperations
from maestro.services.issues.views import IssueViews
from maestro.services.projects import registry as projects
from maestro.store.base import Tx


class Parties:
    """An agent of project vc that opens issues, and an agent of project other that gets the issues."""

    def __init__(self, world: World, finder: Caller, keeper: Caller) -> None:
        self.world, self.finder, self.keeper = world, finder, keeper
        self.operations = IssueOperations(world.guard)

    async def open_issue(self, by: Caller | None = None, **fields: Any) -> ops.OpenedIssue:
        values: dict[str, Any] = {"to": "other", "title": "Crash", "message": "It crashes."} | fields
        self.world.clock.advance(0.01)  # a later time gives each issue a later id
        made: ops.OpenedIssue = await self.world.do(
            self.operations.open_issue, ops.OpenIssue(**values), by=by or self.finder
        )
        return made

    async def reply_to_issue(self, by: Caller | None, issue: Any, text: str, **fields: Any) -> mail_shapes.SentMail:
        request = ops.ReplyIssue(id=issue.id, message=text, **fields)
        sent: mail_shapes.SentMail = await self.world.do(self.operations.reply_to_issue, request, by=by)
        return sent

    async def claim_issue(self, by: Caller | None, issue: Any) -> Any:
        return await self.world.do(issue_moves.claim_issue, ops.ClaimIssue(id=issue.id), by=by)

    async def close_issue(self, by: Caller | None, issue: Any, **fields: Any) -> Any:
        return await self.world.do(issue_moves.close_issue, ops.CloseIssue(id=issue.id, **fields), by=by)

    async def show_issue(self, by: Caller | None, issue: Any) -> ops.IssueDetail:
        shown: ops.IssueDetail = await self.world.do(
            IssueViews(self.world.reading).show_issue, ops.OneIssue(id=issue.id), by=by
        )
        return shown

    async def reopen_issue(self, by: Caller | None, issue: Any, **fields: Any) -> Any:
        return await self.world.do(issue_moves.reopen_issue, ops.ReopenIssue(id=issue.id, **fields), by=by)

    async def event_kinds(self, project: Project) -> list[str]:
        """Return the kinds of the issue events of a project in the order of the log."""
        return [
            event.kind for event in await self.world.log() if event.project == project.id and "issue" in event.kind
        ]


@pytest.fixture
async def parties(world: World) -> Parties:
    return Parties(world, await world.join("finder"), await world.join("keeper", project=OTHER.id))


def add_third_project(tx: Tx) -> str:
    """Insert a project that is not a party of the issues, and return the id of the project."""
    project = Project("prj_00000000000000000000000002", "example.org/third", "third", [], tx.at)
    tx.projects.insert(project)
    return project.id


async def edit_other(world: World, **fields: Any) -> None:
    """Change settings of project other, which receives the issues."""
    await world.do(projects.edit_project, project_ops.EditProject(project="other", **fields))
