"""Test the manifests of new and of restarted sessions."""

from __future__ import annotations

from typing import Any

from tests.unit.services.conftest import OTHER, VC, World

from maestro.domain import manifests as shapes
from maestro.domain.callers import Caller
from maestro.domain.members import Permission
from maestro.operations import issues as issue_ops
from maestro.operations import mail as mail_ops
from maestro.operations import server as server_ops
from maestro.operations.base import Operation
from maestro.services.issues.operations import IssueOperations
from maestro.services.supervision import manifests


async def build(world: World, caller: Caller, *operations: Operation, **fields: Any) -> shapes.Manifest:
    """Build and return the manifest of a registered session."""
    session = await world.session(caller)
    brief = manifests.ManifestBrief(
        session=session,
        project=VC,
        directory="/src/dave/vc",
        permission=Permission.EDIT,
        strategy="simple",
        template="execute-simple",
        model=None,
        reach=shapes.AgentReach.COMMANDS,
        **fields,
    )
    return await world.store.read(lambda tx: manifests.build_manifest(tx, brief, operations))


async def stored_task(world: World, **fields: Any) -> Any:
    task = await world.task(**fields)
    return await world.store.read(lambda tx: tx.tasks.get(task.id))


async def test_the_manifest_of_a_worker_names_its_coordinator_and_its_siblings(world: World) -> None:
    boss = await world.boss("boss")
    worker, sibling = await world.join("worker", under=boss), await world.join("sibling", under=boss)
    await world.join("stranger")
    manifest = await build(world, worker)
    assert manifest.coordinator is not None and manifest.coordinator.session_id == boss.name
    assert [session.session_id for session in manifest.siblings] == [sibling.name]


async def test_the_manifest_of_a_session_without_a_parent_has_no_coordinator_and_no_siblings(world: World) -> None:
    worker = await world.join("worker")
    await world.join("other")
    manifest = await build(world, worker)
    assert (manifest.coordinator, manifest.siblings) == (None, ())


async def test_a_manifest_contains_only_commands_that_the_session_may_call(world: World) -> None:
    worker = await world.join("worker")
    manifest = await build(world, worker, mail_ops.INBOX, server_ops.STOP)
    assert [command.operation for command in manifest.commands] == ["mail.inbox"]


async def test_a_task_in_a_manifest_names_its_dependencies_and_its_open_blockers(world: World) -> None:
    worker = await world.join("worker")
    first = await world.task()
    second = await stored_task(world, depends_on=[first.ref], accept=["Tests pass."])
    (task,) = (await build(world, worker, tasks=[second])).tasks
    assert [link.id for link in task.depends_on] == [link.id for link in task.blockers] == [first.id]
    assert (task.ready, task.acceptance) == (False, ("Tests pass.",))


async def test_a_task_in_a_manifest_names_its_parent_and_its_children(world: World) -> None:
    worker = await world.join("worker")
    parent = await world.task()
    child = await stored_task(world, parent=parent.ref)
    stored_parent = await world.store.read(lambda tx: tx.tasks.get(parent.id))
    below, above = (await build(world, worker, tasks=[child, stored_parent])).tasks
    assert below.parent == parent.ref and [link.id for link in above.children] == [child.id]


async def test_an_issue_in_a_manifest_names_its_opener_and_the_opening_project(world: World) -> None:
    finder, worker = await world.join("finder", project=OTHER.id), await world.join("worker")
    request = issue_ops.OpenIssue(to="vc", title="Crash", message="The parser crashes.")
    issue = await world.do(IssueOperations(world.guard).open_issue, request, by=finder)
    opened = await world.store.read(lambda tx: tx.tasks.get(issue.id))
    own = await stored_task(world)
    first, second = (await build(world, worker, tasks=[opened, own])).tasks
    assert first.opened_by is not None and first.opened_by.endswith(", project other")
    assert second.opened_by is None


async def test_a_manifest_hides_the_text_of_a_reference_task_from_a_reader_of_another_project(world: World) -> None:
    worker, stranger = await world.join("worker"), await world.join("stranger", project=OTHER.id)
    task = await stored_task(world, description="Secret.")
    for reader, text in ((stranger, ""), (worker, "Secret.")):
        (entry,) = (await build(world, worker, references=[task], reader=reader)).reference_tasks
        assert (entry.title, entry.description) == ("t", text)


async def test_a_manifest_has_the_chosen_members_and_the_roster_of_the_project(world: World) -> None:
    ada = await world.member("ada", skills=["pipes"])
    await world.member("bob")
    manifest = await build(world, await world.join("worker"), members=[ada])
    assert [(member.name, member.skills) for member in manifest.members] == [("ada", ("pipes",))]
    assert {member.name for member in manifest.roster} == {"ada", "bob"}


async def test_a_rebuilt_manifest_has_the_present_tasks_and_keeps_the_directive(world: World) -> None:
    boss = await world.boss("boss")
    worker = await world.join("worker", under=boss)
    directive = manifests.create_directive(
        "Parser", "Small.", sender="dana", kind=shapes.SenderKind.PERSON, message_id="msg_1"
    )
    previous = await build(world, worker, directive=directive)
    sibling, task = await world.join("sibling", under=boss), await world.task()
    session = await world.session(worker)
    last = shapes.LastStart(status=session.status, ended_at="", last_output="", unread=0, messages=())
    rebuilt = await world.store.read(
        lambda tx: manifests.rebuild_manifest(tx, previous, session, task_ids=[task.id, "tsk_deleted"], resumed=last)
    )
    assert (rebuilt.directive, rebuilt.resumed) == (directive, last)
    assert [entry.id for entry in rebuilt.tasks] == [task.id]
    assert [entry.session_id for entry in rebuilt.siblings] == [sibling.name]
