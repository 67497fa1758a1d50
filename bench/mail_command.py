"""`maestro mail inbox` compared with a bare interpreter: the cost of each check for mail."""

from __future__ import annotations

import json

from bench.installed import Place, medians, place
from bench.report import Figure

_CLIENTS = {"Python": "maestro-py", "native": "maestro"}


def figures() -> list[Figure]:
    """Measure an inbox of a session with an unread message, whose send is not counted, and an empty inbox."""
    with place() as here:
        token = json.loads(here.run("maestro", "session", "register", "--name", "worker", "--json"))["token"]
        cases = {"bare": lambda: here.run("python", "-c", "pass")}
        for client, program in _CLIENTS.items():
            cases[client] = lambda program=program: _inbox(here, program, token, holds="Rebase before you go on.")
            cases[f"{client}, empty"] = lambda program=program: _inbox(here, program, token, holds="")
        middle = medians(cases, before={client: lambda: _send(here) for client in _CLIENTS})
    return [_figure(client, middle) for client in _CLIENTS]


def _send(here: Place) -> None:
    words = ("--subject", "Grammar changed", "--message", "Rebase before you go on.")
    here.run("maestro", "mail", "send", "worker", *words)


def _inbox(here: Place, program: str, token: str, *, holds: str) -> None:
    shown = here.run(program, "mail", "inbox", MAESTRO_TOKEN=token)
    assert (holds.encode() in shown) if holds else b"Rebase" not in shown, shown


def _figure(client: str, middle: dict[str, float]) -> Figure:
    empty, bare = middle[f"{client}, empty"], middle["bare"]
    return Figure(
        f"`maestro mail inbox` with one unread message against `python -c pass`, {client} client",
        middle[client] / bare,
        at_most=1.3,
        note=f"{middle[client] * 1000:.1f} ms, bare {bare * 1000:.1f} ms; an empty inbox {empty / bare:.2f}×",
    )
