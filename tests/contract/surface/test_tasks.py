"""Tests of tasks, the same on every surface."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from maestro.core import errors
from maestro.operations import documents
from maestro.operations.tasks import (
    BLOCK,
    BLOCKED,
    CANCEL,
    CHILDREN,
    COMPLETE,
    CREATE,
    DEPEND,
    EDIT,
    FAIL,
    LIST,
    READY,
    REJECT,
    RELEASE,
    REMOVE,
    REOPEN,
    REPORT,
    SHOW,
    START,
    TREE,
    UNBLOCK,
    WAIT,
)

Surface = Any


async def test_a_created_task_is_shown_with_every_field(surface: Surface) -> None:
    boss = await surface.join("boss", mode="coordinate")
    fields = {"title": "Write it", "description": "All\nof it", "priority": "high", "stage": "implement"}
    made = await surface.call(CREATE, by="boss", accept=["a, b"], **fields)
    assert (made["ref"], made["number"], made["ready"]) == (f"{surface.project}#1", 1, True)
    shown = await surface.call(SHOW, id="#1")
    assert shown["title"] == "Write it" and shown["description"] == "All\nof it"
    assert shown["priority"] == "high" and shown["accept"] == ["a, b"] and shown["stage"] == "implement"
    assert shown["id"] == made["id"] and shown["created_by"] == boss["id"]
    assert (await surface.call(SHOW, id=made["id"]))["ref"] == made["ref"]


async def test_a_list_of_tasks_comes_in_pages(surface: Surface) -> None:
    for number in range(5):
        await surface.call(CREATE, title=f"Task {number}")
    first = await surface.call(LIST, limit=2)
    second = await surface.call(LIST, limit=2, cursor=first["cursor"])
    third = await surface.call(LIST, limit=2, cursor=second["cursor"])
    numbers = [task["number"] for page in (first, second, third) for task in page["tasks"]]
    assert numbers == [1, 2, 3, 4, 5] and third["cursor"] is None
    assert [task["number"] for task in (await surface.call(LIST, status="completed"))["tasks"]] == []


async def test_a_task_with_open_blockers_cannot_start_and_the_error_names_the_blockers(surface: Surface) -> None:
    await surface.call(CREATE, title="first")
    second = await surface.call(CREATE, title="second", depends_on=["#1"])
    assert not second["ready"]
    with pytest.raises(errors.NotReady) as refused:
        await surface.call(START, id="#2")
    assert [blocker["ref"] for blocker in refused.value.data["blockers"]] == [f"{surface.project}#1"]
    assert [task["number"] for task in (await surface.call(READY))["tasks"]] == [1]
    (waiting,) = (await surface.call(BLOCKED))["tasks"]
    assert [blocker["ref"] for blocker in waiting["blockers"]] == [f"{surface.project}#1"]


async def test_a_task_becomes_ready_when_the_last_blocker_is_completed(surface: Surface) -> None:
    for title in ("a", "b"):
        await surface.call(CREATE, title=title)
    await surface.call(CREATE, title="c", depends_on=["#1", "#2"])
    await surface.call(START, id="#1")
    assert (await surface.call(COMPLETE, id="#1"))["unblocked"] == []
    await surface.call(START, id="#2")
    assert (await surface.call(COMPLETE, id="#2"))["unblocked"] == [f"{surface.project}#3"]
    assert [task["number"] for task in (await surface.call(READY))["tasks"]] == [3]


async def test_only_the_holder_of_a_task_can_complete_the_task(surface: Surface) -> None:
    await surface.join("holder")
    await surface.join("stranger")
    await surface.call(CREATE, title="a")
    claimed = await surface.call(START, by="holder", id="#1")
    with pytest.raises(errors.ClaimLost):
        await surface.call(COMPLETE, by="stranger", id="#1")
    with pytest.raises(errors.ClaimLost):
        await surface.call(START, by="stranger", id="#1")
    done = await surface.call(COMPLETE, by="holder", id="#1", fence=claimed["fence"], summary="there")
    assert done["status"] == "completed"
    assert (await surface.call(SHOW, id="#1"))["reports"][0]["text"] == "there"


async def test_a_completion_with_an_old_fence_is_refused(surface: Surface) -> None:
    await surface.join("w")
    await surface.call(CREATE, title="a")
    old = await surface.call(START, by="w", id="#1")
    await surface.call(RELEASE, by="w", id="#1")
    new = await surface.call(START, by="w", id="#1")
    assert new["fence"] == old["fence"] + 1
    with pytest.raises(errors.ClaimLost):
        await surface.call(COMPLETE, by="w", id="#1", fence=old["fence"])
    assert (await surface.call(SHOW, id="#1"))["status"] == "in_progress"


async def test_only_one_of_several_concurrent_claims_succeeds(surface: Surface) -> None:
    names = [f"w{number}" for number in range(6)]
    for name in names:
        await surface.join(name)
    await surface.call(CREATE, title="a")
    answers = await asyncio.gather(*(surface.call(START, by=name, id="#1") for name in names), return_exceptions=True)
    won = [answer for answer in answers if not isinstance(answer, BaseException)]
    assert len(won) == 1
    assert all(isinstance(answer, errors.ClaimLost) for answer in answers if isinstance(answer, BaseException))


async def test_a_dependency_cycle_is_refused_and_the_error_lists_the_cycle(surface: Surface) -> None:
    await surface.call(CREATE, title="a")
    await surface.call(CREATE, title="b", depends_on=["#1"])
    await surface.call(CREATE, title="c", depends_on=["#2"])
    with pytest.raises(errors.Cycle) as refused:
        await surface.call(DEPEND, id="#1", on=["#3"])
    name = surface.project
    assert refused.value.data["cycle"] == [f"{name}#1", f"{name}#3", f"{name}#2", f"{name}#1"]
    with pytest.raises(errors.Cycle):
        await surface.call(DEPEND, id="#1", on=["#1"])
    assert (await surface.call(SHOW, id="#1"))["dependencies"] == []


async def test_a_dependency_can_be_removed_once(surface: Surface) -> None:
    await surface.call(CREATE, title="a")
    await surface.call(CREATE, title="b", depends_on=["#1"])
    freed = await surface.call(DEPEND, id="#2", on=["#1"], remove=True)
    assert freed["ready"] and freed["unblocked"] == []
    with pytest.raises(errors.NotFound):
        await surface.call(DEPEND, id="#2", on=["#1"], remove=True)


async def test_an_illegal_move_is_refused_and_the_error_names_the_legal_moves(surface: Surface) -> None:
    await surface.call(CREATE, title="a")
    with pytest.raises(errors.IllegalMove) as refused:
        await surface.call(COMPLETE, id="#1")
    assert refused.value.data["allowed"] == ["start", "block", "cancel"]


async def test_every_move_gives_the_task_the_expected_status(surface: Surface) -> None:
    await surface.call(CREATE, title="a", gates=["sleep 20"])
    moves: list[tuple[Any, dict[str, Any], str]] = [
        (BLOCK, {"reason": "key"}, "blocked"),
        (UNBLOCK, {}, "todo"),
        (START, {}, "in_progress"),
        (RELEASE, {}, "todo"),
        (START, {}, "in_progress"),
        (COMPLETE, {}, "in_review"),
        (REJECT, {"reason": "red"}, "in_progress"),
        (COMPLETE, {}, "in_review"),
        (COMPLETE, {}, "completed"),
        (REOPEN, {}, "todo"),
        (START, {}, "in_progress"),
        (FAIL, {"reason": "hard"}, "failed"),
        (CANCEL, {"reason": "no"}, "cancelled"),
        (REOPEN, {}, "todo"),
    ]
    for operation, fields, status in moves:
        moved = await surface.call(operation, id="#1", **fields)
        assert moved["status"] == status, operation.name


async def test_a_report_of_a_task_moves_the_task(surface: Surface) -> None:
    await surface.join("w")
    await surface.call(CREATE, title="a")
    await surface.call(START, by="w", id="#1")
    said = await surface.call(REPORT, by="w", kind="progress", id="#1", text="half")
    assert said["status"] == "in_progress" and said["report"]["text"] == "half"
    said = await surface.call(REPORT, by="w", kind="blocked", id="#1", text="needs a key")
    assert said["status"] == "blocked" and said["reason"] == "needs a key"
    await surface.call(UNBLOCK, id="#1")
    said = await surface.call(REPORT, by="w", kind="complete", id="#1", text="all of it")
    assert said["status"] == "completed"
    kinds = [report["kind"] for report in (await surface.call(SHOW, id="#1"))["reports"]]
    assert kinds == ["complete", "blocked", "progress"]


async def test_a_parent_is_completed_when_all_children_are_completed(surface: Surface) -> None:
    await surface.call(CREATE, title="parent")
    for title in ("one", "two"):
        await surface.call(CREATE, title=title, parent="#1")
    await surface.call(START, id="#1")
    with pytest.raises(errors.Conflict):
        await surface.call(COMPLETE, id="#1")
    for child in ("#2", "#3"):
        await surface.call(START, id=child)
        await surface.call(COMPLETE, id=child)
    assert (await surface.call(SHOW, id="#1"))["status"] == "completed"
    assert [task["number"] for task in (await surface.call(CHILDREN, id="#1"))["tasks"]] == [2, 3]
    tree = (await surface.call(TREE, id="#1"))["tasks"]
    assert [(node["number"], node["depth"]) for node in tree] == [(1, 0), (2, 1), (3, 1)]


async def test_a_task_of_a_stage_waits_for_the_stage_before(surface: Surface) -> None:
    await surface.call(CREATE, title="plan it", stage="plan")
    later = await surface.call(CREATE, title="build it", stage="implement")
    assert not later["ready"] and later["stage_held"]
    with pytest.raises(errors.NotReady) as refused:
        await surface.call(START, id="#2")
    assert refused.value.data["stage"] == "plan"
    await surface.call(START, id="#1")
    assert (await surface.call(COMPLETE, id="#1"))["unblocked"] == [f"{surface.project}#2"]
    with pytest.raises(errors.Invalid):
        await surface.call(CREATE, title="x", stage="nonsense")


async def test_an_edit_changes_only_the_given_fields(surface: Surface) -> None:
    await surface.call(CREATE, title="a", description="keep")
    edited = await surface.call(EDIT, id="#1", title="b", priority="low")
    assert (edited["title"], edited["priority"], edited["description"]) == ("b", "low", "keep")
    with pytest.raises(errors.Invalid):
        await surface.call(EDIT, id="#1")


async def test_a_task_that_another_task_depends_on_cannot_be_deleted(surface: Surface) -> None:
    await surface.call(CREATE, title="a")
    await surface.call(CREATE, title="b", depends_on=["#1"])
    with pytest.raises(errors.Conflict):
        await surface.call(REMOVE, id="#1")
    await surface.call(REMOVE, id="#2")
    await surface.call(REMOVE, id="#1")
    with pytest.raises(errors.NotFound):
        await surface.call(SHOW, id="#1")
    assert (await surface.call(CREATE, title="c"))["number"] == 3  # a number is never used twice


@pytest.mark.parametrize("size", [10, 200_000], ids=["inline", "blob"])
async def test_a_document_is_returned_byte_for_byte(surface: Surface, size: int) -> None:
    content = bytes(number % 251 for number in range(size))
    await surface.call(CREATE, title="a")
    added = await surface.call(documents.ADD, id="#1", title="A file", content=content)
    assert added["bytes"] == size
    (listed,) = (await surface.call(documents.LIST, id="#1"))["documents"]
    assert listed["id"] == added["id"]
    shown = await surface.call(documents.SHOW, id=added["id"])
    import base64

    assert base64.b64decode(shown["content"]) == content


async def test_a_repeated_creation_with_the_same_key_returns_the_first_result(surface: Surface) -> None:
    first = await surface.call(CREATE, key=f"{surface.project}-k1", title="a")
    again = await surface.call(CREATE, key=f"{surface.project}-k1", title="a")
    assert again == first
    with pytest.raises(errors.KeyReused):
        await surface.call(CREATE, key=f"{surface.project}-k1", title="b")
    assert len((await surface.call(LIST))["tasks"]) == 1


async def test_a_wait_ends_when_the_tasks_are_completed(surface: Surface) -> None:
    await surface.call(CREATE, title="a")
    await surface.call(START, id="#1")
    waiting = asyncio.ensure_future(surface.call(WAIT, ids=["#1"], timeout=30_000))
    await asyncio.sleep(0.05)
    await surface.call(COMPLETE, id="#1")
    ended = await waiting
    assert ended["reached"] and ended["tasks"][0]["status"] == "completed"
    assert (await surface.call(WAIT, ids=["#1"]))["reached"]  # the task is completed: the wait ends at once


async def test_a_wait_ends_at_once_when_it_can_no_longer_succeed(surface: Surface) -> None:
    await surface.call(CREATE, title="a")
    await surface.call(CANCEL, id="#1")
    assert not (await surface.call(WAIT, ids=["#1"], timeout=30_000))["reached"]


async def test_a_wait_for_an_unfinished_task_times_out(surface: Surface) -> None:
    await surface.call(CREATE, title="a")
    with pytest.raises(errors.TimedOut):
        await surface.call(WAIT, ids=["#1"], timeout=50)


async def test_an_unknown_task_is_not_found(surface: Surface) -> None:
    for ref in ("#99", "tsk_00000000000000000000000000", "nonsense", "nowhere#1"):
        with pytest.raises(errors.NotFound):
            await surface.call(SHOW, id=ref)


async def test_a_creation_with_invalid_values_is_refused(surface: Surface) -> None:
    bad: list[dict[str, Any]] = [
        {"title": ""},
        {"title": "x" * 501},
        {"title": "two\nlines"},
        {"title": "x", "priority": "urgent"},
        {"title": "x", "member": "a b"},
    ]
    for fields in bad:
        with pytest.raises(errors.Invalid):
            await surface.call(CREATE, **fields)
    assert (await surface.call(LIST))["tasks"] == []
