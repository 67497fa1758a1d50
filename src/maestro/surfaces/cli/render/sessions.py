"""Render sessions and callers as text."""

from __future__ import annotations

import shlex

from maestro.domain.sessions import FINAL, Contact, Session, Status
from maestro.operations.files import CheckedFile
from maestro.operations.primer import Primer
from maestro.operations.sessions import (
    Adopted,
    Beat,
    Explanation,
    GrantedSession,
    Identity,
    RegisteredSession,
    ReportedSession,
    SessionDetail,
    SessionList,
    WaitedSessions,
)
from maestro.surfaces.cli.render import usage
from maestro.surfaces.cli.render.base import Rendered, listed, more, pairs, when
from maestro.surfaces.cli.render.mail import coordinator_notes
from maestro.surfaces.cli.render.style import View, aligned, body, line, paint

_COLORS = {
    Status.WORKING: "blue",
    Status.NEEDS_INPUT: "yellow",
    Status.COMPLETED: "green",
    Status.FAILED: "red",
    Status.LOST: "red",
}


def session(value: Session, view: View) -> Rendered:
    return Rendered(f"{_session_summary(value)}\n")


def registered(value: RegisteredSession, view: View) -> Rendered:
    """Render lines for a shell: eval "$(maestro session register)"."""
    out = (
        f"export MAESTRO_SESSION_ID={shlex.quote(line(value.id))}\n"
        f"export MAESTRO_TOKEN={shlex.quote(line(value.token))}\n"
    )
    hint = 'set both in the agent\'s environment: eval "$(maestro session register …)"; the token is shown only once'
    unread = [f"{value.unread} unread: maestro mail inbox"] if value.unread else []
    plain = Rendered(out, [f"registered {line(value.name)}, {value.mode}", *unread])
    return Rendered(out, [*plain.notes, hint]) if view.tty else plain


def beat(value: Beat, view: View) -> Rendered:
    claims = "1 claim" if value.renewed == 1 else f"{value.renewed} claims"
    return Rendered(f"{_session_summary(value)}  {claims} renewed, alive until {when(value.lease_until)}\n")


def primer(value: Primer, view: View) -> Rendered:
    return Rendered(body(value.text))


def session_list(value: SessionList, view: View) -> Rendered:
    rows = [
        [
            session.id,
            line(session.name),
            session.mode,
            _status_text(session),
            _status_source(session),
            f"seen {when(session.seen_at)}",
            line(f"@{session.member}" if session.member else session.address or ""),
        ]
        for session in value.sessions
    ]
    head = ["SESSION", "NAME", "MODE", "STATUS", "SOURCE", "SEEN", "AGENT"]
    return Rendered(listed(rows, head, view), more(value.cursor) if rows else ["no sessions"])


def detail(value: SessionDetail, view: View) -> Rendered:
    work = enumerate(value.work)
    facts = pairs(
        [
            ("status", f"{_status_text(value)} {_status_source(value)}"),
            ("seen", when(value.seen_at)),
            ("ended", when(value.ended_at) if value.ended_at else None),
            ("agent", line(value.address or "")),
            ("member", line(f"@{value.member}" if value.member else "")),
            ("tool", line(value.tool or "")),
            ("grant", _grant_text(value)),
            ("human", line(value.human)),
            ("process", str(value.pid) if value.pid else None),
            ("coordinator", _contact_text(value.coordinator) if value.coordinator else None),
            ("siblings", ", ".join(map(_contact_text, value.siblings))),
            ("workers", ", ".join(map(_contact_text, value.workers))),
            ("holds", ", ".join(map(line, value.held))),
            *(("task" if at == 0 else "", line(f"{task.ref} {task.title} ({task.status})")) for at, task in work),
            ("unread", str(value.unread) if value.unread else None),
            ("used", usage.taken(value.usage)),
            ("waits until", when(value.parked_until) if value.parked_until else None),
            ("asks", "; ".join(f"{ask.id} {line(ask.title)}" for ask in value.asks)),
        ]
    )
    return Rendered(f"{_session_summary(value)}\n{facts}")


def explanation(value: Explanation, view: View) -> Rendered:
    lease = "has ended" if value.lease_is_over or value.session.ended_at else "is valid"
    process = {True: "is running", False: "has ended", None: None}[value.process_lives]
    facts = pairs(
        [
            ("lease", f"{lease} (until {when(value.session.lease_until)})"),
            ("seen lately", f"{'yes' if value.was_heard else 'no'}, last seen {when(value.session.seen_at)}"),
            ("process", f"{value.session.pid} {process}" if process else None),
            ("grant", _grant_text(value.session)),
        ]
    )
    signals = [
        [
            signal.source,
            status_word(signal.status),
            when(signal.at),
            f"valid until {when(signal.until)}" if signal.until else "valid until withdrawn",
            line(signal.detail),
        ]
        for signal in value.signals
    ]
    return Rendered(f"{_session_summary(value.session)}\n{facts}\n{aligned(signals)}\n{value.verdict}\n")


def waited(value: WaitedSessions, view: View) -> Rendered:
    return Rendered("".join(f"{_session_summary(session)}\n" for session in value.sessions))


def reported(value: ReportedSession, view: View) -> Rendered:
    moved = f"  {line(value.task.ref)} {value.task.status}" if value.task else ""
    return Rendered(f"{_session_summary(value)}{moved}\n")


def adopted(value: Adopted, view: View) -> Rendered:
    return Rendered(
        "".join(f"{_session_summary(session)}  adopted by {line(value.by)}\n" for session in value.sessions)
    )


def granted(value: GrantedSession, view: View) -> Rendered:
    return Rendered(f"{_session_summary(value)}  grant {_grant_text(value)}\n")


def checked_file(value: CheckedFile, view: View) -> Rendered:
    return Rendered(f"{value.access}  {line(value.path)}\n")


def status_word(status: Status) -> str:
    return paint(status, _COLORS.get(status, ""))


def _status_text(value: Session) -> str:
    """Return the status. A session with a final status may still run; the text says so."""
    if value.ended_at is not None or value.status not in FINAL:
        return status_word(value.status)
    status = "done" if value.status is Status.COMPLETED else value.status
    return paint(f"{status}, still running", _COLORS.get(value.status, ""))


def _contact_text(value: Contact) -> str:
    seen = "" if value.fresh else f", last seen {when(value.last_seen)}"
    return f"{line(value.name)} ({status_word(value.status)}{seen})"


def identity(value: Identity, view: View) -> Rendered:
    session = value.session
    return Rendered(
        pairs(
            [
                ("role", value.role),
                ("name", line(value.name)),
                ("human", line(value.human)),
                ("session", _session_summary(session) if session else None),
                ("project", line(value.project or "")),
                ("address", line(value.address or "")),
                ("holds", ", ".join(map(line, value.held))),
                ("coordinator", _contact_text(value.coordinator) if value.coordinator else None),
                ("unread", str(value.unread) if value.unread else None),
            ]
        ),
        coordinator_notes(value.coordinator),
    )


def _grant_text(value: Session) -> str:
    return f"{value.grant} (the highest level that it may give to sessions it starts)"


def _status_source(value: Session) -> str:
    """Return the source of the status, its time, and the time until which it is valid."""
    until = f" until {when(value.status_until)}" if value.status_until else ""
    return f"by {value.status_source} since {when(value.status_at)}{until}"


def _session_summary(value: Session) -> str:
    return f"{value.id}  {line(value.name)}  {value.mode}  {_status_text(value)}"
