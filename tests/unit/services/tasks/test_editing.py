"""Callers create, edit, delete, list and show tasks."""

from __future__ import annotations

from typing import Any

import pytest

from maestro.core import errors, limits
from maestro.domain.documents import ReportKind
from maestro.domain.priorities import Priority
from maestro.domain.tasks import TaskStatus
from maestro.operations.task_shapes import (
    CreateTask,
    ListChildren,
    ListTasks,
    OneTask,
    ReadyTasks,
    ShowTaskTree,
    TaskPage,
)
from maestro.services.tasks import editing, moves

World = Any
Board = Any


class TestCreation:
    async def test_a_new_task_gets_the_next_number_and_is_ready(self, world: World, board: Board) -> None:
        first = await world.task(description="all", priority=Priority.HIGH, accept=["it parses"], member="ada")
        second = await world.task(found_in=first.id)
        assert (first.ref, first.status, first.ready, second.ref) == ("vc#1", "todo", True, "vc#2")
        stored = await board.show(first.id)
        assert (stored.title, stored.priority, stored.accept, stored.member) == ("t", "high", ["it parses"], "ada")
        created = [event.data for event in await world.log() if event.kind == "task.created"]
        assert created[-1] == {"ref": "vc#2", "title": "t", "status": "todo", "found_in": "vc#1"}

    async def test_a_task_with_an_unknown_dependency_is_not_created(self, world: World, board: Board) -> None:
        blocker = await board.create()
        with pytest.raises(errors.NotFound):
            await world.task(depends_on=[blocker, "#99"])
        listed = await board.call(editing.list_tasks, project="vc")
        assert [task.ref for task in listed.tasks] == ["vc#1"]

    async def test_an_unknown_stage_is_refused_with_the_stages_of_the_project(self, board: Board) -> None:
        with pytest.raises(errors.Invalid) as refused:
            await board.create(stage="party")
        assert refused.value.data["stages"] == ["plan", "implement", "verify", "package"]

    async def test_a_session_creates_tasks_only_in_its_own_project(self, world: World) -> None:
        worker = await world.join("w")
        with pytest.raises(errors.NotPermitted):
            await world.do(editing.create_task, CreateTask(project="other", title="t"), by=worker)

    async def test_only_the_person_and_coordinators_set_gates(self, world: World, board: Board) -> None:
        worker, boss = await world.join("w"), await world.boss("boss")
        with pytest.raises(errors.NotPermitted):
            await world.task(by=worker, gates=["make test"])
        assert (await world.task(by=boss, gates=["make test"])).gates == ["make test"]
        held = await board.create(held_by=worker)
        with pytest.raises(errors.NotPermitted):
            await board.call(editing.edit_task, held, by=worker, gates=[])

    async def test_a_new_child_reopens_its_completed_parent(self, world: World, board: Board) -> None:
        parent = await board.create()
        await board.complete(parent)
        child = await world.task(parent=parent)
        assert child.warnings == ["vc#1 was completed and is open again for its new child vc#2."]
        assert await board.statuses(parent) == ["todo"]

    async def test_a_worker_cannot_reopen_a_completed_task_by_a_new_child(self, world: World, board: Board) -> None:
        worker = await world.join("w1")
        finished = await board.create()
        await board.complete(finished)
        with pytest.raises(errors.MaestroError):
            await board.create(by=worker, parent=finished)
        held = await board.create(by=worker, held_by=worker)
        with pytest.raises(errors.MaestroError):
            await board.call(editing.edit_task, held, by=worker, parent=finished)
        assert await board.statuses(finished) == ["completed"]

    async def test_a_parent_in_another_project_is_refused(self, world: World) -> None:
        other = await world.do(editing.create_task, CreateTask(project="other", title="t"))
        with pytest.raises(errors.Invalid, match="other#1 is in another project"):
            await world.task(parent=other.id)

    async def test_the_depth_of_nested_tasks_is_limited(self, board: Board, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(limits, "task_depth_max", 3)
        root = await board.create()
        middle = await board.create(parent=root)
        leaf = await board.create(parent=middle)
        with pytest.raises(errors.Invalid, match="too deep"):
            await board.create(parent=leaf)
        another = await board.create()
        with pytest.raises(errors.Invalid, match="too deep"):
            await board.call(editing.edit_task, root, parent=another)  # the tree would be four tasks deep

    @pytest.mark.parametrize(
        ("fields", "is_simple"),
        [({}, True), ({"depends_on": ["#1"]}, False), ({"parent": "#1"}, False), ({"stage": "plan"}, False)],
    )
    def test_a_creation_with_a_dependency_a_parent_or_a_stage_is_not_simple(
        self, fields: dict[str, Any], is_simple: bool
    ) -> None:
        assert editing.is_simple_creation(CreateTask(title="t", **fields)) is is_simple


class TestEdits:
    async def test_an_edit_of_a_task_changes_only_the_given_fields(self, world: World, board: Board) -> None:
        task = await board.create(description="old", member="ada", priority=Priority.LOW)
        edited = await board.call(editing.edit_task, task, title="new", member="", priority=Priority.HIGH)
        assert (edited.title, edited.description, edited.member, edited.priority) == ("new", "old", None, "high")
        (event,) = [event for event in await world.log() if event.kind == "task.edited"]
        assert event.data == {"ref": "vc#1", "fields": ["member", "priority", "title"]}

    async def test_an_edit_of_a_task_without_a_change_is_refused(self, board: Board) -> None:
        task = await board.create()
        with pytest.raises(errors.Invalid, match="No change was given for vc#1"):
            await board.call(editing.edit_task, task)

    async def test_a_task_whose_stage_is_removed_becomes_ready(self, board: Board) -> None:
        await board.create(stage="plan")
        held = await board.create(stage="implement")
        assert not (await board.show(held)).ready
        assert (await board.call(editing.edit_task, held, stage="")).ready
        assert (await board.ready_events())[-1] == "vc#2"
        await board.complete(held)

    async def test_a_task_that_moves_to_an_earlier_stage_holds_the_next_stage_back(self, board: Board) -> None:
        later, moved = await board.create(stage="implement"), await board.create(stage="verify")
        assert (await board.show(later)).ready
        await board.call(editing.edit_task, moved, stage="plan")
        assert [(await board.show(task)).ready for task in (later, moved)] == [False, True]

    @pytest.mark.parametrize("how", ["delete", "move away"])
    async def test_a_parent_completes_when_its_last_open_child_is_deleted_or_moved_away(
        self, board: Board, how: str
    ) -> None:
        parent = await board.create()
        await board.complete(await board.create(parent=parent))
        last = await board.create(parent=parent)
        assert await board.statuses(parent) == ["todo"]
        if how == "delete":
            await board.call(editing.delete_task, last)
        else:
            await board.call(editing.edit_task, last, parent="")
        assert await board.statuses(parent) == ["completed"]

    async def test_a_task_cannot_become_a_child_of_its_own_child(self, board: Board) -> None:
        parent = await board.create()
        child = await board.create(parent=parent)
        with pytest.raises(errors.Cycle):
            await board.call(editing.edit_task, parent, parent=child)


class TestDeletion:
    async def test_the_deletion_of_a_task_is_logged_and_releases_the_next_stage(
        self, world: World, board: Board
    ) -> None:
        plan, held = await board.create(stage="plan"), await board.create(stage="implement")
        deleted = await board.call(editing.delete_task, plan)
        assert (deleted.id, deleted.ref) == (plan, "vc#1")
        assert (await board.show(held)).ready
        assert "task.deleted" in [event.kind for event in await world.log()]
        with pytest.raises(errors.NotFound):
            await board.call(editing.show_task, plan)

    async def test_a_task_with_dependants_or_children_cannot_be_deleted(self, board: Board) -> None:
        task = await board.create()
        await board.create(depends_on=[task])
        await board.create(parent=task)
        with pytest.raises(errors.Conflict) as refused:
            await board.call(editing.delete_task, task)
        assert refused.value.data["dependants"] == ["vc#2", "vc#3"]


class TestLists:
    async def test_the_tasks_that_the_caller_holds_are_listed_in_full_pages(self, world: World, board: Board) -> None:
        """The status filter applies before the limit of the page, so that each page except the last is full."""
        tasks = [await board.create() for _ in range(6)]
        for task in tasks:
            await board.call(moves.start_task, task)
        for task in (tasks[0], tasks[2]):
            await board.call(moves.block_task, task, reason="x")
        await board.create(held_by=await world.join("w"))
        found: list[int] = []
        cursor: str | None = ""
        while cursor is not None:
            request = ListTasks(project="vc", mine=True, status=TaskStatus.IN_PROGRESS, limit=2, cursor=cursor)
            page = await world.do(editing.list_tasks, request)
            found += [task.number for task in page.tasks]
            cursor = page.cursor
        assert found == [2, 4, 5, 6]

    async def test_a_list_of_tasks_contains_only_the_beginning_of_a_long_description(
        self, world: World, board: Board
    ) -> None:
        task = await board.create(description="x" * 5000)
        listed = await world.do(editing.list_tasks, ListTasks(project="vc"))
        assert len(listed.tasks[0].description) == 1001
        assert len((await world.do(editing.show_task, OneTask(id=task))).description) == 5000

    async def test_archived_tasks_are_listed_only_on_request(self, world: World, board: Board) -> None:
        hidden, shown = await board.create(), await board.create()
        await board.call(editing.edit_task, hidden, archived=True)
        for archived, expected in ((False, [shown]), (True, [hidden, shown])):
            listed = await world.do(editing.list_tasks, ListTasks(project="vc", archived=archived))
            assert [task.id for task in listed.tasks] == expected

    async def test_ready_tasks_are_listed_by_priority_and_then_by_number_in_pages(
        self, world: World, board: Board
    ) -> None:
        low = await board.create(priority=Priority.LOW)
        await board.create(priority=Priority.CRITICAL)
        await board.create(priority=Priority.CRITICAL)
        await board.create(depends_on=[low])
        refs: list[str] = []
        cursor: str | None = ""
        while cursor is not None:
            page = await world.do(editing.list_ready_tasks, ReadyTasks(project="vc", limit=1, cursor=cursor))
            refs += [task.ref for task in page.tasks]
            cursor = page.cursor
        assert refs == ["vc#2", "vc#3", "vc#1"]

    async def test_the_list_of_ready_tasks_of_a_parent_contains_only_its_children(
        self, world: World, board: Board
    ) -> None:
        parent = await board.create()
        child = await board.create(parent=parent)
        listed = await world.do(editing.list_ready_tasks, ReadyTasks(project="vc", parent=parent))
        assert [task.id for task in listed.tasks] == [child]

    async def test_a_waiting_task_is_listed_with_its_blockers_or_its_stage(self, world: World, board: Board) -> None:
        blocker = await board.create(stage="plan")
        await board.create(depends_on=[blocker])
        await board.create(stage="implement")
        listed = await world.do(editing.list_blocked_tasks, TaskPage(project="vc"))
        shown = [(task.ref, [b.ref for b in task.blockers], task.waits_for_stage) for task in listed.tasks]
        assert shown == [("vc#2", ["vc#1"], None), ("vc#3", [], "plan")]

    async def test_a_tree_of_tasks_shows_children_below_their_parents(self, world: World, board: Board) -> None:
        first, second = await board.create(), await board.create()
        child = await board.create(parent=first, depends_on=[second])
        await board.create(parent=child)
        tree = await world.do(editing.show_tree, ShowTaskTree(project="vc"))
        assert [(node.ref, node.depth) for node in tree.tasks] == [("vc#1", 0), ("vc#3", 1), ("vc#4", 2), ("vc#2", 0)]
        assert tree.tasks[1].depends_on == ["vc#2"] and not tree.truncated
        below = await world.do(editing.show_tree, ShowTaskTree(id=child))
        assert [(node.ref, node.depth) for node in below.tasks] == [("vc#3", 0), ("vc#4", 1)]

    async def test_a_large_tree_of_tasks_is_cut_and_marked_as_truncated(
        self, world: World, board: Board, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(limits, "tree_items_max", 2)
        root = await board.create()
        for _ in range(2):
            await board.create(parent=root)
        tree = await world.do(editing.show_tree, ShowTaskTree(id=root))
        assert len(tree.tasks) == 2 and tree.truncated

    async def test_the_children_of_a_task_are_listed_in_pages(self, world: World, board: Board) -> None:
        parent = await board.create()
        children = [await board.create(parent=parent) for _ in range(3)]
        page = await world.do(editing.list_children, ListChildren(id=parent, limit=2))
        rest = await world.do(editing.list_children, ListChildren(id=parent, limit=2, cursor=page.cursor))
        assert [task.id for task in [*page.tasks, *rest.tasks]] == children and rest.cursor is None


class TestDetails:
    async def test_a_task_is_shown_with_its_links_and_reports(self, world: World, board: Board) -> None:
        worker = await world.join("w")
        blocker = await board.create()
        task = await board.create(depends_on=[blocker])
        child = await board.create(parent=task)
        await board.create(depends_on=[task])
        found = await board.create(found_in=task)
        await board.complete(blocker)
        await board.call(moves.start_task, task, by=worker)
        await board.call(moves.report_task, task, by=worker, kind=ReportKind.PROGRESS, text="half")
        shown = await world.do(editing.show_task, OneTask(id=task))
        links = {
            name: [link.ref for link in getattr(shown, name)] for name in ("dependencies", "dependants", "found")
        }
        assert links == {"dependencies": ["vc#1"], "dependants": ["vc#4"], "found": ["vc#5"]}
        assert [link.id for link in shown.children] == [child]
        assert [report.text for report in shown.reports] == ["half"]
        assert (await world.do(editing.show_task, OneTask(id=found))).origin.ref == "vc#2"

    async def test_a_session_of_another_project_sees_only_the_outline_of_a_task(
        self, world: World, board: Board
    ) -> None:
        stranger = await world.join("stranger", project="other")
        task = await board.create(description="secret", gates=["make test"])
        await board.call(moves.start_task, task)
        await board.call(moves.report_task, task, kind=ReportKind.PROGRESS, text="half")
        shown = await world.do(editing.show_task, OneTask(id=task), by=stranger)
        assert (shown.title, shown.description, shown.gates, shown.reports) == ("t", "", [], [])
        listed = await world.do(editing.list_tasks, ListTasks(project="vc"), by=stranger)
        assert listed.tasks[0].description == ""


async def test_a_list_without_a_ready_task_counts_the_open_tasks_by_status(world: World) -> None:
    ready = ReadyTasks(project="vc")
    assert (await world.do(editing.list_ready_tasks, ready)).not_ready == {}
    worker = await world.join("w")
    held = await world.task(held_by=worker)
    await world.task(depends_on=[held.id])
    listed = await world.do(editing.list_ready_tasks, ready)
    assert listed.tasks == [] and listed.not_ready == {"in_progress": 1, "todo": 1}
    await world.task()
    assert (await world.do(editing.list_ready_tasks, ready)).not_ready == {}
