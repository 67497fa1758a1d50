"""Identify callers: by token, or without a token by the process at the other end of the Unix socket.

A process below a session's process or runner is the session: an agent without its token does not become the person,
also after the session's end. A process below the server or its supervisor without a runner between (a gate, a set-up
command, git, a tracker, and their orphans) is nobody. So is a process whose chain of parents cannot be read.
"""

from __future__ import annotations

import os
from pathlib import Path

from maestro.core import errors
from maestro.domain.callers import Caller, person_caller, unidentified_caller
from maestro.operations.app import SocketPeer
from maestro.server.secrets import Secrets
from maestro.services.presence.tracker import PresenceTracker
from maestro.services.sessions.lifecycle import hash_token, replace_tokens, revive_session
from maestro.store.base import Store, Tx
from maestro.supervisor import is_supervisor_name, supervisor_process_name
from maestro.system import processes


class Identities:
    """The callers behind tokens and processes, read from the store and cached until an event changes a session."""

    def __init__(self, store: Store, secrets: Secrets, presence: PresenceTracker, *, human: str, home: Path) -> None:
        self._store = store
        self._secrets = secrets
        self._presence = presence
        self._human = human
        self._supervisor = supervisor_process_name(str(home))
        self._pid = os.getpid()
        self._own_processes = _own_ancestors()
        self._unknown_runners: dict[tuple[int, str], str] = {}
        self._sessions_by_process: dict[tuple[int, str], str] | None = None
        self._callers_by_token: dict[str, Caller] = {}  # keyed by the hash of the session's token
        self._token_hashes: dict[str, str] = {}  # token hash by session id
        self._changes = 0

    def forget_callers(self, session_id: str | None = None) -> None:
        """Forget the cached caller of a session, or of all sessions, because an event changed the session."""
        self._changes += 1
        if session_id is None:
            self._callers_by_token.clear()
            self._token_hashes.clear()
        else:
            self._callers_by_token.pop(self._token_hashes.pop(session_id, ""), None)

    def add_unknown_runners(self, runners: dict[tuple[int, str], str]) -> None:
        """Record live runners whose sessions are not in the store: every process below them is nobody."""
        self._unknown_runners = runners
        self.forget_processes()

    def forget_processes(self) -> None:
        """Forget the cached processes of sessions: a session may have a new process."""
        self._changes += 1
        self._sessions_by_process = None

    async def identify(self, *, token: str, peer: SocketPeer | None, again: bool = False) -> Caller:
        """Return who is calling. A token is checked first; a wrong token is refused, whatever the process is."""
        if token:
            caller = await self._find_by_token(token)
        elif peer is None or peer.uid != os.getuid():
            caller = unidentified_caller()
        else:
            caller = await self._find_by_process(peer.pid)
        if caller.session_id is not None:
            self._presence.record_sign(caller.session_id, is_repeated=again)  # a call is a sign of life
        return caller

    async def refresh_caller(self, caller: Caller) -> Caller:
        """Return the same caller with its present rights."""
        return await self._find_by_session(caller.session_id) if caller.session_id is not None else caller

    async def _find_by_token(self, token: str) -> Caller:
        if self._secrets.is_person_token(token):
            return person_caller(self._human)
        hashed = hash_token(token)
        cached = self._callers_by_token.get(hashed)
        if cached is not None:
            return cached
        changes = self._changes
        caller = await self._store.read(lambda tx: tx.sessions.caller_by_token(hashed), quick=True)
        if caller is None:
            is_lost = await self._store.read(lambda tx: tx.sessions.lost_by_token(hashed), quick=True)
            caller = await self._store.write(lambda tx: revive_session(tx, hashed)) if is_lost else None
        if caller is None:
            raise errors.NotAuthenticated(
                "The token is not valid: its session has ended, or Maestro did not issue the token.",
                hint="Unset MAESTRO_TOKEN, or register again: maestro session register",
            )
        if changes == self._changes:  # otherwise a session ended during the read
            self._callers_by_token[hashed] = caller
            self._token_hashes[caller.name] = hashed
        return caller

    async def refuse_start_by_session(self) -> None:
        """Refuse to run as a descendant of a session: the server would have the session's environment."""
        try:
            _, *ancestors = processes.ancestors_of(os.getpid())
        except processes.AncestryUnreadable:
            return  # a container may hide the parents; the client has checked its environment
        if ancestors and ancestors[0].name == self._supervisor:
            ancestors = ancestors[1:]
        sessions = await self._session_processes()
        if any(
            (process.pid, process.started) in sessions or process.name == self._supervisor for process in ancestors
        ):
            raise errors.NotPermitted(
                "A process of a session has started this server. Only the person may start a server.",
                hint="Run in your own terminal: maestro up",
            )

    async def _find_by_process(self, pid: int) -> Caller:
        try:
            chain = processes.ancestors_of(pid)
        except processes.AncestryUnreadable:
            return unidentified_caller()
        sessions = await self._session_processes()
        for process in chain:
            session_id = sessions.get((process.pid, process.started))
            if session_id is not None:  # the nearest session counts; a session that has ended is nobody
                return await self._find_by_session(session_id)
            if process.pid == self._pid or self._is_foreign_supervisor(process):
                return unidentified_caller()
        return person_caller(self._human)

    def _is_foreign_supervisor(self, process: processes.Process) -> bool:
        """Return whether callers below a process are nobody because the process is a supervisor.

        An agent of another data directory is not the person here, unless the agent has started this server: in that
        case both run below the other supervisor.
        """
        if process.name == self._supervisor:
            return True
        return is_supervisor_name(process.name) and (process.pid, process.started) not in self._own_processes

    async def _session_processes(self) -> dict[tuple[int, str], str]:
        """Return the session id of each process (pid and start time) that is a session's process or runner."""
        if self._sessions_by_process is not None:
            return self._sessions_by_process
        changes = self._changes
        sessions = (
            await self._store.read(lambda tx: tx.sessions.sessions_by_process(), quick=True) | self._unknown_runners
        )
        if changes == self._changes:
            self._sessions_by_process = sessions
        return sessions

    async def _find_by_session(self, session_id: str) -> Caller:
        return await self._store.read(lambda tx: _session_caller(tx, session_id), quick=True)


async def replace_exposed_tokens(store: Store, secrets: Secrets) -> None:
    """Replace the tokens of all sessions if other users could have read the secret behind the tokens."""
    if secrets.were_exposed:
        await store.write(lambda tx: replace_tokens(tx, secrets.session_token))
        secrets.forget_exposure()


def _session_caller(tx: Tx, session_id: str) -> Caller:
    return tx.sessions.live_caller(session_id) or unidentified_caller()


def _own_ancestors() -> set[tuple[int, str]]:
    """Return this server's process and the processes above it, as pid and start time."""
    try:
        return {(process.pid, process.started) for process in processes.ancestors_of(os.getpid())}
    except processes.AncestryUnreadable:
        return set()
