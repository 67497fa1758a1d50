"""A task and its issue in a tracker reach the same state from any pair of states, in single steps."""

from __future__ import annotations

from datetime import UTC, datetime

import msgspec
import pytest

from maestro.domain.links import LinkSource
from maestro.domain.tasks import Task, TaskStatus
from maestro.domain.trackers import (
    IssueStanding,
    IssueState,
    TrackerKind,
    TrackerStep,
    configured_tracker,
    fingerprint_comment,
    is_tracker_person,
    issue_reference,
    issue_state_of,
    mark_comment,
    marked_message_id,
    next_task_move,
    next_tracker_step,
    task_id_in_reference,
    tracker_person,
)
from maestro.testing.factories import make_task

AT = datetime(2026, 1, 1, tzinfo=UTC)
HELD = (TaskStatus.IN_PROGRESS, TaskStatus.IN_REVIEW, TaskStatus.BLOCKED)


def task(status: TaskStatus, holder: str | None = None) -> Task:
    return msgspec.structs.replace(make_task(), status=status, holder=holder)


@pytest.mark.parametrize("wanted", IssueState)
@pytest.mark.parametrize("holder", [None, "ses_1", "tracker:alice"])
@pytest.mark.parametrize("status", TaskStatus)
def test_moves_bring_a_task_from_any_status_to_the_state_of_its_issue(
    status: TaskStatus, holder: str | None, wanted: IssueState
) -> None:
    one = task(status, holder if status in HELD else None)
    for _ in range(8):
        move = next_task_move(one, wanted, holder="tracker:alice", lease_seconds=None, reason="r", at=AT)
        if move is None:
            break
        one = move.after
    assert issue_state_of(one) is wanted
    if wanted is IssueState.STARTED:
        assert one.holder == "tracker:alice"
    if wanted is IssueState.OPEN:
        assert one.holder is None


@pytest.mark.parametrize(
    "seen", [IssueStanding(state, who) for state in IssueState for who in (None, "keeper", "alice")]
)
@pytest.mark.parametrize("status", TaskStatus)
def test_tracker_steps_bring_an_issue_from_any_standing_to_the_state_of_its_task(
    status: TaskStatus, seen: IssueStanding
) -> None:
    one = task(status, "ses_1")
    after = {
        TrackerStep.BLOCK: IssueStanding(IssueState.BLOCKED),
        TrackerStep.CLOSE: IssueStanding(IssueState.CLOSED),
        TrackerStep.CLAIM: IssueStanding(IssueState.STARTED, "keeper"),
    }
    for _ in range(4):
        step = next_tracker_step(one, seen, actor="keeper")
        if step is None:
            break
        seen = after.get(step, IssueStanding(IssueState.OPEN))
    assert seen.state is issue_state_of(one)
    if seen.state is IssueState.STARTED:
        assert seen.assignee == "keeper"


def test_the_mark_of_a_comment_is_recognised_only_in_its_last_line() -> None:
    text = mark_comment("What do you mean?\n", "msg_01abc")
    assert marked_message_id(text) == "msg_01abc" and marked_message_id(text + "\n \n") == "msg_01abc"
    quoted = "\n".join(f"> {line}" for line in text.splitlines())
    for other in (
        f"{quoted}\n\nThat.",
        quoted,
        f"{text}\n\nI agree.",
        "[maestro:msg_1] first",
        "",
        "[maestro:tsk_1]",
    ):
        assert marked_message_id(other) is None


def test_the_reference_of_an_issue_gives_the_id_of_its_task() -> None:
    assert task_id_in_reference(issue_reference("tsk_1")) == "tsk_1"
    assert (
        task_id_in_reference("gh-9") is None
        and task_id_in_reference("") is None
        and task_id_in_reference("maestro:prj_1") is None
    )


def test_comments_with_the_same_author_and_text_have_the_same_fingerprint() -> None:
    assert fingerprint_comment("alice", "ok\n") == fingerprint_comment("alice", "ok")
    assert fingerprint_comment("alice", "ok") != fingerprint_comment("bob", "ok")
    assert fingerprint_comment("a", "b\nc") != fingerprint_comment("a\nb", "d")


def test_a_person_whom_only_the_tracker_knows_gets_a_name_with_the_prefix_tracker() -> None:
    assert (
        tracker_person("alice") == "tracker:alice" and tracker_person(None) == tracker_person("") == "tracker:someone"
    )
    assert is_tracker_person("tracker:alice") and not is_tracker_person("ses_1") and not is_tracker_person(None)


BEADS = '[tracker]\nkind = "beads"\n'
BUILTIN = '[tracker]\nkind = "builtin"\n'


@pytest.mark.parametrize(
    ("config", "local", "expected"),
    [
        ("", "", None),
        (BEADS, "", (TrackerKind.BEADS, LinkSource.CONFIG)),
        ("", BEADS, (TrackerKind.BEADS, LinkSource.LOCAL)),
        (BEADS, BUILTIN, (TrackerKind.BUILTIN, LinkSource.LOCAL)),
        (BUILTIN, BEADS, (TrackerKind.BEADS, LinkSource.LOCAL)),
        ("[tracker]\nkind = 'jira'\n", "", None),
        ("tracker = 3\n", "", None),
        ("[tracker\n", BEADS, (TrackerKind.BEADS, LinkSource.LOCAL)),
        (BEADS, "[tracker]\n", (TrackerKind.BEADS, LinkSource.CONFIG)),
    ],
)
def test_the_files_of_a_checkout_name_the_tracker_and_invalid_entries_are_reported(
    config: str, local: str, expected: object
) -> None:
    wrong: list[str] = []
    assert configured_tracker({LinkSource.CONFIG: config, LinkSource.LOCAL: local}, wrong) == expected
    odd = {"[tracker]\nkind = 'jira'\n", "tracker = 3\n", "[tracker]\n"} & {config, local}
    assert bool(wrong) == bool(odd)
