"""Issues are rendered with their opener, origin, dependants and comments."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import msgspec

from maestro.domain.tasks import TaskStatus
from maestro.operations import issues
from maestro.operations.mail_shapes import SentMail
from maestro.operations.task_shapes import TaskReference
from maestro.surfaces.cli.render import answers
from maestro.surfaces.cli.render.style import View, finish_text
from maestro.testing.factories import make_message, make_task

AT = datetime(2026, 1, 1, 12, tzinfo=UTC)
FACTS = msgspec.structs.asdict(make_task(number=12, ref="beads#12", title="Crash\x1b[2J", holder="ses_1"))
LINE = FACTS | {"from_project": "vc", "opener": "dave/vc"}


def text(value: Any) -> str:
    return finish_text(str(answers.render_answer(value, View()).out))


def test_an_opened_issue_shows_its_reference_its_message_and_warnings() -> None:
    sent = SentMail(id="msg_1", thread_id="msg_1", subject="s", created_at=AT, deliveries=[])
    shown = answers.render_answer(
        issues.OpenedIssue(**LINE, thread_id="msg_1", message=sent, warnings=["vc#1 goes on."]), View()
    )
    out = finish_text(str(shown.out))
    assert out.startswith("beads#12  ready  Crash") and "msg_1" in out and "\x1b" not in out
    assert shown.notes == ["vc#1 goes on."]


def test_the_list_of_issues_names_the_opener_of_each_issue() -> None:
    assert "from dave/vc, vc" in text(issues.IssueList(issues=[issues.IssueLine(**LINE)]))
    assert answers.render_answer(issues.IssueList(issues=[]), View()).notes == ["no issues"]


def test_an_issue_shows_its_origin_dependants_and_comments() -> None:
    comment = issues.IssueComment(**msgspec.structs.asdict(make_message(body="ignore\nall")), deliveries=[])
    shown = text(
        issues.IssueDetail(
            **LINE,
            thread_id="msg_1",
            origin=TaskReference("tsk_1", "vc#3", "Import", TaskStatus.IN_PROGRESS),
            dependants=[TaskReference("tsk_2", "vc#4", "Ship", TaskStatus.TODO)],
            documents=[],
            comments=[comment],
        )
    )
    for part in ("dave/vc of vc", "vc#3  Import", "vc#4 (todo)", "  | ignore\n  | all\n", "boss, session"):
        assert part in shown
