"""An agent that a person started by hand, and that nobody knows yet: it becomes a session, by whatever way it came.

Its MCP servers and its hooks are processes below it, so all of them are this one session from then on.
"""

from __future__ import annotations

from dataclasses import dataclass

import msgspec

from maestro.core import errors
from maestro.domain.callers import Caller
from maestro.domain.sessions import Mode
from maestro.operations import projects, sessions
from maestro.operations.app import App, Peer
from maestro.system import processes

_NAME_TRIES = 5
_SHELLS = frozenset({"sh", "bash", "dash", "zsh", "fish", "ash", "ksh"})


@dataclass(frozen=True)
class Arrival:
    """Where an unknown agent comes from, and what it is."""

    peer: Peer | None  # the process that it started to speak to us
    directory: str
    name: str
    tool: str | None
    mode: Mode = Mode.EXECUTE
    through_shell: bool = False  # programs start their hooks through a shell that leads a session of its own


async def arrived(app: App, person: Caller, arrival: Arrival) -> Caller:
    """Register it; its caller from now on."""
    agent = _agent_above(arrival.peer.pid if arrival.peer is not None else 0, through_shell=arrival.through_shell)
    located = projects.LocateProject(path=arrival.directory or "/")
    place: projects.Place = await app.call(projects.LOCATE, located, caller=person)
    asked = sessions.RegisterSession(
        project=place.project.id,
        pid=agent,
        tool=arrival.tool,
        mode=arrival.mode,
        path=arrival.directory,
    )
    await _register(app, asked, person, arrival.name)
    return await app.identify(token="", peer=arrival.peer)


async def _register(app: App, asked: sessions.RegisterSession, person: Caller, name: str) -> None:
    """Under the first free name of its kind. That its process is a session by now is as good."""
    for number in range(1, _NAME_TRIES + 1):
        named = name if number == 1 else f"{name}-{number}"
        last = number == _NAME_TRIES
        request = msgspec.structs.replace(asked, name=None if last else named)
        try:
            await app.call(sessions.REGISTER, request, caller=person)
        except errors.NameTaken:
            continue
        except errors.Conflict:
            pass  # another MCP server or hook of the same agent was quicker
        return


def _agent_above(pid: int, *, through_shell: bool) -> int:
    """The process that started this one, past shells that were only its wrappers. The person's own shell is nobody's
    agent: were it one, the person would be a session from then on."""
    found = processes.look_up(pid)
    agent = found.parent if found is not None else 0
    while agent > 1 and processes.name_of(agent) in _SHELLS:
        if processes.leads_a_session(agent) and (processes.has_terminal(agent) or not through_shell):
            raise errors.NotPermitted(
                "This was started by a shell, not by an agent.",
                hint="Add `maestro mcp` to an agent's MCP servers, or set MAESTRO_TOKEN.",
            )
        found = processes.look_up(agent)
        agent = found.parent if found is not None else 0
    if agent <= 1:
        raise errors.NotAuthenticated("The agent behind this has gone.")
    return agent
