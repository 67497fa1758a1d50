"""A caller reads the objects of its own projects, and only the outline of objects of other projects."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from maestro.domain.callers import SERVER_CALLER, Caller, Role, person_caller, unidentified_caller
from maestro.domain.events import Event, EventKind
from maestro.domain.members import Member, Permission
from maestro.domain.priorities import Priority
from maestro.domain.tasks import Task, TaskStatus
from maestro.domain.visibility import may_read, may_read_task, redact_event, redact_member, redact_task
from maestro.tools.registry import Tool

AT = datetime(2026, 1, 1, tzinfo=UTC)
WORKER = Caller(Role.WORKER, "ses_w", session_id="ses_w", project_id="prj_a")
COORDINATOR = Caller(Role.COORDINATOR, "ses_c", session_id="ses_c", project_id="prj_a")
HOMELESS = Caller(Role.WORKER, "ses_h", session_id="ses_h", project_id=None)


def task_of(project: str, opened_by: str | None = None) -> Task:
    fields: dict[str, Any] = dict.fromkeys(Task.__struct_fields__)
    fields |= {
        "id": "tsk_1",
        "project_id": project,
        "ref": "a#1",
        "number": 1,
        "title": "Title",
        "status": TaskStatus.TODO,
    }
    fields |= {"description": "Secret", "reason": "Secret", "accept": ["Secret"], "gates": ["Secret"]}
    fields |= {"priority": Priority.NORMAL, "holder": "ses_x", "from_project_id": opened_by}
    return Task(**fields)


@pytest.mark.parametrize(
    ("caller", "owners", "expected"),
    [
        (person_caller("dana"), ("prj_b",), True),
        (person_caller("dana"), (None,), True),
        (SERVER_CALLER, ("prj_b",), True),
        (WORKER, ("prj_a",), True),
        (WORKER, ("prj_b",), False),
        (WORKER, ("prj_b", "prj_a"), True),
        (WORKER, ("prj_b", None), False),
        (WORKER, (), False),
        (COORDINATOR, ("prj_a",), True),
        (COORDINATOR, ("prj_b",), False),
        (HOMELESS, (None,), False),
        (HOMELESS, ("prj_b", None), False),
        (unidentified_caller(), ("prj_a",), False),
        (unidentified_caller(), (None,), False),
    ],
)
def test_the_person_reads_all_objects_and_a_session_only_objects_of_its_own_project(
    caller: Caller, owners: tuple[str | None, ...], expected: bool
) -> None:
    assert may_read(caller, *owners) is expected


@pytest.mark.parametrize(
    ("project", "opened_by", "expected"),
    [
        ("prj_a", None, True),
        ("prj_b", None, False),
        ("prj_a", "prj_b", True),
        ("prj_b", "prj_a", True),
        ("prj_b", "prj_c", False),
        ("prj_b", "prj_b", False),
    ],
)
def test_sessions_of_the_opener_and_of_the_receiver_may_read_an_issue(
    project: str, opened_by: str | None, expected: bool
) -> None:
    for caller in (WORKER, COORDINATOR):
        assert may_read_task(caller, task_of(project, opened_by)) is expected
    assert may_read_task(person_caller("dana"), task_of(project, opened_by))


def test_the_outline_of_a_task_shows_only_reference_title_status_and_holder() -> None:
    seen = redact_task(WORKER, task_of("prj_b"))
    assert "Secret" not in str(seen)
    assert (seen.ref, seen.title, seen.status, seen.holder) == ("a#1", "Title", TaskStatus.TODO, "ses_x")
    assert redact_task(WORKER, task_of("prj_a")) == task_of("prj_a")


def test_the_outline_of_a_member_shows_only_name_and_role() -> None:
    member = Member(
        id="mem_1",
        project_id="prj_b",
        name="ada",
        role="Tester",
        identity="Secret",
        avatar="",
        mail_id="@ada",
        skills=["Secret"],
        model="Secret",
        tool=Tool.CLAUDE,
        permission=Permission.FULL,
        allow=["Secret"],
        deny=["Secret"],
        archived=False,
        created_by="dana",
        created_at=AT,
        updated_at=AT,
    )
    seen = redact_member(WORKER, member)
    assert "Secret" not in str(seen)
    assert (seen.name, seen.role, seen.tool, seen.permission) == ("ada", "Tester", None, None)
    assert redact_member(person_caller("dana"), member) == member


@pytest.mark.parametrize(
    "kind", [EventKind.TASK_REPORTED, EventKind.GATE_FAILED, EventKind.SESSION_REPORTED, EventKind.ASK_OPENED]
)
def test_events_that_quote_a_text_have_no_outline(kind: EventKind) -> None:
    assert redact_event(Event(1, AT, "prj_b", kind, 1, "ses_x", "tsk_1", {"ref": "b#1", "text": "Secret"})) is None


def test_the_outline_of_an_event_keeps_only_known_fields() -> None:
    line = Event(
        1, AT, "prj_b", EventKind.TASK_BLOCKED, 1, "ses_x", "tsk_1", {"ref": "b#1", "reason": "S", "new": "S"}
    )
    seen = redact_event(line)
    assert seen is not None and seen.data == {"ref": "b#1"}
