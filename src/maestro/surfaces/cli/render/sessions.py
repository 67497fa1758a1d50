"""Render sessions and callers as text."""

from __future__ import annotations

import shlex
from datetime import UTC, datetime

from maestro.domain.sessions import ENDED_STATUSES, Contact, Session, SessionStatus
from maestro.operations.files import CheckedFile
from maestro.operations.primer import Primer
from maestro.operations.session_settings import GrantedSession
from maestro.operations.sessions import (
    AdoptedSessions,
    CallerIdentity,
    HeartbeatAnswer,
    ListedSession,
    RegisteredSession,
    ReportedSession,
    SessionDetail,
    SessionExplanation,
    SessionList,
    WaitedSessions,
)
from maestro.surfaces.cli.render import usage
from maestro.surfaces.cli.render.base import (
    Rendered,
    format_age,
    format_time,
    next_page_note,
    render_pairs,
    render_table,
)
from maestro.surfaces.cli.render.mail import coordinator_notes
from maestro.surfaces.cli.render.style import View, align_rows, clip_text, paint, safe_body, safe_line

_COLORS = {
    SessionStatus.WORKING: "blue",
    SessionStatus.NEEDS_INPUT: "yellow",
    SessionStatus.COMPLETED: "green",
    SessionStatus.FAILED: "red",
    SessionStatus.LOST: "red",
}


def render_session(value: Session, view: View) -> Rendered:
    return Rendered(f"{_session_summary(value)}\n")


def render_registered_session(value: RegisteredSession, view: View) -> Rendered:
    """Render lines for a shell: eval "$(maestro session register)"."""
    out = (
        f"export MAESTRO_SESSION_ID={shlex.quote(safe_line(value.id))}\n"
        f"export MAESTRO_TOKEN={shlex.quote(safe_line(value.token))}\n"
    )
    hint = 'set both in the agent\'s environment: eval "$(maestro session register …)"; the token is shown only once'
    unread = [f"{value.unread} unread: maestro mail inbox"] if value.unread else []
    plain = Rendered(out, [f"registered {safe_line(value.name)}, {value.mode}", *unread])
    return Rendered(out, [*plain.notes, hint]) if view.tty else plain


def render_heartbeat(value: HeartbeatAnswer, view: View) -> Rendered:
    claims = "1 claim" if value.renewed == 1 else f"{value.renewed} claims"
    return Rendered(f"{_session_summary(value)}  {claims} renewed, alive until {format_time(value.lease_until)}\n")


def render_primer(value: Primer, view: View) -> Rendered:
    return Rendered(safe_body(value.text))


def render_session_list(value: SessionList, view: View) -> Rendered:
    rows = [
        [
            session.id,
            safe_line(session.name),
            session.mode,
            _status_text(session),
            _status_source(session),
            f"seen {format_time(session.seen_at)}",
            safe_line(f"@{session.member}" if session.member else session.address or "–"),
            safe_line(session.terminal) or "–",
            _work_text(session),
        ]
        for session in value.sessions
    ]
    head = ["SESSION", "NAME", "MODE", "STATUS", "SOURCE", "SEEN", "AGENT", "TERMINAL", "WORK"]
    return Rendered(render_table(rows, head, view), next_page_note(value.cursor) if rows else ["no sessions"])


def live_session_table(listed: list[ListedSession], view: View) -> str:
    """Return one line for each live session, with the facts by which a person tells sessions apart."""
    now = datetime.now(UTC)
    rows = [
        [
            safe_line(session.name),
            safe_line(session.tool or "–"),
            safe_line(session.branch or session.address or session.project),
            f"{_status_text(session)} {format_age(session.status_at, now)}",
            f"{session.unread} unread" if session.unread else "–",
            safe_line(session.terminal) or "–",
            _work_text(session),
        ]
        for session in listed
    ]
    lines = align_rows(rows, indent="  ").splitlines()
    return "".join(f"{clip_text(line, view.width) if view.width else line}\n" for line in lines)


def _work_text(session: ListedSession) -> str:
    """Return the session's first task, else the beginning of its last prompt."""
    if session.work:
        more = f" and {len(session.work) - 1} more" if len(session.work) > 1 else ""
        return safe_line(f"{session.work[0].ref} {session.work[0].title}") + more
    return safe_line(f"“{session.last_prompt}”") if session.last_prompt else ""


