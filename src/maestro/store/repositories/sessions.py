"""The repository of sessions, and of the last signal of each source about a session's status."""

from __future__ import annotations

from datetime import datetime

import msgspec

from maestro.core import limits
from maestro.core.clock import from_micros, from_micros_or_none, to_micros, to_micros_or_none
from maestro.domain.callers import Caller
from maestro.domain.members import Permission
from maestro.domain.sessions import Session, SessionMode, SessionStatus, StatusSignal, StatusSource, role_of
from maestro.store.rows import Row, Rows

_encode = msgspec.json.Encoder().encode
_decode_texts = msgspec.json.Decoder(list[str]).decode


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
        return _decode_optional_session(self._rows.fetch_first("session_get", id=session_id))

    def live_caller(self, session_id: str) -> Caller | None:
        """Return a live session as a caller."""
        return _decode_caller(self._rows.fetch_first("session_caller", id=session_id))

    def ids_after(self, session_id: str, *, limit: int) -> list[str]:
        """Return the ids of the sessions after a session id, in order."""
        return [row[0] for row in self._rows.fetch_page("sessions_ids_after", after=session_id, limit=limit)]

    def set_tokens(self, hashes: dict[str, str]) -> None:
        """Replace the tokens of sessions. `hashes` gives the hash of each token by session id."""
        self._rows.execute_many(
            "session_set_token", [{"id": key, "token_hash": value} for key, value in hashes.items()]
        )

    def caller_ever(self, session_id: str) -> Caller | None:
        """Return a session as a caller, also after its end."""
        return _decode_caller(self._rows.fetch_first("session_caller_ever", id=session_id))

    def set_grant(self, session_id: str, grant: Permission) -> None:
        """Set a session's grant, also after its end."""
        self._rows.execute("session_set_grant", id=session_id, grant_level=grant.value)

    def caller_by_token(self, token_hash: str) -> Caller | None:
        return _decode_caller(self._rows.fetch_first("session_caller_by_token", token_hash=token_hash))

    def by_name(self, project_id: str, name: str) -> Session | None:
        return _decode_optional_session(self._rows.fetch_first("session_by_name", project_id=project_id, name=name))

    def ended_by_name(self, project_id: str, name: str) -> Session | None:
        return _decode_optional_session(
            self._rows.fetch_first("session_ended_by_name", project_id=project_id, name=name)
        )

    def sessions_by_process(self) -> dict[tuple[int, str], str]:
        """Return the session id of each recorded process (pid, start time); the last session of a process counts."""
        rows = self._rows.fetch_all("sessions_with_process") + self._rows.fetch_all("sessions_with_runner")
        return {(row[1], row[2]): row[0] for row in rows}

    def live_processes(self) -> dict[str, tuple[int, str]]:
        """Return the process of each live session with a process, newest session first."""
        rows = self._rows.fetch_all("sessions_live_processes", limit=limits.processes_watched_max)
        return {row[0]: (row[1], row[2]) for row in rows}

    def is_live(self, session_id: str) -> bool:
        route = self.mail_route(session_id)
        return route is not None and route.is_live

    def mail_route(self, session_id: str) -> MailRoute | None:
        if session_id in self._live_routes:
            return self._live_routes[session_id]
        row = self._rows.fetch_first("session_route", id=session_id)
        if row is None:
            return None
        route = MailRoute(
            row[0], row[1], row[2], row[3] is None, row[4], row[5], SessionStatus(row[6]), bool(row[7]), row[8]
        )
        if self._remembers and route.is_live:
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
        row = self._rows.fetch_first("sessions_count_registered", parent_id=parent_id, limit=limit)
        return int(row[0]) if row else 0

    def count_live(self) -> int:
        row = self._rows.fetch_first("sessions_count_live")
        return int(row[0]) if row else 0

    def list_live_anywhere(self, *, limit: int) -> list[Session]:
        """Return the live sessions of all projects, with the ended sessions that will be started again."""
        return self._fetch_sessions("sessions_live_anywhere", limit=limit)

    def ids_live(self, project_id: str, *, limit: int) -> list[tuple[str, str]]:
        return self._fetch_ids("session_ids_live", project_id=project_id, limit=limit)

    def ids_below(self, session_id: str, *, limit: int) -> list[tuple[str, str]]:
        return self._fetch_ids("session_ids_below", id=session_id, limit=limit)

    def ids_siblings(self, session_id: str, parent_id: str, *, limit: int) -> list[tuple[str, str]]:
        return self._fetch_ids("session_ids_siblings", id=session_id, parent_id=parent_id, limit=limit)

    def ids_of_member(self, member_id: str, *, limit: int) -> list[tuple[str, str]]:
        return self._fetch_ids("session_ids_of_member", member_id=member_id, limit=limit)

    def ids_of_teammates(self, member_id: str, *, limit: int) -> list[tuple[str, str]]:
        return self._fetch_ids("session_ids_of_teammates", member_id=member_id, limit=limit)

    def list_lease_expired(self, at: datetime, *, limit: int) -> list[Session]:
        return self._fetch_sessions("sessions_due", at=to_micros(at), limit=limit)

    def next_lease_end(self) -> datetime | None:
        row = self._rows.fetch_first("session_next_lease")
        return from_micros(row[0]) if row and row[0] is not None else None

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
        return _decode_optional_session(self._rows.fetch_first("session_lost_by_token", token_hash=token_hash))

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
        row = self._rows.fetch_first("session_next_old_status")
        return from_micros_or_none(row[0]) if row else None

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
        rows = self._rows.fetch_all("signals_of", session_id=session_id)
        return [
            StatusSignal(
                StatusSource(row[0]), SessionStatus(row[1]), from_micros(row[2]), from_micros_or_none(row[3]), row[4]
            )
            for row in rows
        ]

    def _fetch_sessions(self, name: str, **values: object) -> list[Session]:
        return [_decode_session(row) for row in self._rows.fetch_page(name, **values)]

    def _fetch_ids(self, name: str, **values: object) -> list[tuple[str, str]]:
        """Return the ids and names of sessions."""
        return [(row[0], row[1]) for row in self._rows.fetch_page(name, **values)]


