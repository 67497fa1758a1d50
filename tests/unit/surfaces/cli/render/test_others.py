"""Documents, projects, sessions and the server as text."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import msgspec

from maestro.domain.callers import Role
from maestro.domain.events import Event
from maestro.domain.projects import Project, Workspace
from maestro.domain.runs import RunStatus
from maestro.domain.sessions import SessionMode, SessionStatus
from maestro.operations import documents as document_ops
from maestro.operations import projects, server, sessions
from maestro.surfaces.cli.render import answers
from maestro.surfaces.cli.render.base import Rendered, format_size
from maestro.surfaces.cli.render.server import _FATES
from maestro.surfaces.cli.render.style import View, finish_text
from maestro.testing.factories import make_session

AT = datetime(2026, 1, 1, 12, tzinfo=UTC)
PROJECT = Project("prj_1", "github.com/acme/vc", "vc", ["plan", "build"], AT)
WORKSPACE = Workspace("wsp_1", "prj_1", "dave", "dave/vc", "/src/dave/vc", AT)
SESSION = make_session(id="ses_1", project_id="prj_1", name="parser", pid=7, lease_until=AT)
TTY = View(tty=True, columns=80)


def rendered(value: Any, view: View = View()) -> Rendered:  # noqa: B008 a frozen value
    found = answers.render_answer(value, view)
    return Rendered(finish_text(found.out) if isinstance(found.out, str) else found.out, found.notes)


def content(data: bytes) -> document_ops.DocumentContent:
    return document_ops.DocumentContent(
        id="doc_1",
        task_id="tsk_1",
        title="T",
        file_name="f",
        bytes=len(data),
        sha256="",
        by="x",
        created_at=AT,
        content=data,
    )


def test_a_document_is_its_bytes() -> None:
    data = b"\x00\xff\x1b[31m"
    assert rendered(content(data)).out == data


def test_a_document_on_a_terminal_is_text_or_nothing() -> None:
    assert rendered(content(b"# Notes\x1b[2J"), TTY).out == "# Notes\\x1b[2J\n"
    binary = rendered(content(b"\x00\xff"), TTY)
    assert binary.out == "" and "not text" in binary.notes[0]


def test_a_project_with_its_checkouts_and_counts() -> None:
    detail = projects.ProjectDetail(
        **msgspec.structs.asdict(PROJECT), workspaces=[WORKSPACE], tasks={"todo": 3, "ready": 2, "failed": 0}
    )
    text = str(rendered(detail).out)
    assert text.startswith("vc\n  key      github.com/acme/vc\n")
    assert "plan, build" in text and "dave/vc  /src/dave/vc" in text
    assert "3 todo (2 ready)\n" in text and "failed" not in text


def test_projects_and_places() -> None:
    assert rendered(projects.ProjectList(projects=[PROJECT])).out == "vc  github.com/acme/vc  prj_1  this server\n"
    assert "maestro init" in rendered(projects.ProjectList(projects=[])).notes[0]
    place = rendered(projects.ProjectLocation(project=PROJECT, workspace=WORKSPACE, notes=["Registered."]))
    assert place.notes == ["Registered."] and "dave/vc  /src/dave/vc" in str(place.out)


def test_a_new_session_can_be_taken_over_by_a_shell() -> None:
    new = sessions.RegisteredSession(**msgspec.structs.asdict(SESSION), token="mst_$ecret")
    assert rendered(new).out == "export MAESTRO_SESSION_ID=ses_1\nexport MAESTRO_TOKEN='mst_$ecret'\n"
    assert rendered(new).notes == ["registered parser, execute"]
    assert "only once" in rendered(new, TTY).notes[1]


def test_sessions() -> None:
    assert rendered(SESSION).out == "ses_1  parser  execute  working\n"
    beat = sessions.HeartbeatAnswer(**msgspec.structs.asdict(SESSION), renewed=1)
    assert (
        rendered(beat).out == "ses_1  parser  execute  working  1 claim renewed, alive until 2026-01-01T12:00:00Z\n"
    )


def test_who_one_is() -> None:
    found = sessions.CallerIdentity(
        role=Role.WORKER, name="ses_1", human="dana", session=SESSION, project="vc", held=["vc#4", "vc#5"]
    )
    text = str(rendered(found).out)
    assert "role     worker\n" in text and "holds    vc#4, vc#5\n" in text and "address" not in text


def test_the_server() -> None:
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


def test_what_a_server_found() -> None:
    def session(name: str, fate: server.FoundSessionState) -> server.FoundSession:
        return server.FoundSession(
            id=f"ses_{name}",
            name=name,
            project="vc",
            mode=SessionMode.EXECUTE,
            fate=fate,
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


def test_events() -> None:
    event = Event(5, AT, "prj_1", "task.started", 1, "dana", "tsk_1", {"ref": "vc#4", "fence": 3, "why": "ä"})
    line = '5  2026-01-01T12:00:00Z  task.started  vc#4  dana  {"fence":3,"why":"ä"}\n'
    assert rendered(event).out == line
    assert rendered(server.EventList(events=[event])).out == line


def test_a_resync_says_what_it_is() -> None:
    tasks = [{"ref": "vc#4", "status": "todo", "title": "Parse"}]
    text = str(rendered(server.Resync(seq=9, horizon=5, tasks=tasks, complete=False)).out)
    assert (
        text
        == "9  resync  the log starts at 5; 1 tasks in their present state (not all tasks):\n    vc#4  todo  Parse\n"
    )


def test_sizes() -> None:
    assert [format_size(n) for n in (0, 1023, 1024, 5 * 1024**2, 3 * 1024**3)] == [
        "0 B",
        "1023 B",
        "1.0 KiB",
        "5.0 MiB",
        "3.0 GiB",
    ]
