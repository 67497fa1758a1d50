"""Sessions are rendered with the source of their status, and with their coordinator, siblings, tasks and asks."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
from tests.unit.surfaces.cli.render.conftest import AT, PLAIN, TTY, WHEN, rendered

from maestro.domain.callers import Role
from maestro.domain.sessions import Contact, SessionMode, SessionStatus, StatusSignal, StatusSource
from maestro.domain.tasks import TaskStatus
from maestro.operations import sessions as ops
from maestro.operations.task_shapes import TaskReference
from maestro.surfaces.cli.render import sessions
from maestro.surfaces.cli.render.base import Rendered
from maestro.surfaces.cli.render.style import View, finish_text
from maestro.testing.factories import make_ask, make_session

SESSION = make_session(id="ses_1", name="parser", member="ada", pid=7, status=SessionStatus.NEEDS_INPUT)
WORKING = make_session(id="ses_1", project_id="prj_1", name="parser", pid=7, lease_until=AT)
LISTED = ops.ListedSession(
    **msgspec.structs.asdict(SESSION), project="vc", terminal="pts/3", last_prompt="Mend the parser"
)
BOSS = Contact("ses_2", "boss", SessionMode.COORDINATE, SessionStatus.IDLE, None, AT, fresh=False)


def text(found: Rendered) -> str:
    return finish_text(str(found.out))


def test_the_list_of_sessions_shows_the_source_and_the_time_of_each_status() -> None:
    shown = sessions.render_session_list(ops.SessionList(sessions=[LISTED]), PLAIN)
    row = (
        f"ses_1  parser  execute  needs_input  by report since {WHEN}  seen {WHEN}  @ada  pts/3  “Mend the parser”\n"
    )
    assert text(shown) == row
    heading = text(sessions.render_session_list(ops.SessionList(sessions=[LISTED]), View(tty=True, columns=200)))
    assert heading.splitlines()[0].split() == [
        *("SESSION", "NAME", "MODE", "STATUS", "SOURCE", "SEEN", "AGENT", "TERMINAL", "WORK")
    ]
    assert sessions.render_session_list(ops.SessionList(sessions=[]), PLAIN).notes == ["no sessions"]


def test_a_session_shows_its_coordinator_siblings_tasks_and_asks() -> None:
    fresh = Contact("ses_3", "lexer", SessionMode.EXECUTE, SessionStatus.WORKING, None, AT, fresh=True)
    found = ops.SessionDetail(
        **msgspec.structs.asdict(SESSION),
        coordinator=BOSS,
        siblings=[fresh],
        workers=[],
        held=["vc#1"],
        unread=2,
        asks=[make_ask(id="ask_1")],
    )
    shown = text(sessions.render_session_detail(found, PLAIN))
    assert f"coordinator  boss (idle, last seen {WHEN})\n" in shown and "siblings     lexer (working)\n" in shown
    assert "holds        vc#1\n" in shown and "unread       2\n" in shown and "ask_1 Which port?" in shown
    assert "workers" not in shown and "ended" not in shown


def test_an_explanation_shows_every_status_signal() -> None:
    found = ops.SessionExplanation(
        session=SESSION,
        signals=[
            StatusSignal(StatusSource.HEARTBEAT, SessionStatus.IDLE, AT, AT, "x\ny"),
            StatusSignal(StatusSource.REPORT, SessionStatus.WORKING, AT, None, "registered"),
        ],
        is_lease_expired=True,
        has_sign_of_life=False,
        is_process_alive=False,
        verdict="The session shows no sign of life any more: it will be marked as lost.",
    )
    lines = text(sessions.render_explanation(found, PLAIN)).splitlines()
    assert lines[1].split() == ["lease", "has", "ended", "(until", f"{WHEN})"]
    assert lines[3].split() == ["process", "7", "has", "ended"] and lines[-1] == found.verdict
    said = [re.sub(" +", " ", line) for line in lines]
    assert f"heartbeat idle {WHEN} valid until {WHEN} x y" in said
    assert f"report working {WHEN} valid until withdrawn registered" in said


def test_whoami_warns_about_a_silent_coordinator() -> None:
    who = ops.CallerIdentity(
        role=Role.WORKER, name="parser", human="dana", session=SESSION, coordinator=BOSS, unread=3
    )
    shown = sessions.render_identity(who, PLAIN)
    assert f"boss (idle, last seen {WHEN})" in text(shown) and "unread" in text(shown)
    (note,) = shown.notes
    assert "your coordinator boss" in note


def test_a_new_session_is_shown_as_variables_for_a_shell() -> None:
    new = ops.RegisteredSession(**msgspec.structs.asdict(WORKING), token="mst_$ecret")
    assert rendered(new).out == "export MAESTRO_SESSION_ID=ses_1\nexport MAESTRO_TOKEN='mst_$ecret'\n"
    assert rendered(new).notes == ["registered parser, execute"]
    assert "only once" in rendered(new, TTY).notes[1]


def test_a_session_and_a_heartbeat_are_each_shown_in_a_single_line() -> None:
    assert rendered(WORKING).out == "ses_1  parser  execute  working\n"
    beat = ops.HeartbeatAnswer(**msgspec.structs.asdict(WORKING), renewed=1)
    assert (
        rendered(beat).out == "ses_1  parser  execute  working  1 claim renewed, alive until 2026-01-01T12:00:00Z\n"
    )


def test_the_identity_of_a_caller_shows_role_and_held_tasks() -> None:
    found = ops.CallerIdentity(
        role=Role.WORKER, name="ses_1", human="dana", session=WORKING, project="vc", held=["vc#4", "vc#5"]
    )
    shown = str(rendered(found).out)
    assert "role     worker\n" in shown and "holds    vc#4, vc#5\n" in shown and "address" not in shown


def listed(**fields: Any) -> ops.ListedSession:
    since = datetime.now(UTC) - timedelta(minutes=5)
    session = msgspec.structs.asdict(make_session(status_at=since, tool="claude", address="dana/vc"))
    return ops.ListedSession(**(session | {"project": "vc"} | fields))


def test_the_table_of_live_sessions_shows_tool_checkout_state_terminal_and_work() -> None:
    task = TaskReference("tsk_1", "vc#4", "Write the parser", TaskStatus.IN_PROGRESS)
    rows = [
        listed(name="claude", status=SessionStatus.IDLE, terminal="tmux %5, pts/3", last_prompt="Mend it", unread=2),
        listed(name="parser", status=SessionStatus.WORKING, branch="maestro/t4", work=[task, task]),
    ]
    assert finish_text(sessions.live_session_table(rows, PLAIN)).splitlines() == [
        "  claude  claude  dana/vc     idle 5 min     2 unread  tmux %5, pts/3  “Mend it”",
        "  parser  claude  maestro/t4  working 5 min  –         –               vc#4 Write the parser and 1 more",
    ]


def test_the_table_of_live_sessions_fits_the_terminal() -> None:
    wide = listed(name="claude", last_prompt="a long prompt " * 20)
    (line,) = finish_text(sessions.live_session_table([wide], View(tty=True, columns=60))).splitlines()
    assert len(line) <= 60 and line.endswith("…")
