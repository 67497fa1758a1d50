"""Who is there: each checkout's agent, from the store and from what was heard of it lately."""

from __future__ import annotations

from datetime import timedelta

from maestro.core import limits
from maestro.domain.callers import Caller
from maestro.domain.presence import Agent, Work, presence
from maestro.domain.presence import Presence as Near
from maestro.domain.projects import Project, Workspace
from maestro.domain.sessions import Session
from maestro.operations import agents as ops
from maestro.services.scope import project_of
from maestro.services.sessions.presence import Presence
from maestro.store.base import Tx

_ORDER = {near: place for place, near in enumerate(Near)}


class Agents:
    """The agents of a project as anyone may see them."""

    def __init__(self, heard: Presence) -> None:
        self._heard = heard

    def list_page(self, tx: Tx, caller: Caller, request: ops.ListAgents) -> ops.AgentList:
        many = limits.page_items_max
        if request.everywhere:
            projects = tx.projects.page(after="", limit=many)
        else:
            projects = [project_of(tx, caller, request.project)]
        found = [agent for project in projects for agent in self._of_project(tx, project)]
        if request.online:
            found = [agent for agent in found if agent.presence is Near.ONLINE]
        found.sort(key=lambda agent: (_ORDER[agent.presence], agent.project, agent.address or "", agent.name or ""))
        return ops.AgentList(
            agents=found[: request.limit],
            online=sum(agent.presence is Near.ONLINE for agent in found),
            reached=bool(found) or not request.online,
            truncated=len(found) > request.limit,
        )

    def _of_project(self, tx: Tx, project: Project) -> list[Agent]:
        """Every live session, and the last one of each checkout where none is."""
        many = limits.page_items_max
        live = tx.sessions.page(project.id, after="", limit=many, active=True)
        manned = {session.workspace_id for session in live}
        empty = [one for one in tx.projects.workspaces(project.id, limit=many) if one.id not in manned]
        return [self._agent(tx, session, project) for session in live] + [
            self._last(tx, workspace, project) for workspace in empty
        ]

    def _agent(self, tx: Tx, session: Session, project: Project) -> Agent:
        stored = (tx.at - session.seen_at).total_seconds()
        heard = self._heard.silent_seconds(session.id)
        silent = max(0.0, stored if heard is None else min(stored, heard))
        has_ended = session.ended_at is not None
        return Agent(
            address=session.address,
            project=project.name,
            presence=presence(has_ended=has_ended, silent_seconds=silent, seconds_max=limits.session_lease_seconds),
            last_seen=tx.at - timedelta(seconds=silent),
            session_id=session.id,
            name=session.name,
            human=session.human,
            mode=session.mode,
            status=session.status,
            tool=session.tool,
            member=session.member,
            works_on=[
                Work(task.ref, task.title) for task in tx.tasks.of_holder(session.id, limit=limits.blockers_shown_max)
            ],
        )

    def _last(self, tx: Tx, workspace: Workspace, project: Project) -> Agent:
        session = tx.sessions.last_of_workspace(project.id, workspace.id)
        if session is not None:
            return self._agent(tx, session, project)
        return Agent(address=workspace.address, project=project.name, presence=Near.OFFLINE, last_seen=None)
