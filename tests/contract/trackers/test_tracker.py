"""One body for every tracker: what each call must mean, whoever is behind it."""

from __future__ import annotations

import pytest

from maestro.domain.tasks import Priority
from maestro.domain.trackers import Stand, State
from maestro.trackers.base import NewIssue, Refused, Taken, Tracker

AWKWARD = '--claim "quoted" $HOME\n- a list\n-d x\n\nüñí ✓ `code`'


def new(title: str = "Crash", **said: object) -> NewIssue:
    given = {
        "description": "It crashes.",
        "priority": Priority.HIGH,
        "actor": "finder",
        "outside_ref": "maestro:tsk_1",
    }
    return NewIssue(title=title, **{**given, **said})  # type: ignore[arg-type]


async def test_an_issue_from_its_making_to_its_end(tracker: Tracker) -> None:
    assert await tracker.version()
    assert await tracker.issues() == []
    made = await tracker.create(new())
    assert (made.title, made.stand, made.priority) == ("Crash", Stand(State.OPEN), Priority.HIGH)
    (listed,) = await tracker.issues()
    assert (listed.ref, listed.description, listed.is_work) == (made.ref, "It crashes.", True)
    won = await tracker.claim(made.ref, actor="keeper")
    assert won.stand == Stand(State.STARTED, "keeper")
    await tracker.comment(made.ref, "Which version?", actor="keeper")
    await tracker.comment(made.ref, "1.3", actor="finder")
    closed = await tracker.close(made.ref, reason="Fixed.", actor="keeper")
    assert closed.stand.state is State.CLOSED
    (looked,) = await tracker.look([made.ref])
    assert looked.issue.stand.state is State.CLOSED
    said = [(one.author, one.text) for one in looked.comments]
    assert said[:2] == [("keeper", "Which version?"), ("finder", "1.3")]
    again = await tracker.reopen(made.ref, actor="finder")
    assert again.stand.state is State.OPEN


async def test_who_comes_second_does_not_have_it(tracker: Tracker) -> None:
    made = await tracker.create(new())
    await tracker.claim(made.ref, actor="one")
    with pytest.raises(Taken) as taken:
        await tracker.claim(made.ref, actor="two")
    assert taken.value.issue is not None and taken.value.issue.stand == Stand(State.STARTED, "one")
    # Who has it already has it: a claim that was made and not recorded is made again.
    assert (await tracker.claim(made.ref, actor="one")).stand == Stand(State.STARTED, "one")
    assert (await tracker.release(made.ref, actor="one")).stand == Stand(State.OPEN)
    assert (await tracker.claim(made.ref, actor="two")).stand == Stand(State.STARTED, "two")


async def test_to_do_what_is_done_changes_nothing(tracker: Tracker) -> None:
    made = await tracker.create(new())
    for _ in range(2):
        assert (await tracker.close(made.ref, reason="Done.", actor="a")).stand.state is State.CLOSED
    for _ in range(2):
        assert (await tracker.reopen(made.ref, actor="a")).stand.state is State.OPEN
    assert (await tracker.block(made.ref, actor="a")).stand.state is State.BLOCKED
    assert (await tracker.release(made.ref, actor="a")).stand.state is State.OPEN
    assert (await tracker.rename(made.ref, "Another title", actor="a")).title == "Another title"


async def test_texts_come_through_as_they_are(tracker: Tracker) -> None:
    made = await tracker.create(new("-f looks like a flag", description=AWKWARD))
    await tracker.comment(made.ref, AWKWARD, actor="a b")
    (looked,) = await tracker.look([made.ref])
    assert (looked.issue.title, looked.issue.description) == ("-f looks like a flag", AWKWARD)
    assert [one.text for one in looked.comments] == [AWKWARD]


async def test_what_is_not_there_is_left_out_or_refused(tracker: Tracker) -> None:
    made = await tracker.create(new())
    assert await tracker.look(["vc#404"]) == []
    found = await tracker.look([made.ref, "vc#404"])
    assert [one.issue.ref for one in found] == [made.ref]
    with pytest.raises(Refused):
        await tracker.close("vc#404", reason="", actor="a")


async def test_a_comment_or_a_move_is_seen_in_the_list_or_in_a_look(tracker: Tracker) -> None:
    made = await tracker.create(new())
    (before,) = await tracker.issues()
    await tracker.claim(made.ref, actor="keeper")
    (moved,) = await tracker.issues()
    assert moved.stamp != before.stamp
    await tracker.comment(made.ref, "Hello", actor="keeper")
    (looked,) = await tracker.look([made.ref])
    assert [one.text for one in looked.comments] == ["Hello"]
    if tracker.stamps_tell_comments:
        (said,) = await tracker.issues()
        assert said.stamp != moved.stamp


async def test_what_is_closed_is_listed_when_asked_for(tracker: Tracker) -> None:
    made = await tracker.create(new())
    await tracker.close(made.ref, reason="Done.", actor="a")
    found = [one for one in await tracker.issues(closed=True) if one.ref == made.ref]
    assert [one.stand.state for one in found] == [State.CLOSED]


async def test_many_comments_come_all(tracker: Tracker) -> None:
    made = await tracker.create(new())
    texts = [f"Comment {number}" for number in range(8)]
    for text in texts:
        await tracker.comment(made.ref, text, actor="a")
    (looked,) = await tracker.look([made.ref])
    assert [one.text for one in looked.comments] == texts
