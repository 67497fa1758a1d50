"""Render agents as text: their presence, their sessions and the tasks that they work on."""

from __future__ import annotations

from maestro.domain.presence import Agent, Presence
from maestro.operations.agents import AgentList
from maestro.surfaces.cli.render.base import Rendered, format_time, render_table
from maestro.surfaces.cli.render.style import View, paint, safe_line

_COLORS = {Presence.ONLINE: "green", Presence.AWAY: "yellow", Presence.OFFLINE: "dim"}
_HEAD = ["AGENT", "IS", "SESSION", "STATUS", "SEEN", "WORKS ON"]


def render_agent_list(value: AgentList, view: View) -> Rendered:
    if not value.agents:
        return Rendered(notes=["no agent is online" if not value.reached else "no agents yet"])
    notes = ["more agents exist: --limit N shows them"] if value.truncated else []
    return Rendered(render_table([_agent_row(agent) for agent in value.agents], _HEAD, view), notes)


def _agent_row(agent: Agent) -> list[str]:
    return [
        safe_line(agent.address or agent.project),
        paint(agent.presence, _COLORS[agent.presence]),
        safe_line(agent.name or ""),
        agent.status or "",
        f"seen {format_time(agent.last_seen)}" if agent.last_seen else "never seen",
        ", ".join(f"{safe_line(work.ref)} {safe_line(work.title)}" for work in agent.works_on),
    ]
