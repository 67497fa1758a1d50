"""Who is calling: by token first, else by the process at the other end of the Unix socket.

A process that descends from a session's process or runner is that session, so an agent that lost its token does
not become the person; nor does one whose session has ended. A process that descends from the server or its supervisor
without a runner between (a gate, a set-up command, git, a tracker, and the orphans of these) is nobody. A chain of
parents that cannot be read is nobody.
"""

from __future__ import annotations

import os
from pathlib import Path

from maestro.core import errors
from maestro.domain.callers import Caller, nobody, person
from maestro.operations.app import Peer
from maestro.server.secrets import Secrets
from maestro.services.sessions.presence import Presence
from maestro.services.sessions.records import hash_token, revive
from maestro.store.base import Store, Tx
from maestro.supervisor import is_supervisor_name, process_name
from maestro.system import processes


class Identities:
    """Attests callers."""

    def __init__(self, store: Store, secrets: Secrets, presence: Presence, *, human: str, home: Path) -> None:
        self._store = store
        self._secrets = secrets
        self._presence = presence
        self._human = human
        self._supervisor = process_name(str(home))
        self._pid = os.getpid()
        self._above = _own_ancestors()
        self._unknown: dict[tuple[int, str], str] = {}
        self._processes: dict[tuple[int, str], str] | None = None
        self._sessions: dict[str, Caller] = {}  # by the hash of their token
        self._tokens: dict[str, str] = {}  # those hashes, by session
        self._changes = 0

    def forget(self, session_id: str | None = None) -> None:
        """What a session is has changed, or that of many: what is remembered may be old."""
        self._changes += 1
        if session_id is None:
            self._sessions.clear()
            self._tokens.clear()
        else:
            self._sessions.pop(self._tokens.pop(session_id, ""), None)

    def add_unknown_runners(self, runners: dict[tuple[int, str], str]) -> None:
        """Take note of live runners whose sessions are not in the store: what descends from them is nobody."""
        self._unknown = runners
        self.forget_processes()

    def forget_processes(self) -> None:
        """A session may have a process that it had not."""
        self._changes += 1
        self._processes = None

    async def identify(self, *, token: str, peer: Peer | None, again: bool = False) -> Caller:
        """A token is looked at first, and a wrong one is never made up for by anything else."""
        if token:
            caller = await self._by_token(token)
        elif peer is None or peer.uid != os.getuid():
            caller = nobody()
        else:
            caller = await self._by_process(peer.pid)
        if caller.session_id is not None:
            self._presence.heard(caller.session_id, again=again)  # whoever calls is alive
        return caller

    async def anew(self, caller: Caller) -> Caller:
        """The same caller as it is now."""
        return await self._by_session(caller.session_id) if caller.session_id is not None else caller

    async def _by_token(self, token: str) -> Caller:
        if self._secrets.is_person(token):
            return person(self._human)
        hashed = hash_token(token)
        known = self._sessions.get(hashed)
        if known is not None:
            return known
        changes = self._changes
        caller = await self._store.read(lambda tx: tx.sessions.caller_by_token(hashed), quick=True)
        if caller is None:
            lost = await self._store.read(lambda tx: tx.sessions.lost_by_token(hashed), quick=True)
            caller = await self._store.write(lambda tx: revive(tx, hashed)) if lost else None
        if caller is None:
            raise errors.NotAuthenticated(
                "This token is not valid: its session has ended, or it never was one.",
                hint="Unset MAESTRO_TOKEN, or register again: maestro session register",
            )
        if changes == self._changes:  # else a session ended while this was read
            self._sessions[hashed] = caller
            self._tokens[caller.name] = hashed
        return caller

    async def refuse_start_by_session(self) -> None:
        """Refuse to run as a descendant of a session: the server would have the environment of that session."""
        try:
            _, *above = processes.ancestry(os.getpid())
        except processes.ChainBroken:
            return  # a container may hide the parents; the client has looked at its environment
        if above and above[0].name == self._supervisor:
            above = above[1:]
        known = await self._registered()
        if any((one.pid, one.started) in known or one.name == self._supervisor for one in above):
            raise errors.NotPermitted(
                "A session's process has started this server.", hint="Run in your own terminal: maestro up"
            )

    async def _by_process(self, pid: int) -> Caller:
        try:
            chain = processes.ancestry(pid)
        except processes.ChainBroken:
            return nobody()
        known = await self._registered()
        for process in chain:
            session_id = known.get((process.pid, process.started))
            if session_id is not None:  # the nearest counts; one that has ended is nobody
                return await self._by_session(session_id)
            if process.pid == self._pid or self._is_foreign_supervisor(process):
                return nobody()
        return person(self._human)

    def _is_foreign_supervisor(self, process: processes.Process) -> bool:
        """Return whether a process is a supervisor under which this server does not run itself.

        An agent of another data directory is not the person here, unless that agent has started this server: then
        both run below the other supervisor.
        """
        if process.name == self._supervisor:
            return True
        return is_supervisor_name(process.name) and (process.pid, process.started) not in self._above

    async def _registered(self) -> dict[tuple[int, str], str]:
        """The processes that are sessions."""
        if self._processes is not None:
            return self._processes
        changes = self._changes
        known = await self._store.read(lambda tx: tx.sessions.with_process(), quick=True) | self._unknown
        if changes == self._changes:
            self._processes = known
        return known

    async def _by_session(self, session_id: str) -> Caller:
        return await self._store.read(lambda tx: _session(tx, session_id), quick=True)


def _session(tx: Tx, session_id: str) -> Caller:
    return tx.sessions.caller(session_id) or nobody()


def _own_ancestors() -> set[tuple[int, str]]:
    """Return the processes above this server."""
    try:
        return {(one.pid, one.started) for one in processes.ancestry(os.getpid())}
    except processes.ChainBroken:
        return set()
