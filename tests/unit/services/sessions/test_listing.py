"""Lists of sessions come in pages, and show the facts by which the person tells sessions apart."""

from __future__ import annotations

from typing import Any

import pytest

from maestro.core import errors
from maestro.domain.documents import ReportKind
from maestro.operations import sessions as ops
from maestro.operations.sessions import StatusFilter
from maestro.services.sessions import listing
from maestro.services.tasks import session_report as session_reports

World = Any
OTHER = "prj_00000000000000000000000001"


async def listed(world: World, by: Any = None, **fields: Any) -> list[str]:
    """Return the names of the sessions of all pages of a list."""
    caller, names, cursor = by or world.dana, [], ""
    if not caller.is_session:
        fields.setdefault("project", "vc")
    while True:
        request = ops.ListSessions(cursor=cursor, **fields)
        page = await world.store.read(lambda tx, request=request: listing.list_page(tx, caller, request))
        names += [session.name for session in page.sessions]
        if page.cursor is None:
            return names
        cursor = page.cursor


async def family(world: World) -> dict[str, Any]:
    boss = await world.boss("boss")
    made = {"boss": boss}
    for name in ("a", "b", "c", "d"):
        made[name] = await world.join(name, under=boss)
    made["loner"] = await world.join("loner")
    await world.join("far", project=OTHER)
    await world.end(made["b"], "failed")
    await world.do(session_reports.report_work, ops.ReportSession(kind=ReportKind.ERROR, text="stuck"), by=made["d"])
    return made


@pytest.mark.parametrize("limit", [1, 2, 50])
async def test_each_list_of_sessions_is_read_to_its_end_in_pages(world: World, limit: int) -> None:
    made = await family(world)
    assert await listed(world, limit=limit) == ["boss", "a", "b", "c", "d", "loner"]
    assert await listed(world, limit=limit, active=True) == ["boss", "a", "c", "d", "loner"]
    assert await listed(world, limit=limit, project="other") == ["far"]
    assert await listed(world, made["a"], limit=limit, siblings=True) == ["b", "c", "d"]
    assert await listed(world, made["a"], limit=limit, siblings=True, active=True) == ["c", "d"]
    assert await listed(world, made["boss"], limit=limit, my_workers=True) == ["a", "b", "c", "d"]
    failed = StatusFilter.FAILED
    assert await listed(world, limit=limit, status=failed) == ["b", "d"]
    assert await listed(world, limit=limit, status=failed, active=True) == ["d"]
    assert await listed(world, made["boss"], limit=limit, my_workers=True, status=failed) == ["b", "d"]
    assert await listed(world, limit=limit, status=StatusFilter.ANY, active=True) == ["boss", "a", "c", "d", "loner"]


async def test_a_session_without_relations_gets_empty_lists_and_the_person_an_error(world: World) -> None:
    made = await family(world)
    assert await listed(world, made["loner"], siblings=True) == []
    assert await listed(world, made["loner"], my_workers=True) == []
    for field in ("siblings", "my_workers"):
        with pytest.raises(errors.NotFound):
            await listed(world, **{field: True})


async def only(world: World, by: Any, name: str) -> ops.ListedSession:
    request = ops.ListSessions(project="" if by.is_session else "vc")
    page = await world.store.read(lambda tx: listing.list_page(tx, by, request))
    (found,) = [session for session in page.sessions if session.name == name]
    return found


async def test_a_listed_session_shows_held_tasks_unread_mail_terminal_and_last_prompt(world: World) -> None:
    worker, other = await world.join("w"), await world.join("v")
    held = await world.task(held_by=worker)
    await world.send(None, "w")
    await world.store.write(lambda tx: tx.windows.put(worker.name, terminal="pts/3", directory="/src/vc"))
    await world.store.write(lambda tx: tx.windows.set_prompt(worker.name, directory="/src", last_prompt="Mend it"))
    found = await only(world, world.dana, "w")
    assert [task.ref for task in found.work] == [held.ref] and found.unread == 1
    assert (found.project, found.terminal, found.last_prompt) == ("vc", "pts/3", "Mend it")
    assert (await only(world, other, "w")).last_prompt == "", "a prompt is between the person and one agent"


async def test_a_listed_session_without_a_held_task_shows_the_tasks_for_which_it_was_started(world: World) -> None:
    task = await world.task()
    await world.join("w", task=[task.id])
    assert [work.ref for work in (await only(world, world.dana, "w")).work] == [task.ref]


async def test_the_person_lists_the_live_sessions_of_all_projects_and_a_session_does_not(world: World) -> None:
    made = await family(world)
    everywhere = await listed(world, limit=2, all_projects=True)
    assert everywhere == ["boss", "a", "c", "d", "loner", "far"]
    with pytest.raises(errors.NotPermitted, match="Only the person"):
        await listed(world, made["a"], all_projects=True)
