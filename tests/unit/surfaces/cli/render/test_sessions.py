"""Sessions as text: what each does, who said so, and who is around it."""

from __future__ import annotations

import re
from datetime import UTC, datetime

import msgspec

from maestro.domain.callers import Role
from maestro.domain.sessions import Contact, SessionMode, SessionStatus, StatusSignal, StatusSource
from maestro.operations import sessions as ops
from maestro.surfaces.cli.render import sessions
from maestro.surfaces.cli.render.base import Rendered
from maestro.surfaces.cli.render.style import View, finish_text
from maestro.testing.factories import make_ask, make_session

AT = datetime(2026, 1, 1, 12, tzinfo=UTC)
WHEN = "2026-01-01T12:00:00Z"
PLAIN = View()
SESSION = make_session(id="ses_1", name="parser", member="ada", pid=7, status=SessionStatus.NEEDS_INPUT)
BOSS = Contact("ses_2", "boss", SessionMode.COORDINATE, SessionStatus.IDLE, None, AT, fresh=False)


def text(found: Rendered) -> str:
    return finish_text(str(found.out))


def test_a_list_says_who_said_so_and_when() -> None:
    shown = sessions.render_session_list(ops.SessionList(sessions=[SESSION]), PLAIN)
    assert text(shown) == f"ses_1  parser  execute  needs_input  by report since {WHEN}  seen {WHEN}  @ada\n"
    heading = text(sessions.render_session_list(ops.SessionList(sessions=[SESSION]), View(tty=True, columns=200)))
    assert heading.splitlines()[0].split() == ["SESSION", "NAME", "MODE", "STATUS", "SOURCE", "SEEN", "AGENT"]
    assert sessions.render_session_list(ops.SessionList(sessions=[]), PLAIN).notes == ["no sessions"]


def test_one_with_those_around_it() -> None:
    fresh = Contact("ses_3", "lexer", SessionMode.EXECUTE, SessionStatus.WORKING, None, AT, fresh=True)
    found = ops.SessionDetail(
        **msgspec.structs.asdict(SESSION),
        coordinator=BOSS,
        siblings=[fresh],
        workers=[],
        held=["vc#1"],
        unread=2,
        asks=[make_ask(id="req_1")],
    )
    shown = text(sessions.render_session_detail(found, PLAIN))
    assert f"coordinator  boss (idle, last seen {WHEN})\n" in shown and "siblings     lexer (working)\n" in shown
    assert "holds        vc#1\n" in shown and "unread       2\n" in shown and "req_1 Which port?" in shown
    assert "workers" not in shown and "ended" not in shown


def test_the_evidence() -> None:
    found = ops.SessionExplanation(
        session=SESSION,
        signals=[
            StatusSignal(StatusSource.HEARTBEAT, SessionStatus.IDLE, AT, AT, "x\ny"),
            StatusSignal(StatusSource.REPORT, SessionStatus.WORKING, AT, None, "registered"),
        ],
        lease_is_over=True,
        was_heard=False,
        process_lives=False,
        verdict="The session shows no sign of life any more: it will be marked as lost.",
    )
    lines = text(sessions.render_explanation(found, PLAIN)).splitlines()
    assert lines[1].split() == ["lease", "has", "ended", "(until", f"{WHEN})"]
    assert lines[3].split() == ["process", "7", "has", "ended"] and lines[-1] == found.verdict
    said = [re.sub(" +", " ", line) for line in lines]
    assert f"heartbeat idle {WHEN} valid until {WHEN} x y" in said
    assert f"report working {WHEN} valid until withdrawn registered" in said


def test_whoami_warns_of_a_silent_coordinator() -> None:
    who = ops.CallerIdentity(
        role=Role.WORKER, name="parser", human="dana", session=SESSION, coordinator=BOSS, unread=3
    )
    shown = sessions.render_identity(who, PLAIN)
    assert f"boss (idle, last seen {WHEN})" in text(shown) and "unread" in text(shown)
    (note,) = shown.notes
    assert "your coordinator boss" in note
