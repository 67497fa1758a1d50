"""The list of agents shows address, presence, last sign of life and tasks of each agent."""

from __future__ import annotations

from tests.unit.surfaces.cli.render.conftest import AT, TTY, WHEN, rendered, text_of

from maestro.domain.presence import Agent, CurrentTask, Presence
from maestro.operations import agents

PRESENT = Agent(
    address="dave/vc",
    project="vc",
    presence=Presence.ONLINE,
    last_seen=AT,
    name="dave",
    works_on=[CurrentTask("vc#3", "Import"), CurrentTask("vc#4", "Export")],
)
NEVER_SEEN = Agent(address=None, project="vc", presence=Presence.OFFLINE, last_seen=None)


def test_the_list_of_agents_shows_presence_last_sign_of_life_and_tasks() -> None:
    present, never_seen = text_of(agents.AgentList(agents=[PRESENT, NEVER_SEEN], online=1)).splitlines()
    assert present.split()[:3] == ["dave/vc", "online", "dave"]
    assert f"seen {WHEN}" in present and present.endswith("vc#3 Import, vc#4 Export")
    assert never_seen.split() == ["vc", "offline", "never", "seen"]


def test_only_a_terminal_gets_the_heading_of_the_list_of_agents() -> None:
    found = agents.AgentList(agents=[PRESENT], online=1)
    assert text_of(found, TTY).startswith("AGENT ") and not text_of(found).startswith("AGENT")


def test_a_note_says_how_to_see_more_agents_of_a_shortened_list() -> None:
    found = agents.AgentList(agents=[PRESENT], online=1, truncated=True)
    assert rendered(found).notes == ["more agents exist: --limit N shows them"]
    assert rendered(agents.AgentList(agents=[PRESENT], online=1)).notes == []


def test_the_note_for_no_agents_depends_on_the_wish_for_online_agents_only() -> None:
    assert rendered(agents.AgentList(agents=[], online=0, reached=False)).notes == ["no agent is online"]
    assert rendered(agents.AgentList(agents=[], online=0)).notes == ["no agents yet"]
