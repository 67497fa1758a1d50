"""The rights of the starter are checked at the start of a run and limit each session of the run."""

from __future__ import annotations

from typing import Any

import pytest

from maestro.core import errors
from maestro.domain.callers import Caller
from maestro.domain.members import Permission
from maestro.domain.recovery import RecoveryStep, SessionRecovery
from maestro.domain.runs import Run
from maestro.operations import sessions as session_ops
from maestro.operations.members import EditMember
from maestro.operations.session_settings import GrantSession
from maestro.services.members import registry as members
from maestro.services.runs import rights
from maestro.services.sessions import adoption, lifecycle
from maestro.testing.factories import make_run

World = Any


async def starter(world: World, run: Run) -> Caller | None:
    found: Caller | None = await world.store.read(lambda tx: rights.starter_of(tx, run))
    return found


async def check(world: World, caller: Caller, run: Run, *names: str | None) -> None:
    await world.store.read(lambda tx: rights.check_start(tx, caller, run, names))


class TestStart:
    async def test_the_person_may_start_a_run_with_every_program(self, world: World) -> None:
        await check(world, world.dana, make_run("tsk_1", allow=["shell:*"]), None)

    async def test_a_session_needs_a_full_grant_for_a_plain_program(self, world: World) -> None:
        boss = await world.boss("boss", grant=Permission.EDIT)
        with pytest.raises(errors.NotPermitted):
            await check(world, boss, make_run("tsk_1"), None)
        await check(world, await world.boss("full", grant=Permission.FULL), make_run("tsk_1"), None)

    async def test_a_session_cannot_allow_a_run_actions_that_the_session_may_not_do_itself(
        self, world: World
    ) -> None:
        boss = await world.boss("boss", grant=Permission.EDIT)
        with pytest.raises(errors.NotPermitted):
            await check(world, boss, make_run("tsk_1", tool="claude", arguments=[], allow=["shell:rm *"]), None)

    async def test_a_member_with_more_rights_than_the_caller_is_refused(self, world: World) -> None:
        await world.member("ada")
        await world.do(members.edit_member, EditMember(project="vc", id="ada", allow=["task.cancel"]))
        boss = await world.boss("boss", grant=Permission.FULL)
        with pytest.raises(errors.NotPermitted):
            await check(world, boss, make_run("tsk_1"), "ada")

    async def test_a_member_with_a_higher_permission_than_the_grant_is_refused(self, world: World) -> None:
        await world.member("ada", permission=Permission.FULL)
        boss = await world.boss("boss", grant=Permission.EDIT)
        with pytest.raises(errors.NotPermitted):
            await check(world, boss, make_run("tsk_1", tool="claude", arguments=[]), "Ada")

    async def test_an_unknown_member_does_not_prevent_the_start_of_a_run(self, world: World) -> None:
        boss = await world.boss("boss", grant=Permission.FULL)
        await check(world, boss, make_run("tsk_1"), "removed")


class TestStarter:
    async def test_a_run_of_the_person_has_the_rights_of_the_person(self, world: World) -> None:
        caller = await starter(world, make_run("tsk_1", started_by="dana"))
        assert caller is not None and (caller.role, caller.name) == ("person", "dana")

    async def test_an_ended_session_keeps_its_rights_for_its_runs(self, world: World) -> None:
        boss = await world.boss("boss", grant=Permission.EDIT)
        await world.end(boss)
        caller = await starter(world, make_run("tsk_1", started_by=boss.name))
        assert caller is not None and (caller.name, caller.grant) == (boss.name, Permission.EDIT)

    async def test_a_successor_has_only_rights_that_both_sessions_have(self, world: World) -> None:
        boss, heir = (
            await world.boss("boss", grant=Permission.EDIT),
            await world.boss("heir", grant=Permission.FULL),
        )
        await world.join("w", under=boss)
        await world.end(boss)
        await world.do(adoption.adopt_sessions, session_ops.AdoptSessions(ids=[boss.name], by=heir.name))
        caller = await starter(world, make_run("tsk_1", started_by=boss.name))
        assert caller is not None and (caller.name, caller.grant) == (heir.name, Permission.EDIT)

    async def test_a_run_uses_the_present_grant_of_its_starter(self, world: World) -> None:
        boss = await world.boss("boss", grant=Permission.FULL)
        run = make_run("tsk_1", started_by=boss.name)
        await world.do(lifecycle.set_grant, GrantSession(id=boss.name, grant=Permission.PLAN))
        caller = await starter(world, run)
        assert caller is not None and caller.grant is Permission.PLAN

    async def test_a_run_has_no_starter_while_the_starter_is_being_resumed(self, world: World) -> None:
        boss = await world.boss("boss")
        await world.end(boss, "lost")
        plan = SessionRecovery(session_id=boss.name, step=RecoveryStep.RESUME, due_at=world.clock.now())
        await world.store.write(lambda tx: tx.recoveries.put(plan))
        assert await starter(world, make_run("tsk_1", started_by=boss.name)) is None

    async def test_a_run_of_an_unknown_session_is_refused(self, world: World) -> None:
        run = make_run("tsk_1", started_by="ses_00000000000000000000000000")
        with pytest.raises(errors.NotPermitted, match="does not exist"):
            await starter(world, run)

    async def test_a_run_whose_starter_may_no_longer_start_runs_is_refused(self, world: World) -> None:
        await world.member("ada")
        boss = await world.boss("boss", member="ada")
        await world.do(members.edit_member, EditMember(project="vc", id="ada", deny=["run.start"]))
        with pytest.raises(errors.NotPermitted, match=r"run\.start is denied"):
            await starter(world, make_run("tsk_1", started_by=boss.name))
