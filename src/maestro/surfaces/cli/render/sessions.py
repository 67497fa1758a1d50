"""Sessions and callers as text."""

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
    return Rendered(f"{_words(value)}\n")


def registered(value: RegisteredSession, view: View) -> Rendered:
    """Lines that a shell can take over as they are: eval "$(maestro session register)"."""
    out = (
        f"export MAESTRO_SESSION_ID={shlex.quote(line(value.id))}\n"
        f"export MAESTRO_TOKEN={shlex.quote(line(value.token))}\n"
    )
    hint = 'set both where the agent runs: eval "$(maestro session register …)"; the token is shown only now'
    waits = [f"{value.unread} unread: maestro mail inbox"] if value.unread else []
    plain = Rendered(out, [f"registered {line(value.name)}, {value.mode}", *waits])
    return Rendered(out, [*plain.notes, hint]) if view.tty else plain


def beat(value: Beat, view: View) -> Rendered:
    claims = "1 claim" if value.renewed == 1 else f"{value.renewed} claims"
    return Rendered(f"{_words(value)}  {claims} renewed, alive until {when(value.lease_until)}\n")


def primer(value: Primer, view: View) -> Rendered:
    return Rendered(body(value.text))


def session_list(value: SessionList, view: View) -> Rendered:
    rows = [
        [
            one.id,
            line(one.name),
            one.mode,
            _status(one),
            _said(one),
            f"seen {when(one.seen_at)}",
            line(f"@{one.member}" if one.member else one.address or ""),
        ]
        for one in value.sessions
    ]
    head = ["SESSION", "NAME", "MODE", "STATUS", "SAID", "SEEN", "WHO"]
    return Rendered(listed(rows, head, view), more(value.cursor) if rows else ["no sessions"])


def detail(value: SessionDetail, view: View) -> Rendered:
    work = enumerate(value.work)
    facts = pairs(
        [
            ("status", f"{_status(value)} {_said(value)}"),
            ("seen", when(value.seen_at)),
            ("ended", when(value.ended_at) if value.ended_at else None),
            ("agent", line(value.address or "")),
            ("member", line(f"@{value.member}" if value.member else "")),
            ("tool", line(value.tool or "")),
            ("grant", _grant(value)),
            ("human", line(value.human)),
            ("process", str(value.pid) if value.pid else None),
            ("coordinator", _contact(value.coordinator) if value.coordinator else None),
            ("siblings", ", ".join(map(_contact, value.siblings))),
            ("workers", ", ".join(map(_contact, value.workers))),
            ("holds", ", ".join(map(line, value.held))),
            *(("task" if at == 0 else "", line(f"{one.ref} {one.title} ({one.status})")) for at, one in work),
            ("unread", str(value.unread) if value.unread else None),
            ("used", usage.taken(value.usage)),
            ("waits until", when(value.parked_until) if value.parked_until else None),
            ("asks", "; ".join(f"{ask.id} {line(ask.title)}" for ask in value.asks)),
        ]
    )
    return Rendered(f"{_words(value)}\n{facts}")


def explanation(value: Explanation, view: View) -> Rendered:
    lease = "is over" if value.lease_is_over or value.session.ended_at else "runs"
    process = {True: "lives", False: "is gone", None: None}[value.process_lives]
    facts = pairs(
        [
            ("lease", f"{lease} (until {when(value.session.lease_until)})"),
            ("heard", f"{'yes' if value.was_heard else 'no'}, last seen {when(value.session.seen_at)}"),
            ("process", f"{value.session.pid} {process}" if process else None),
            ("grant", _grant(value.session)),
        ]
    )
    said = [
        [
            one.source,
            status_word(one.status),
            when(one.at),
            f"counts until {when(one.until)}" if one.until else "counts until it is taken back",
            line(one.detail),
        ]
        for one in value.signals
    ]
    return Rendered(f"{_words(value.session)}\n{facts}\n{aligned(said)}\n{value.verdict}\n")


def waited(value: WaitedSessions, view: View) -> Rendered:
    return Rendered("".join(f"{_words(one)}\n" for one in value.sessions))


def reported(value: ReportedSession, view: View) -> Rendered:
    moved = f"  {line(value.task.ref)} {value.task.status}" if value.task else ""
    return Rendered(f"{_words(value)}{moved}\n")


def adopted(value: Adopted, view: View) -> Rendered:
    return Rendered("".join(f"{_words(one)}  adopted by {line(value.by)}\n" for one in value.sessions))


def granted(value: GrantedSession, view: View) -> Rendered:
    return Rendered(f"{_words(value)}  grant {_grant(value)}\n")


def checked_file(value: CheckedFile, view: View) -> Rendered:
    return Rendered(f"{value.access}  {line(value.path)}\n")


def status_word(status: Status) -> str:
    return paint(status, _COLORS.get(status, ""))


def _status(value: Session) -> str:
    """Where it stands; one that has said its last word may still be there."""
    if value.ended_at is not None or value.status not in FINAL:
        return status_word(value.status)
    said = "done" if value.status is Status.COMPLETED else value.status
    return paint(f"{said}, still there", _COLORS.get(value.status, ""))


def _contact(value: Contact) -> str:
    seen = "" if value.fresh else f", last seen {when(value.last_seen)}"
    return f"{line(value.name)} ({status_word(value.status)}{seen})"


def identity(value: Identity, view: View) -> Rendered:
    found = value.session
    return Rendered(
        pairs(
            [
                ("role", value.role),
                ("name", line(value.name)),
                ("human", line(value.human)),
                ("session", _words(found) if found else None),
                ("project", line(value.project or "")),
                ("address", line(value.address or "")),
                ("holds", ", ".join(map(line, value.held))),
                ("coordinator", _contact(value.coordinator) if value.coordinator else None),
                ("unread", str(value.unread) if value.unread else None),
            ]
        ),
        coordinator_notes(value.coordinator),
    )


def _grant(value: Session) -> str:
    return f"{value.grant} (the highest level it may give to sessions it starts)"


def _said(value: Session) -> str:
    """By what a status is known, since when, and until when that counts."""
    until = f" until {when(value.status_until)}" if value.status_until else ""
    return f"by {value.status_source} since {when(value.status_at)}{until}"


def _words(value: Session) -> str:
    return f"{value.id}  {line(value.name)}  {value.mode}  {_status(value)}"
