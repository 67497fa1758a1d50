"""Register an agent that a person started by hand as a session, when its first MCP server or hook calls.

The MCP servers and hooks are processes below the agent, so all of them belong to the same session from then on.
"""

from __future__ import annotations

import contextlib
import re
from dataclasses import dataclass

from maestro.core import errors, limits
from maestro.domain.callers import Caller
from maestro.domain.identity import RESERVED_NAMES
from maestro.domain.sessions import SessionMode
from maestro.operations import projects, sessions
from maestro.operations.app import App, SocketPeer
from maestro.system import processes

_SHELLS = frozenset({"sh", "bash", "dash", "zsh", "fish", "ash", "ksh"})


@dataclass(frozen=True)
class UnregisteredAgent:
    """An unregistered agent: its process, its directory and its tool."""

    peer: SocketPeer | None  # the MCP server or hook that the agent started
    directory: str
    name: str
    tool: str | None
    mode: SessionMode = SessionMode.EXECUTE
    through_shell: bool = False  # programs start their hooks through a shell that leads its own process session


def default_name(tool: str | None, client: str = "") -> str:
    """Return the name of a session without a name of its own: its tool, else the name of its MCP client.

    `session.register` adds the first free number if a live session has the name.
    """
    if tool is not None:
        return tool
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", client)[: limits.name_chars_max - 8].strip("._-")
    return name if name and name not in RESERVED_NAMES else "assistant"


async def register_agent(app: App, person: Caller, agent: UnregisteredAgent) -> Caller:
    """Register the agent as a session and return its caller."""
    agent_pid = _find_agent_process(
        agent.peer.pid if agent.peer is not None else 0, through_shell=agent.through_shell
    )
    locate_request = projects.LocateProject(path=agent.directory or "/")
    location: projects.ProjectLocation = await app.call(projects.LOCATE, locate_request, caller=person)
    registration = sessions.RegisterSession(
        project=location.project.id,
        pid=agent_pid,
        tool=agent.tool,
        mode=agent.mode,
        path=agent.directory,
        name=agent.name,
        numbered=True,
    )
    with contextlib.suppress(errors.Conflict):  # another MCP server or hook of the same agent has registered it
        await app.call(sessions.REGISTER, registration, caller=person)
    return await app.identify(token="", peer=agent.peer)


def _find_agent_process(pid: int, *, through_shell: bool) -> int:
    """Return the process that started `pid`, above wrapper shells; refuse the person's own shell.

    If the person's shell became an agent, the person would be a session from then on.
    """
    process = processes.find_process(pid)
    agent = process.parent_pid if process is not None else 0
    while agent > 1 and processes.program_name(agent) in _SHELLS:
        if processes.is_session_leader(agent) and (processes.has_terminal(agent) or not through_shell):
            raise errors.NotPermitted(
                "A shell, not an agent, has started this program.",
                hint="Add `maestro mcp` to an agent's MCP servers, or set MAESTRO_TOKEN.",
            )
        process = processes.find_process(agent)
        agent = process.parent_pid if process is not None else 0
    if agent <= 1:
        raise errors.NotAuthenticated("The agent that started this program has ended.")
    return agent