def _decode_optional_session(row: Row | None) -> Session | None:
    return _decode_session(row) if row is not None else None


def _decode_session(row: Row) -> Session:
    return Session(
        id=row[0],
        project_id=row[1],
        workspace_id=row[2],
        address=f"{row[3]}/{row[4]}" if row[3] else None,
        name=row[5],
        mode=SessionMode(row[6]),
        status=SessionStatus(row[7]),
        parent_id=row[8],
        human=row[9],
        pid=row[10],
        pid_started=row[11],
        lease_until=from_micros(row[12]),
        created_at=from_micros(row[13]),
        updated_at=from_micros(row[14]),
        ended_at=from_micros_or_none(row[15]),
        member=row[16],
        tool=row[17],
        tasks=_decode_texts(row[18]),
        status_source=StatusSource(row[19]),
        status_at=from_micros(row[20]),
        status_until=from_micros_or_none(row[21]),
        seen_at=from_micros(row[22]),
        successor_id=row[23],
        grant=Permission(row[24]),
    )


def _decode_caller(row: Row | None) -> Caller | None:
    if row is None:
        return None
    session, (member_id, allow, deny) = _decode_session(row), row[25:28]
    return Caller(
        role_of(session.mode),
        session.id,
        session_id=session.id,
        project_id=session.project_id,
        human=session.human,
        title=session.name,
        address=session.address,
        parent_id=session.parent_id,
        member_id=member_id,
        workspace_id=session.workspace_id,
        allow=frozenset(_decode_texts(allow)) if allow else frozenset(),
        deny=frozenset(_decode_texts(deny)) if deny else frozenset(),
        grant=session.grant,
    )
