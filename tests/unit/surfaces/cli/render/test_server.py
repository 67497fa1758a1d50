"""The state of the server, its settings, recovery report, backups and events are rendered as lines."""

from __future__ import annotations

import pytest
from tests.unit.surfaces.cli.render.conftest import AT, rendered, text_of

from maestro.domain.events import Event
from maestro.domain.runs import RunStatus
from maestro.domain.sessions import SessionMode, SessionStatus
from maestro.operations import server
from maestro.surfaces.cli.render.server import _FATES


def test_status_stop_backup_and_settings_of_the_server_are_shown() -> None:
    found = server.ServerStatus(version="1", pid=7, home="/data", url=None, started_at=AT, schema=1, events=9)
    assert "pid       7\n" in str(rendered(found).out) and "url" not in str(rendered(found).out)
    assert rendered(server.StoppedServer(pid=7)).out == "the server stops (pid 7)\n"
    assert (
        rendered(server.StoppedServer(pid=7, sessions=1)).out == "the server stops (pid 7); 1 session keeps running\n"
    )
    assert (
        rendered(server.StoppedServer(pid=7, sessions=3)).out == "the server stops (pid 7); 3 sessions keep running\n"
    )
    assert "1.0 MiB" in str(rendered(server.BackupResult(file="/b.tar", bytes=1024**2, blobs=1)).out)
    assert rendered(server.ShownSettings(settings={"port": 1, "human": "dana"})).out == "port   1\nhuman  dana\n"


def test_a_recovery_report_groups_sessions_by_their_state() -> None:
    def session(name: str, state: server.FoundSessionState) -> server.FoundSession:
        return server.FoundSession(
            id=f"ses_{name}",
            name=name,
            project="vc",
            mode=SessionMode.EXECUTE,
            state=state,
            status=SessionStatus.WORKING,
        )

    none = server.RecoveryReport(started_at=AT, rebooted=False, sessions=[], runs=[])
    assert (rendered(none).out, rendered(none).notes) == ("", ["no session or run was active"])
    run = server.FoundRun(id="run_1", task="vc#2", status=RunStatus.RUNNING, completed=3, tasks=8)
    many = [session(f"w{number}", server.FoundSessionState.ALIVE) for number in range(10)]
    found = server.RecoveryReport(
        started_at=AT, rebooted=True, sessions=[*many, session("lead", server.FoundSessionState.RESUMED)], runs=[run]
    )
    assert str(rendered(found).out).splitlines() == [
        "the machine was restarted while no server ran",
        "10 sessions found alive: w0, w1, w2, w3, w4, w5, w6, w7 and 2 more",
        "1 session started again: lead",
        "run_1 of vc#2 continues: 3 of 8 tasks completed",
    ]
    assert set(server.FoundSessionState) == set(_FATES)


def test_an_event_is_shown_in_a_single_line_with_its_data_as_json() -> None:
    event = Event(5, AT, "prj_1", "task.started", 1, "dana", "tsk_1", {"ref": "vc#4", "fence": 3, "why": "ä"})
    line = '5  2026-01-01T12:00:00Z  task.started  vc#4  dana  {"fence":3,"why":"ä"}\n'
    assert rendered(event).out == line
    assert rendered(server.EventList(events=[event])).out == line


def test_a_resync_shows_the_present_tasks() -> None:
    tasks = [{"ref": "vc#4", "status": "todo", "title": "Parse"}]
    text = str(rendered(server.Resync(seq=9, horizon=5, tasks=tasks, complete=False)).out)
    assert (
        text
        == "9  resync  the log starts at 5; 1 tasks in their present state (not all tasks):\n    vc#4  todo  Parse\n"
    )


def test_problems_of_the_stored_data_are_shown_with_the_status() -> None:
    status = server.ServerStatus(
        version="1", pid=7, home="/d", url="http://x", started_at=AT, schema=1, events=9, problems=["A file is lost."]
    )
    assert "url       http://x\n" in text_of(status)
    assert "problem   A file is lost.\n" in text_of(status)


@pytest.mark.parametrize(
    ("status", "completed", "tasks", "line"),
    [
        (RunStatus.RUNNING, 0, 1, "run_1 of vc#2 continues: 0 of 1 task completed\n"),
        (RunStatus.STOPPED, 2, 3, "run_1 of vc#2 is stopped: 2 of 3 tasks completed\n"),
    ],
)
def test_a_recovery_report_shows_each_found_run_in_a_single_line(
    status: RunStatus, completed: int, tasks: int, line: str
) -> None:
    run = server.FoundRun(id="run_1", task="vc#2", status=status, completed=completed, tasks=tasks)
    assert text_of(server.RecoveryReport(started_at=AT, rebooted=False, sessions=[], runs=[run])) == line


def test_a_backup_names_missing_and_damaged_files() -> None:
    backup = server.BackupResult(
        file="/b.tar", bytes=10, blobs=2, verification_ms=12.6, missing=["abcd"], damaged=["ef01"]
    )
    assert text_of(backup) == "/b.tar  (10 B, with 2 files from the blobs directory; verified in 13 ms)\n"
    assert rendered(backup).notes == ["missing: blobs/ab/abcd", "damaged: blobs/ef/ef01"]
    assert "with 1 file from" in text_of(server.BackupResult(file="/b.tar", bytes=10, blobs=1))


def test_settings_show_empty_texts_and_a_note_says_when_a_change_takes_effect() -> None:
    settings = server.ShownSettings(settings={"human": "", "ports": [1, 2]}, counts_after_restart=True)
    assert text_of(settings) == 'human  ""\nports  [1,2]\n'
    assert "when the server starts again" in rendered(settings).notes[0]
    assert rendered(server.ShownSettings(settings={"port": 1})).notes == []
    assert rendered(server.ShownSettings(settings={})).notes == ["no settings"]


def test_an_event_without_a_reference_shows_its_subject() -> None:
    event = Event(5, AT, "prj_1", "task.started", 1, "dana", "tsk_1", {})
    assert text_of(event) == "5  2026-01-01T12:00:00Z  task.started  tsk_1  dana\n"


def test_the_list_of_events_names_the_next_page() -> None:
    event = Event(5, AT, "prj_1", "task.started", 1, "dana", "tsk_1", {})
    assert rendered(server.EventList(events=[event], cursor="5")).notes == ["more results: --cursor 5"]
    assert rendered(server.EventList(events=[])).notes == ["no events"]


def test_a_complete_resync_says_that_it_shows_all_tasks() -> None:
    assert "(all tasks)" in text_of(server.Resync(seq=9, horizon=5, tasks=[], complete=True))