def render_session_detail(value: SessionDetail, view: View) -> Rendered:
    work = enumerate(value.work)
    facts = render_pairs(
        [
            ("status", f"{_status_text(value)} {_status_source(value)}"),
            ("seen", format_time(value.seen_at)),
            ("ended", format_time(value.ended_at) if value.ended_at else None),
            ("agent", safe_line(value.address or "")),
            ("member", safe_line(f"@{value.member}" if value.member else "")),
            ("tool", safe_line(value.tool or "")),
            ("grant", _grant_text(value)),
            ("human", safe_line(value.human)),
            ("process", str(value.pid) if value.pid else None),
            ("coordinator", _contact_text(value.coordinator) if value.coordinator else None),
            ("siblings", ", ".join(map(_contact_text, value.siblings))),
            ("workers", ", ".join(map(_contact_text, value.workers))),
            ("holds", ", ".join(map(safe_line, value.held))),
            *(
                ("task" if at == 0 else "", safe_line(f"{task.ref} {task.title} ({task.status})"))
                for at, task in work
            ),
            ("unread", str(value.unread) if value.unread else None),
            ("used", usage.usage_text(value.usage)),
            ("waits until", format_time(value.parked_until) if value.parked_until else None),
            ("asks", "; ".join(f"{ask.id} {safe_line(ask.title)}" for ask in value.asks)),
        ]
    )
    return Rendered(f"{_session_summary(value)}\n{facts}")


def render_explanation(value: SessionExplanation, view: View) -> Rendered:
    lease = "has ended" if value.is_lease_expired or value.session.ended_at else "is valid"
    process = {True: "is running", False: "has ended", None: None}[value.is_process_alive]
    facts = render_pairs(
        [
            ("lease", f"{lease} (until {format_time(value.session.lease_until)})"),
            (
                "seen lately",
                f"{'yes' if value.has_sign_of_life else 'no'}, last seen {format_time(value.session.seen_at)}",
            ),
            ("process", f"{value.session.pid} {process}" if process else None),
            ("grant", _grant_text(value.session)),
        ]
    )
    signals = [
        [
            signal.source,
            status_word(signal.status),
            format_time(signal.at),
            f"valid until {format_time(signal.until)}" if signal.until else "valid until withdrawn",
            safe_line(signal.detail),
        ]
        for signal in value.signals
    ]
    return Rendered(f"{_session_summary(value.session)}\n{facts}\n{align_rows(signals)}\n{value.verdict}\n")


def render_waited_sessions(value: WaitedSessions, view: View) -> Rendered:
    return Rendered("".join(f"{_session_summary(session)}\n" for session in value.sessions))


def render_reported_session(value: ReportedSession, view: View) -> Rendered:
    moved = f"  {safe_line(value.task.ref)} {value.task.status}" if value.task else ""
    return Rendered(f"{_session_summary(value)}{moved}\n")


def render_adopted_sessions(value: AdoptedSessions, view: View) -> Rendered:
    return Rendered(
        "".join(f"{_session_summary(session)}  adopted by {safe_line(value.by)}\n" for session in value.sessions)
    )


def render_granted_session(value: GrantedSession, view: View) -> Rendered:
    return Rendered(f"{_session_summary(value)}  grant {_grant_text(value)}\n")


def render_checked_file(value: CheckedFile, view: View) -> Rendered:
    return Rendered(f"{value.access}  {safe_line(value.path)}\n")


def status_word(status: SessionStatus) -> str:
    return paint(status, _COLORS.get(status, ""))


def _status_text(value: Session) -> str:
    """Return the status. A session with a final status may still run; the text says so."""
    if value.ended_at is not None or value.status not in ENDED_STATUSES:
        return status_word(value.status)
    status = "done" if value.status is SessionStatus.COMPLETED else value.status
    return paint(f"{status}, still running", _COLORS.get(value.status, ""))


def _contact_text(value: Contact) -> str:
    seen = "" if value.fresh else f", last seen {format_time(value.last_seen)}"
    return f"{safe_line(value.name)} ({status_word(value.status)}{seen})"


def render_identity(value: CallerIdentity, view: View) -> Rendered:
    session = value.session
    return Rendered(
        render_pairs(
            [
                ("role", value.role),
                ("name", safe_line(value.name)),
                ("human", safe_line(value.human)),
                ("session", _session_summary(session) if session else None),
                ("project", safe_line(value.project or "")),
                ("address", safe_line(value.address or "")),
                ("holds", ", ".join(map(safe_line, value.held))),
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
    until = f" until {format_time(value.status_until)}" if value.status_until else ""
    return f"by {value.status_source} since {format_time(value.status_at)}{until}"


def _session_summary(value: Session) -> str:
    return f"{value.id}  {safe_line(value.name)}  {value.mode}  {_status_text(value)}"
