"""A task and its issue in a tracker: from wherever either stands, the steps lead to where the other is."""

from __future__ import annotations

from datetime import UTC, datetime

import msgspec
import pytest

from maestro.domain.links import Source
from maestro.domain.tasks import Status, Task
from maestro.domain.trackers import (
    Kind,
    Stand,
    State,
    Step,
    chosen,
    fingerprint,
    is_outside,
    marked,
    message_in,
    next_move,
    next_step,
    outside,
    outside_ref,
    stand_of,
    task_in,
)
from maestro.testing.factories import make_task

AT = datetime(2026, 1, 1, tzinfo=UTC)
HELD = (Status.IN_PROGRESS, Status.IN_REVIEW, Status.BLOCKED)


def task(status: Status, holder: str | None = None) -> Task:
    return msgspec.structs.replace(make_task(), status=status, holder=holder)


@pytest.mark.parametrize("wanted", State)
@pytest.mark.parametrize("holder", [None, "ses_1", "tracker:alice"])
@pytest.mark.parametrize("status", Status)
def test_a_task_gets_to_wherever_its_tracker_has_it(status: Status, holder: str | None, wanted: State) -> None:
    one = task(status, holder if status in HELD else None)
    for _ in range(8):
        move = next_move(one, wanted, holder="tracker:alice", lease_seconds=None, reason="r", at=AT)
        if move is None:
            break
        one = move.after
    assert stand_of(one) is wanted
    if wanted is State.STARTED:
        assert one.holder == "tracker:alice"
    if wanted is State.OPEN:
        assert one.holder is None


@pytest.mark.parametrize("seen", [Stand(state, who) for state in State for who in (None, "keeper", "alice")])
@pytest.mark.parametrize("status", Status)
def test_a_tracker_gets_to_wherever_the_task_is(status: Status, seen: Stand) -> None:
    one = task(status, "ses_1")
    after = {
        Step.BLOCK: Stand(State.BLOCKED),
        Step.CLOSE: Stand(State.CLOSED),
        Step.CLAIM: Stand(State.STARTED, "keeper"),
    }
    for _ in range(4):
        step = next_step(one, seen, actor="keeper")
        if step is None:
            break
        seen = after.get(step, Stand(State.OPEN))
    assert seen.state is stand_of(one)
    if seen.state is State.STARTED:
        assert seen.who == "keeper"


def test_a_comment_is_known_by_its_last_line_only() -> None:
    text = marked("What do you mean?\n", "msg_01abc")
    assert message_in(text) == "msg_01abc" and message_in(text + "\n \n") == "msg_01abc"
    quoted = "\n".join(f"> {line}" for line in text.splitlines())
    for other in (
        f"{quoted}\n\nThat.",
        quoted,
        f"{text}\n\nI agree.",
        "[maestro:msg_1] first",
        "",
        "[maestro:tsk_1]",
    ):
        assert message_in(other) is None


def test_an_issue_is_known_by_its_reference() -> None:
    assert task_in(outside_ref("tsk_1")) == "tsk_1"
    assert task_in("gh-9") is None and task_in("") is None and task_in("maestro:prj_1") is None


def test_equal_comments_are_equal_whatever_their_number() -> None:
    assert fingerprint("alice", "ok\n") == fingerprint("alice", "ok")
    assert fingerprint("alice", "ok") != fingerprint("bob", "ok")
    assert fingerprint("a", "b\nc") != fingerprint("a\nb", "d")


def test_someone_whom_only_the_tracker_knows() -> None:
    assert outside("alice") == "tracker:alice" and outside(None) == outside("") == "tracker:someone"
    assert is_outside("tracker:alice") and not is_outside("ses_1") and not is_outside(None)


BEADS = '[tracker]\nkind = "beads"\n'
BUILTIN = '[tracker]\nkind = "builtin"\n'


@pytest.mark.parametrize(
    ("config", "local", "expected"),
    [
        ("", "", None),
        (BEADS, "", (Kind.BEADS, Source.CONFIG)),
        ("", BEADS, (Kind.BEADS, Source.LOCAL)),
        (BEADS, BUILTIN, (Kind.BUILTIN, Source.LOCAL)),
        (BUILTIN, BEADS, (Kind.BEADS, Source.LOCAL)),
        ("[tracker]\nkind = 'jira'\n", "", None),
        ("tracker = 3\n", "", None),
        ("[tracker\n", BEADS, (Kind.BEADS, Source.LOCAL)),
        (BEADS, "[tracker]\n", (Kind.BEADS, Source.CONFIG)),
    ],
)
def test_which_tracker_the_files_say(config: str, local: str, expected: object) -> None:
    wrong: list[str] = []
    assert chosen({Source.CONFIG: config, Source.LOCAL: local}, wrong) == expected
    odd = {"[tracker]\nkind = 'jira'\n", "tracker = 3\n", "[tracker]\n"} & {config, local}
    assert bool(wrong) == bool(odd)
