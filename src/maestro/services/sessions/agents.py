"""List the agents of projects: each checkout's agent, by the store and by its recent signs of life."""

from __future__ import annotations

from datetime import timedelta

from maestro.core import limits
from maestro.domain.callers import Caller
from maestro.domain.presence import Agent, CurrentTask, judge_presence
from maestro.domain.presence import Presence as Near
from maestro.domain.projects import Project, Workspace
from maestro.domain.sessions import Session
from maestro.operations import agents as ops
from maestro.services.access.scope import find_project
from maestro.services.presence.tracker import PresenceTracker
from maestro.store.base import Tx

_ORDER = {near: position for position, near in enumerate(Near)}


class AgentViews:
    """The agents of a project, as every caller may see them."""

    def __init__(self, signs_of_life: PresenceTracker) -> None:
        self._signs_of_life = signs_of_life

    def list_page(self, tx: Tx, caller: Caller, request: ops.ListAgents) -> ops.AgentList:
        if request.everywhere:
            projects = tx.projects.list_page(after="", limit=limits.page_items_max)
        else:
            projects = [find_project(tx, caller, request.project)]
        agents = [agent for project in projects for agent in self._agents_of_project(tx, project)]
        if request.online:
            agents = [agent for agent in agents if agent.presence is Near.ONLINE]
        agents.sort(key=lambda agent: (_ORDER[agent.presence], agent.project, agent.address or "", agent.name or ""))
        return ops.AgentList(
            agents=agents[: request.limit],
            online=sum(agent.presence is Near.ONLINE for agent in agents),
            reached=bool(agents) or not request.online,
            truncated=len(agents) > request.limit,
        )

    def _agents_of_project(self, tx: Tx, project: Project) -> list[Agent]:
        """Return an agent for each live session, and the last agent of each checkout without a live session."""
        limit = limits.page_items_max
        live = tx.sessions.list_page(project.id, after="", limit=limit, active=True)
        occupied = {session.workspace_id for session in live}
        workspaces = tx.projects.workspaces_of(project.id, limit=limit)
        empty = [workspace for workspace in workspaces if workspace.id not in occupied]
        return [self._agent_of_session(tx, session, project) for session in live] + [
            self._last_agent(tx, workspace, project) for workspace in empty
        ]

    def _agent_of_session(self, tx: Tx, session: Session, project: Project) -> Agent:
        stored = (tx.at - session.seen_at).total_seconds()
        in_memory = self._signs_of_life.silent_seconds(session.id)
        silent = max(0.0, stored if in_memory is None else min(stored, in_memory))
        has_ended = session.ended_at is not None
        return Agent(
            address=session.address,
            project=project.name,
            presence=judge_presence(
                has_ended=has_ended, silent_seconds=silent, seconds_max=limits.session_lease_seconds
            ),
            last_seen=tx.at - timedelta(seconds=silent),
            session_id=session.id,
            name=session.name,
            human=session.human,
            mode=session.mode,
            status=session.status,
            tool=session.tool,
            member=session.member,
            works_on=[
                CurrentTask(task.ref, task.title)
                for task in tx.tasks.of_holder(session.id, limit=limits.blockers_shown_max)
            ],
        )

    def _last_agent(self, tx: Tx, workspace: Workspace, project: Project) -> Agent:
        session = tx.sessions.last_of_workspace(project.id, workspace.id)
        if session is not None:
            return self._agent_of_session(tx, session, project)
        return Agent(address=workspace.address, project=project.name, presence=Near.OFFLINE, last_seen=None)
