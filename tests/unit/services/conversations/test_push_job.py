"""Agents that have nothing to do are woken by their mail; those that are done are let go."""

from __future__ import annotations

from typing import Any

import pytest

from maestro.core import limits
from maestro.domain.documents import ReportKind
from maestro.operations import sessions as session_ops
from maestro.services.tasks import session_report as session_reports

Talking = Any


async def wake(talking: Talking) -> list[dict[str, Any]]:
    await talking.waking.run_once()
    found: list[dict[str, Any]] = talking.runner.prompts()
    return found


async def test_mail_is_pushed_once_and_is_read_when_the_model_has_it(talking: Talking) -> None:
    await talking.idle()
    sent = await talking.world.send(None, "w", message="a </message> b")
    (push,) = await wake(talking)
    assert "a &lt;/message&gt; b" in push["text"]
    assert push["only_after"] == 3
    assert await talking.world.states(sent) == {talking.caller.name: "delivered"}
    assert len(await wake(talking)) == 1
    await talking.tell("turn_started")
    await talking.tell("taken_in", prompt=push["id"])
    assert await talking.world.states(sent) == {talking.caller.name: "read"}
    await talking.tell("turn_ended")
    assert len(await wake(talking)) == 1


async def test_nobody_is_woken_at_work_or_by_nothing(talking: Talking) -> None:
    await talking.idle()
    assert await wake(talking) == []
    await talking.tell("turn_started")
    await talking.world.send(None, "w")
    assert await wake(talking) == []
    await talking.tell("turn_ended")
    assert len(await wake(talking)) == 1


async def test_mail_that_was_read_meanwhile_wakes_nobody(talking: Talking) -> None:
    await talking.idle()
    await talking.world.send(None, "w")
    await talking.world.read(talking.caller)
    assert await wake(talking) == []


async def test_new_mail_does_not_wait_for_a_push_whose_mail_was_read(talking: Talking) -> None:
    await talking.idle()
    await talking.world.send(None, "w")
    assert len(await wake(talking)) == 1
    await talking.world.read(talking.caller)
    await talking.world.send(None, "w", message="Second.")
    (_, second) = await wake(talking)
    assert "Second." in second["text"]


async def test_one_that_is_at_work_by_now_gets_it_when_it_is_idle_again(talking: Talking) -> None:
    await talking.idle()
    sent = await talking.world.send(None, "w")
    talking.runner.state = "busy"
    await wake(talking)
    assert await talking.world.states(sent) == {talking.caller.name: "sent"}
    talking.runner.state = "said"
    assert len(await wake(talking)) == 2
    assert await talking.world.states(sent) == {talking.caller.name: "delivered"}


async def test_a_push_whose_word_was_on_its_way_is_not_told_twice(talking: Talking) -> None:
    await talking.idle()
    sent = await talking.world.send(None, "w")
    (push,) = await wake(talking)
    await talking.world.send(None, "w")  # by now there is more to push
    talking.world.clock.advance(limits.push_confirm_seconds + 1)
    talking.runner.state = "busy"  # it has said more than this server has heard
    assert len(await wake(talking)) == 2
    await talking.tell("turn_started")
    await talking.tell("taken_in", prompt=push["id"])
    assert await talking.world.states(sent) == {talking.caller.name: "read"}


@pytest.mark.parametrize("state", ["busy", "said"])
async def test_an_earlier_push_of_the_same_mail_counts(talking: Talking, state: str) -> None:
    await talking.idle()
    sent = await talking.world.send(None, "w")
    (push,) = await wake(talking)
    talking.world.clock.advance(limits.push_confirm_seconds + 1)
    talking.runner.state = state
    assert len(await wake(talking)) == 2
    await talking.tell("turn_started")
    await talking.tell("taken_in", prompt=push["id"])
    assert await talking.world.states(sent) == {talking.caller.name: "read"}
    await talking.tell("turn_ended")
    talking.world.clock.advance(limits.push_confirm_seconds + 1)
    assert len(await wake(talking)) == 2


async def test_a_push_that_does_not_come_in_is_repeated_and_then_someone_is_told(talking: Talking) -> None:
    await talking.idle()
    await talking.world.send(None, "w")
    for tries in range(1, limits.push_attempts_max + 1):
        assert len(await wake(talking)) == tries
        talking.world.clock.advance(limits.push_confirm_seconds + 1)
    ids = {one["id"] for one in await wake(talking)}
    assert len(ids) == limits.push_attempts_max
    boss = await talking.world.caller((await talking.world.session(talking.caller)).parent_id)
    assert "w does not wake up" in await talking.world.subjects(boss)
    talking.world.clock.advance(limits.push_confirm_seconds + 1)
    assert len(await wake(talking)) == limits.push_attempts_max


async def test_what_is_too_long_stays_unread_and_wakes_nobody_again(talking: Talking) -> None:
    await talking.idle()
    sent = await talking.world.send(None, "w", message="x" * (limits.inbox_body_chars_max + 1))
    (push,) = await wake(talking)
    assert 'cut="yes"' in push["text"]
    await talking.tell("turn_started")
    await talking.tell("taken_in", prompt=push["id"])
    await talking.tell("turn_ended")
    assert await talking.world.states(sent) == {talking.caller.name: "delivered"}
    assert len(await wake(talking)) == 1


async def test_mail_to_the_whole_project_wakes_nobody(talking: Talking) -> None:
    await talking.idle()
    await talking.world.send(None, "project:vc")
    assert await wake(talking) == []


async def test_one_that_stops_without_a_word_is_reminded_once_and_then_someone_is_told(talking: Talking) -> None:
    task = await talking.world.task(held_by=talking.caller)
    await talking.idle()
    (push,) = await wake(talking)
    assert f"still hold vc#{task.number}" in push["text"]
    await talking.tell("turn_started")
    await talking.tell("taken_in", prompt=push["id"])
    await talking.tell("turn_ended")
    assert len(await wake(talking)) == 1
    boss = await talking.world.caller((await talking.world.session(talking.caller)).parent_id)
    assert "w has stopped without a report" in await talking.world.subjects(boss)


async def test_one_that_is_done_is_let_go(talking: Talking) -> None:
    await talking.tell("turn_started")
    said = session_ops.ReportSession(kind=ReportKind.COMPLETE, text="done")
    await talking.world.do(session_reports.report_work, said, by=talking.caller)
    await talking.waking.run_once()
    assert talking.runner.asked == [], "its turn goes on"
    await talking.tell("turn_ended")
    due = await talking.waking.run_once()
    assert talking.runner.asked == [{"do": "finish"}]
    assert due is not None, "someone may be at it: it is told again"
    talking.runner.is_away = True
    assert await talking.waking.run_once() is None
