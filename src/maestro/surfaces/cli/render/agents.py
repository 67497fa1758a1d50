"""Agents as text: who is there, since when not, and what each works on."""

from __future__ import annotations

from maestro.domain.presence import Agent, Presence
from maestro.operations.agents import AgentList
from maestro.surfaces.cli.render.base import Rendered, listed, when
from maestro.surfaces.cli.render.style import View, line, paint

_COLORS = {Presence.ONLINE: "green", Presence.AWAY: "yellow", Presence.OFFLINE: "dim"}
_HEAD = ["AGENT", "IS", "SESSION", "STATUS", "SEEN", "WORKS ON"]


def agent_list(value: AgentList, view: View) -> Rendered:
    if not value.agents:
        return Rendered(notes=["nobody is online" if not value.reached else "no agents yet"])
    notes = ["there are more: --limit N"] if value.truncated else []
    return Rendered(listed([_row(one) for one in value.agents], _HEAD, view), notes)


def _row(one: Agent) -> list[str]:
    return [
        line(one.address or one.project),
        paint(one.presence, _COLORS[one.presence]),
        line(one.name or ""),
        one.status or "",
        f"seen {when(one.last_seen)}" if one.last_seen else "never seen",
        ", ".join(f"{line(work.ref)} {line(work.title)}" for work in one.works_on),
    ]
