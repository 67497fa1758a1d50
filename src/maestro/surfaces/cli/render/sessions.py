"""Sessions and callers as text."""

from __future__ import annotations

import shlex

from maestro.domain.sessions import Session, Status
from maestro.operations.sessions import Beat, Identity, RegisteredSession
from maestro.surfaces.cli.render.base import Rendered, pairs, when
from maestro.surfaces.cli.render.style import View, line, paint

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
    plain = Rendered(out, [f"registered {line(value.name)}, {value.mode}"])
    return Rendered(out, [*plain.notes, hint]) if view.tty else plain


def beat(value: Beat, view: View) -> Rendered:
    claims = "1 claim" if value.renewed == 1 else f"{value.renewed} claims"
    return Rendered(f"{_words(value)}  {claims} renewed, alive until {when(value.lease_until)}\n")


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
            ]
        )
    )


def _words(value: Session) -> str:
    return f"{value.id}  {line(value.name)}  {value.mode}  {paint(value.status, _COLORS.get(value.status, ''))}"
