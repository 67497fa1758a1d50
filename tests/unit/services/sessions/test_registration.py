"""A registered session keeps its facts, and the rights of the caller limit the registration."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest

from maestro.core import errors, limits
from maestro.domain.sessions import SessionMode
from maestro.operations import sessions as ops
from maestro.operations.members import EditMember
from maestro.services.members import registry as members
from maestro.services.sessions import lifecycle, registration
from maestro.tools.registry import Tool

World = Any
OTHER, DAVE = "prj_00000000000000000000000001", "wsp_00000000000000000000000000"


@pytest.fixture
def process() -> Iterator[subprocess.Popen[bytes]]:
    """Start a child process of this process, and end the child process after the test."""
    started = subprocess.Popen(["sleep", "600"])
    yield started
    started.kill()
    started.wait()


async def test_a_session_keeps_the_facts_of_its_registration(world: World) -> None:
    await world.member("ada", tool=Tool.CODEX)
    boss = await world.boss("boss")
    task = await world.task()
    caller = await world.join("w", under=boss, member="@Ada", task=["#1"], path="/src/dave/vc/deep", pid=os.getpid())
    session = await world.session(caller)
    assert (session.mode, session.status, session.status_source) == (SessionMode.EXECUTE, "working", "report")
    assert (session.parent_id, session.member, session.tool, session.tasks) == (boss.name, "ada", "codex", [task.id])
    assert (session.workspace_id, session.address, session.pid) == (DAVE, "dave/vc", os.getpid())
    assert session.lease_until == world.clock.now() + timedelta(seconds=limits.session_lease_seconds)
    assert (await world.session(boss)).status == "idle"
    assert (await world.session(await world.join("t", tool="claude"))).tool == "claude"


async def test_a_session_without_a_name_is_named_after_its_mode_and_its_id(world: World) -> None:
    named = await world.session(await world.join(None))
    assert named.name.startswith("execute-") and named.id.endswith(named.name[-6:])


async def test_a_session_that_registers_another_session_is_the_parent(world: World) -> None:
    boss = await world.boss("boss")
    child = await world.join("w", by=boss)
    assert child.parent_id == boss.name


async def test_a_spawned_session_has_the_status_spawning_until_its_process_starts(world: World) -> None:
    request = ops.RegisterSession(project="vc", name="w")
    registered = await world.store.write(
        lambda tx: registration.register_session(tx, world.dana, request, lambda _: "token", is_spawned=True)
    )
    assert (registered.status, registered.status_source, registered.token) == ("spawning", "process", "token")


async def test_the_answer_to_a_registration_counts_the_unread_mail_of_shared_mailboxes(world: World) -> None:
    await world.member("ada")
    await world.send(None, "vc")
    await world.send(None, "@ada")
    request = ops.RegisterSession(project="vc", name="w", member="ada")
    registered = await world.store.write(
        lambda tx: registration.register_session(tx, world.dana, request, lambda _: "token")
    )
    assert registered.unread == 2


@pytest.mark.parametrize("fields", [{"member": "nobody"}, {"task": ["#9"]}, {"project": "nothing"}], ids=str)
async def test_a_registration_with_an_unknown_member_task_or_project_is_refused(
    world: World, fields: dict[str, Any]
) -> None:
    with pytest.raises(errors.NotFound):
        await world.join("x", **fields)


async def test_a_registration_with_the_name_of_a_live_session_is_refused(world: World) -> None:
    await world.join("w")
    with pytest.raises(errors.NameTaken) as refused:
        await world.join("w")
    assert "maestro session end ses_" in refused.value.hint


@pytest.mark.parametrize("name", ["human", "coordinator", "ses_00000000000000000000000000"])
async def test_a_registration_with_a_reserved_name_is_refused(world: World, name: str) -> None:
    with pytest.raises(errors.Invalid, match="is reserved"):
        await world.join(name)


async def test_a_coordinator_that_has_ended_or_is_of_another_project_gets_no_workers(world: World) -> None:
    ended = await world.boss("ended")
    far = await world.boss("far", project=OTHER)
    await world.end(ended)
    for under in (ended, far):
        with pytest.raises(errors.Conflict):
            await world.join("x", under=under)


async def test_a_session_in_a_checkout_of_another_project_has_no_workspace(world: World) -> None:
    far = await world.session(await world.join("far", project=OTHER, path="/src/dave/vc"))
    assert (far.workspace_id, far.address) == (None, None)


class TestNames:
    async def test_the_name_of_a_session_whose_process_is_gone_is_free_after_its_lease(
        self, world: World, process: subprocess.Popen[bytes]
    ) -> None:
        first = await world.join("w", pid=process.pid)
        process.kill()
        process.wait()
        with pytest.raises(errors.NameTaken):
            await world.join("w")
        world.clock.advance(limits.session_lease_seconds + 1)
        second = await world.join("w")
        assert second.name != first.name
        assert (await world.session(first)).status == "lost"

    async def test_the_name_of_a_session_with_a_live_process_stays_taken(
        self, world: World, process: subprocess.Popen[bytes]
    ) -> None:
        await world.join("w", pid=process.pid)
        world.clock.advance(limits.session_lease_seconds + 1)
        with pytest.raises(errors.NameTaken):
            await world.join("w")

    async def test_the_name_of_a_spawned_session_stays_taken_until_its_runner_has_reported(
        self, world: World, spawn: Any
    ) -> None:
        await spawn("w")
        world.clock.advance(limits.session_lease_without_process_seconds + 1)
        with pytest.raises(errors.NameTaken):
            await world.join("w")


class TestRightsOfWorkers:
    async def test_a_worker_registers_no_coordinator(self, world: World) -> None:
        worker = await world.join("w")
        with pytest.raises(errors.NotPermitted, match="cannot register a coordinator"):
            await world.boss("x", by=worker)

    async def test_a_worker_registers_sessions_only_under_itself(self, world: World) -> None:
        boss = await world.boss("boss")
        worker = await world.join("w", under=boss)
        with pytest.raises(errors.NotPermitted, match="only under itself"):
            await world.join("x", by=worker, under=boss)
        assert (await world.join("x", by=worker, under=worker)).parent_id == worker.name

    async def test_a_worker_registers_sessions_only_as_its_own_member(self, world: World) -> None:
        await world.member("ada")
        await world.member("bob")
        worker = await world.join("w", member="ada")
        with pytest.raises(errors.NotPermitted, match="not as bob"):
            await world.join("x", by=worker, member="bob")
        await world.join("x", by=worker, member="ada")

    async def test_a_worker_registers_sessions_only_in_its_own_checkout(self, world: World) -> None:
        outside = await world.join("outside")
        inside = await world.join("inside", path="/src/dave/vc")
        with pytest.raises(errors.NotPermitted, match="not in dave/vc"):
            await world.join("x", by=outside, path="/src/dave/vc")
        await world.join("x", by=inside, path="/src/dave/vc/deep")

    async def test_a_session_registers_no_session_with_more_rights(self, world: World) -> None:
        await world.member("ada")
        await world.do(members.edit_member, EditMember(project="vc", id="ada", allow=["task.cancel"]))
        boss = await world.boss("boss")
        with pytest.raises(errors.NotPermitted, match="more rights than its own"):
            await world.join("x", by=boss, member="ada")

    async def test_a_session_registers_sessions_only_in_its_own_project(self, world: World) -> None:
        boss = await world.boss("boss")
        with pytest.raises(errors.NotPermitted):
            await world.join("x", by=boss, project=OTHER)


class TestProcesses:
    async def test_a_process_is_registered_for_one_live_session_only(
        self, world: World, process: subprocess.Popen[bytes]
    ) -> None:
        first = await world.join("w", pid=process.pid)
        with pytest.raises(errors.Conflict, match="is registered as a session already"):
            await world.join("x", pid=process.pid)
        await world.do(lifecycle.end_session, ops.EndSession(id=first.name))
        await world.join("x", pid=process.pid)

    @pytest.mark.parametrize("pid", [1, 2**22 + 1])
    async def test_a_process_that_cannot_be_an_agent_is_refused(self, world: World, pid: int) -> None:
        with pytest.raises(errors.NotFound, match="There is no process"):
            await world.join("w", pid=pid)

    async def test_a_session_registers_only_processes_that_it_has_started(
        self, world: World, process: subprocess.Popen[bytes]
    ) -> None:
        worker, starter = await world.join("w"), await world.join("starter", pid=os.getpid())
        for pid in (os.getppid(), process.pid):
            with pytest.raises(errors.NotPermitted):
                await world.join("x", by=worker, pid=pid)
        child = await world.join("child", by=starter, pid=process.pid)
        assert (await world.session(child)).pid == process.pid
