"""List the agents of projects: one for each live session, and one for each workspace without a live session."""

from __future__ import annotations

from datetime import timedelta
from typing import TypeVar

from maestro.core import limits
from maestro.domain.callers import Caller
from maestro.domain.presence import Agent, CurrentTask, Presence, judge_presence
from maestro.domain.projects import Project, Workspace
from maestro.domain.sessions import Session
from maestro.operations import agents as ops
from maestro.services.access.scope import find_project
from maestro.services.presence.tracker import PresenceTracker
from maestro.store.base import Tx

_Row = TypeVar("_Row")
_ORDER = {presence: position for position, presence in enumerate(Presence)}


class AgentViews:
    """The agents of one project or of all projects, as every caller may see them."""

    def __init__(self, signs_of_life: PresenceTracker) -> None:
        self._signs_of_life = signs_of_life

    def list_agents(self, tx: Tx, caller: Caller, request: ops.ListAgents) -> ops.AgentList:
        if request.everywhere:
            projects, is_cut = _cut_to_page(tx.projects.list_page(after="", limit=limits.page_items_max + 1))
        else:
            projects, is_cut = [find_project(tx, caller, request.project)], False
        agents: list[Agent] = []
        for project in projects:
            agents_of_project, is_project_cut = self._agents_of_project(tx, project)
            agents += agents_of_project
            is_cut |= is_project_cut
        if request.online:
            agents = [agent for agent in agents if agent.presence is Presence.ONLINE]
        agents.sort(key=lambda agent: (_ORDER[agent.presence], agent.project, agent.address or "", agent.name or ""))
        return ops.AgentList(
            agents=agents[: request.limit],
            online=sum(agent.presence is Presence.ONLINE for agent in agents),
            reached=bool(agents) or not request.online,
            truncated=is_cut or len(agents) > request.limit,
        )

    def _agents_of_project(self, tx: Tx, project: Project) -> tuple[list[Agent], bool]:
        """Return an agent for each live session, and the last agent of each workspace without a live session.

        Also return whether the project has more sessions or workspaces than a page.
        """
        limit = limits.page_items_max + 1
        live, are_sessions_cut = _cut_to_page(tx.sessions.list_page(project.id, after="", limit=limit, active=True))
        workspaces, are_workspaces_cut = _cut_to_page(tx.projects.workspaces_of(project.id, limit=limit))
        occupied = {session.workspace_id for session in live}
        vacant = [workspace for workspace in workspaces if workspace.id not in occupied]
        agents = [self._agent_of_session(tx, session, project) for session in live]
        agents += [self._last_agent(tx, workspace, project) for workspace in vacant]
        return agents, are_sessions_cut or are_workspaces_cut

    def _agent_of_session(self, tx: Tx, session: Session, project: Project) -> Agent:
        stored_seconds = (tx.at - session.seen_at).total_seconds()
        memory_seconds = self._signs_of_life.silent_seconds(session.id)
        silent_seconds = max(0.0, stored_seconds if memory_seconds is None else min(stored_seconds, memory_seconds))
        has_ended = session.ended_at is not None
        return Agent(
            address=session.address,
            project=project.name,
            presence=judge_presence(
                has_ended=has_ended, silent_seconds=silent_seconds, seconds_max=limits.presence_online_seconds_max
            ),
            last_seen=tx.at - timedelta(seconds=silent_seconds),
            session_id=session.id,
            name=session.name,
            human=session.human,
            mode=session.mode,
            status=session.status,
            tool=session.tool,
            member=session.member,
            works_on=[
                CurrentTask(task.ref, task.title)
                for task in tx.tasks.of_holder(session.id, limit=limits.agent_tasks_shown_max)
            ],
        )

    def _last_agent(self, tx: Tx, workspace: Workspace, project: Project) -> Agent:
        session = tx.sessions.last_of_workspace(project.id, workspace.id)
        if session is not None:
            return self._agent_of_session(tx, session, project)
        return Agent(address=workspace.address, project=project.name, presence=Presence.OFFLINE, last_seen=None)


def _cut_to_page(rows: list[_Row]) -> tuple[list[_Row], bool]:
    """Return the first page of the rows, and whether rows are left out."""
    return rows[: limits.page_items_max], len(rows) > limits.page_items_max
