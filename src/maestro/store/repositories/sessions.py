"""The repository of sessions, and of the last signal of each source about a session's status."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

import msgspec

from maestro.core import limits
from maestro.core.clock import from_micros_or_none, to_micros, to_micros_or_none
from maestro.domain.callers import Caller, Role
from maestro.domain.members import Permission
from maestro.domain.sessions import Session, SessionMode, SessionStatus, StatusSignal, StatusSource, role_of
from maestro.store.decoding import Decoder
from maestro.store.rows import Rows

_encode = msgspec.json.Encoder().encode


class MailRoute(msgspec.Struct, frozen=True):
    """The facts about a session that decide where its mail goes."""

    id: str
    project_id: str
    name: str
    is_live: bool
    successor_id: str | None
    parent_id: str | None
    status: SessionStatus
    resumes: bool = False  # the session has ended and will be started again
    tool: str | None = None

    @property
    def takes_mail(self) -> bool:
        return self.is_live or self.resumes


class SessionName(NamedTuple):
    """The id and the name of a session."""

    id: str
    name: str


class _SessionProcess(NamedTuple):
    """A process of a session: its program or its runner."""

    session_id: str
    pid: int
    pid_started: str


def _caller_role(mode: str) -> Role:
    return role_of(SessionMode(mode))


def _caller_name(session_id: str) -> str:
    return session_id


_SESSION = Decoder(Session)
_CALLER = Decoder(Caller, role=_caller_role, name=_caller_name)
_ROUTE = Decoder(MailRoute)
_SIGNAL = Decoder(StatusSignal)
_NAME = Decoder(SessionName)
_PROCESS = Decoder(_SessionProcess)


class SessionRepository:
    """Sessions by id, token, process, parent and member."""

    def __init__(self, rows: Rows, *, uses_cache: bool = False) -> None:
        self._rows = rows
        # The writer needs the route of a session for each write of the session and for each message to it. The
        # cache is safe in the writer, because no other connection changes sessions.
        self._remembers = uses_cache
        self._live_routes: dict[str, MailRoute] = {}

    def clear_cache(self) -> None:
        """Clear the cache after a rollback: a cached route may never have been stored."""
        self._live_routes.clear()

    def insert(self, session: Session, *, token_hash: str, member_id: str | None) -> None:
        self._rows.execute(
            "session_insert",
            id=session.id,
            project_id=session.project_id,
            workspace_id=session.workspace_id,
            name=session.name,
            mode=session.mode.value,
            status=session.status.value,
            parent_id=session.parent_id,
            human=session.human,
            pid=session.pid,
            pid_started=session.pid_started,
            token_hash=token_hash,
            lease_until=to_micros(session.lease_until),
            created_at=to_micros(session.created_at),
            updated_at=to_micros(session.updated_at),
            member_id=member_id,
            tool=session.tool,
            task_ids=_encode(session.tasks).decode(),
            status_source=session.status_source.value,
            status_at=to_micros(session.status_at),
            seen_at=to_micros(session.seen_at),
            grant_level=session.grant.value,
        )

    def get(self, session_id: str) -> Session | None:
        return self._rows.fetch_first("session_get", _SESSION, id=session_id)

    def live_caller(self, session_id: str) -> Caller | None:
        """Return a live session as a caller."""
        return self._rows.fetch_first("session_caller", _CALLER, id=session_id)

    def ids_after(self, session_id: str, *, limit: int) -> list[str]:
        """Return the ids of the sessions after a session id, in order."""
        return self._rows.fetch_values("sessions_ids_after", after=session_id, limit=limit)

    def set_tokens(self, hashes: dict[str, str]) -> None:
        """Replace the tokens of sessions. `hashes` gives the hash of each token by session id."""
        self._rows.execute_many(
            "session_set_token", [{"id": key, "token_hash": value} for key, value in hashes.items()]
        )

    def caller_ever(self, session_id: str) -> Caller | None:
        """Return a session as a caller, also after its end."""
        return self._rows.fetch_first("session_caller_ever", _CALLER, id=session_id)

    def set_grant(self, session_id: str, grant: Permission) -> None:
        """Set a session's grant, also after its end."""
        self._rows.execute("session_set_grant", id=session_id, grant_level=grant.value)

    def rename(self, session_id: str, name: str, *, at: datetime) -> None:
        self._live_routes.pop(session_id, None)
        self._rows.execute("session_rename", id=session_id, name=name, at=to_micros(at))

    def caller_by_token(self, token_hash: str) -> Caller | None:
        return self._rows.fetch_first("session_caller_by_token", _CALLER, token_hash=token_hash)

    def by_name(self, project_id: str, name: str) -> Session | None:
        return self._rows.fetch_first("session_by_name", _SESSION, project_id=project_id, name=name)

    def ended_by_name(self, project_id: str, name: str) -> Session | None:
        return self._rows.fetch_first("session_ended_by_name", _SESSION, project_id=project_id, name=name)

    def sessions_by_process(self) -> dict[tuple[int, str], str]:
        """Return the session id of each recorded process (pid, start time); the last session of a process counts."""
        programs = self._rows.fetch_all("sessions_with_process", _PROCESS)
        runners = self._rows.fetch_all("sessions_with_runner", _PROCESS)
        return {(process.pid, process.pid_started): process.session_id for process in programs + runners}

    def live_processes(self) -> dict[str, tuple[int, str]]:
        """Return the process of each live session with a process, newest session first."""
        processes = self._rows.fetch_all("sessions_live_processes", _PROCESS, limit=limits.processes_watched_max)
        return {process.session_id: (process.pid, process.pid_started) for process in processes}

    def is_live(self, session_id: str) -> bool:
        route = self.mail_route(session_id)
        return route is not None and route.is_live

    def mail_route(self, session_id: str) -> MailRoute | None:
        if session_id in self._live_routes:
            return self._live_routes[session_id]
        route = self._rows.fetch_first("session_route", _ROUTE, id=session_id)
        if self._remembers and route is not None and route.is_live:
            if len(self._live_routes) >= limits.routes_remembered_max:
                self._live_routes.clear()
            self._live_routes[session_id] = route
        return route

    def list_page(
        self, project_id: str, *, after: str, limit: int, active: bool = False, status: SessionStatus | None = None
    ) -> list[Session]:
        values = {"project_id": project_id, "after": after, "limit": limit}
        if status is not None:
            return self._fetch_sessions("sessions_page_by_status", status=status.value, active=int(active), **values)
        return self._fetch_sessions("sessions_page_live" if active else "sessions_page", **values)

    def list_live(self, *, after: str, limit: int) -> list[Session]:
        """Return a page of the live sessions of all projects."""
        return self._fetch_sessions("sessions_live", after=after, limit=limit)

    def list_children(self, parent_id: str, *, after: str = "", limit: int, ever: bool = False) -> list[Session]:
        name = "sessions_children_ever" if ever else "sessions_children"
        return self._fetch_sessions(name, parent_id=parent_id, after=after, limit=limit)

    def last_of_workspace(self, project_id: str, workspace_id: str) -> Session | None:
        """Return the last session of a workspace."""
        values = {"project_id": project_id, "workspace_id": workspace_id}
        sessions = self._fetch_sessions("session_last_of_workspace", **values)
        return sessions[0] if sessions else None

    def count_registered(self, parent_id: str, *, limit: int) -> int:
        """Return the number of registered live sessions under a parent, at most `limit`."""
        return int(self._rows.fetch_value("sessions_count_registered", parent_id=parent_id, limit=limit))

    def count_live(self) -> int:
        return int(self._rows.fetch_value("sessions_count_live"))

    def list_live_anywhere(self, *, limit: int) -> list[Session]:
        """Return the live sessions of all projects, with the ended sessions that will be started again."""
        return self._fetch_sessions("sessions_live_anywhere", limit=limit)

    def ids_live(self, project_id: str, *, limit: int) -> list[SessionName]:
        return self._fetch_names("session_ids_live", project_id=project_id, limit=limit)

    def ids_below(self, session_id: str, *, limit: int) -> list[SessionName]:
        return self._fetch_names("session_ids_below", id=session_id, limit=limit)

    def ids_siblings(self, session_id: str, parent_id: str, *, limit: int) -> list[SessionName]:
        return self._fetch_names("session_ids_siblings", id=session_id, parent_id=parent_id, limit=limit)

    def ids_of_member(self, member_id: str, *, limit: int) -> list[SessionName]:
        return self._fetch_names("session_ids_of_member", member_id=member_id, limit=limit)

    def ids_of_teammates(self, member_id: str, *, limit: int) -> list[SessionName]:
        return self._fetch_names("session_ids_of_teammates", member_id=member_id, limit=limit)

    def list_lease_expired(self, at: datetime, *, limit: int) -> list[Session]:
        return self._fetch_sessions("sessions_due", at=to_micros(at), limit=limit)

    def next_lease_end(self) -> datetime | None:
        return from_micros_or_none(self._rows.fetch_value("session_next_lease"))

    def renew_leases(self, *session_ids: str, at: datetime) -> None:
        """Renew the leases of sessions after a sign of life."""
        self._rows.execute(
            "sessions_renew",
            ids=_encode(session_ids).decode(),
            lease=limits.session_lease_seconds * 1_000_000,
            lease_alone=limits.session_lease_without_process_seconds * 1_000_000,
            at=to_micros(at),
        )

    def lost_by_token(self, token_hash: str) -> Session | None:
        return self._rows.fetch_first("session_lost_by_token", _SESSION, token_hash=token_hash)

    def revive(self, session_id: str, *, name: str) -> bool:
        """Make a lost session live again; return whether the session was lost until now."""
        return self._rows.execute("session_revive", id=session_id, name=name) == 1

    def restart(self, session_id: str, *, name: str, lease_until: datetime, at: datetime) -> bool:
        """Make an ended session live again for a new start; return whether the session had ended."""
        values = {"id": session_id, "name": name, "lease_until": to_micros(lease_until), "at": to_micros(at)}
        return self._rows.execute("session_restart", **values) == 1

    def clear_signals(self, session_id: str) -> None:
        self._rows.execute("signals_clear", session_id=session_id)

    def shorten_lease(self, session_id: str, *, lease_until: datetime) -> None:
        self._rows.execute("session_shorten", id=session_id, lease_until=to_micros(lease_until))

    def defer_lease(self, session_id: str, *, lease_until: datetime) -> None:
        self._rows.execute("session_defer", id=session_id, lease_until=to_micros(lease_until))

    def set_status(self, session_id: str, signal: StatusSignal, *, at: datetime) -> None:
        self._live_routes.pop(session_id, None)
        self._rows.execute(
            "session_status",
            id=session_id,
            status=signal.status.value,
            source=signal.source.value,
            at=to_micros(signal.at),
            until=to_micros_or_none(signal.until),
            now=to_micros(at),
        )

    def next_status_expiry(self) -> datetime | None:
        return from_micros_or_none(self._rows.fetch_value("session_next_old_status"))

    def list_with_old_status(self, at: datetime, *, limit: int) -> list[Session]:
        return self._fetch_sessions("sessions_with_old_status", at=to_micros(at), limit=limit)

    def mark_ended(self, session_id: str, *, status: SessionStatus, source: StatusSource, at: datetime) -> bool:
        """End a session; return whether the session was live until now."""
        self._live_routes.pop(session_id, None)
        values = {"id": session_id, "status": status.value, "source": source.value, "at": to_micros(at)}
        return self._rows.execute("session_end", **values) == 1

    def set_parent(self, session_id: str, *, parent_id: str, at: datetime) -> None:
        self._live_routes.pop(session_id, None)
        self._rows.execute("session_adopt", id=session_id, parent_id=parent_id, at=to_micros(at))

    def set_successor(self, session_id: str, *, successor_id: str) -> None:
        self._live_routes.pop(session_id, None)
        self._rows.execute("session_succeed", id=session_id, successor_id=successor_id)

    def list_with_unsettled_mail(self, *, limit: int) -> list[Session]:
        return self._fetch_sessions("sessions_unsettled", limit=limit)

    def mark_mail_settled(self, session_id: str) -> None:
        self._rows.execute("session_settle", id=session_id)

    def put_signal(self, session_id: str, signal: StatusSignal) -> None:
        self._rows.execute(
            "signal_put",
            session_id=session_id,
            source=signal.source.value,
            status=signal.status.value,
            at=to_micros(signal.at),
            until=to_micros_or_none(signal.until),
            detail=signal.detail,
        )

    def signals_of(self, session_id: str) -> list[StatusSignal]:
        return self._rows.fetch_all("signals_of", _SIGNAL, session_id=session_id)

    def _fetch_sessions(self, name: str, **values: object) -> list[Session]:
        return self._rows.fetch_page(name, _SESSION, **values)

    def _fetch_names(self, name: str, **values: object) -> list[SessionName]:
        return self._rows.fetch_page(name, _NAME, **values)
