"""The board shows asks and mail before tasks, runs and sessions; commands are listed with their summaries."""

from __future__ import annotations

from typing import Any

import msgspec
from tests.unit.surfaces.cli.render.conftest import AT, WHEN, rendered, run_view, text_of

from maestro.domain.projects import Project
from maestro.domain.sessions import SessionStatus
from maestro.operations.projects import ProjectDetail
from maestro.operations.runs import RunInList
from maestro.surfaces.cli.local_commands import Board, CommandInfo, CommandList
from maestro.testing.factories import make_ask, make_session, make_task

PROJECT = ProjectDetail(
    **msgspec.structs.asdict(Project("prj_1", "github.com/acme/vc", "vc", [], AT)),
    workspaces=[],
    tasks={"todo": 2, "ready": 1},
)


def board(**fields: Any) -> Board:
    values: dict[str, Any] = {"project": PROJECT, "in_progress": [], "ready": [], "next": []}
    return Board(**{**values, **fields})


def command(words: str) -> CommandInfo:
    return CommandInfo(
        command=words, usage=f"maestro {words} ID", summary="Do it.", aliases=[], operation=None, callers=[]
    )


def test_commands_are_listed_with_their_summaries() -> None:
    listed = CommandList(commands=[command("task show"), command("")])
    assert text_of(listed) == "maestro task show  Do it.\nmaestro            Do it.\n"
    assert text_of(command("task show")) == "maestro task show ID\n"


def test_a_board_of_a_quiet_project_has_only_the_counts() -> None:
    assert text_of(board()) == "vc  github.com/acme/vc\ntasks: 2 todo (1 ready)\n"
    assert rendered(board()).notes == []


def test_the_board_shows_asks_and_unread_mail_first() -> None:
    shown = text_of(board(asks=[make_ask(id="req_1")], unread=3))
    assert shown.startswith("needs you\n") and "Which port?" in shown
    assert shown.index("needs you") < shown.index("3 unread  maestro mail inbox") < shown.index("vc  github.com")


def test_the_board_shows_tasks_in_progress_with_their_holder_before_ready_tasks() -> None:
    held = make_task(number=4, title="Parse", holder="ses_1", holder_name="parser")
    shown = text_of(board(in_progress=[held], ready=[make_task(number=5, title="Print")]))
    assert shown.index("\nin progress\n") < shown.index("vc#4") < shown.index("\nready\n") < shown.index("vc#5")
    assert "parser" in shown


def test_the_board_shows_runs_and_sessions_in_trouble() -> None:
    run = msgspec.structs.asdict(run_view())
    listed = RunInList(**{name: run[name] for name in RunInList.__struct_fields__})
    lost = make_session(name="parser", status=SessionStatus.LOST, status_at=AT)
    shown = text_of(board(runs=[listed], troubled=[lost]))
    assert "\nruns\nrun_1  vc#1  Ship it  running" in shown
    assert f"\nlost or failed\nparser  lost  {WHEN}\n" in shown


def test_the_notes_of_the_board_name_the_next_steps_and_a_missing_project() -> None:
    shown = rendered(board(project=None, next=["maestro init"]))
    assert shown.out == ""
    assert shown.notes == ["this directory belongs to no project", "next: maestro init"]
