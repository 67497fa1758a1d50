"""The recovery plan of a session that ended by accident resumes the session or hands its workers over."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from maestro.core import errors, limits
from maestro.domain.asks import Ask
from maestro.domain.callers import SERVER_CALLER
from maestro.domain.recovery import RecoveryStep, SessionRecovery
from maestro.domain.runs import RunStatus
from maestro.domain.sessions import SessionMode, SessionStatus, StatusSource
from maestro.services.sessions import lifecycle, recovery_plans
from maestro.testing.factories import make_ask

World = Any


async def lose(world: World, caller: Any, *, source: StatusSource = StatusSource.HEARTBEAT) -> SessionRecovery | None:
    """End a session as the lost-session job does, and return its recovery plan."""

    def write(tx: Any) -> SessionRecovery | None:
        session = tx.sessions.get(caller.name)
        lifecycle.finish_session(tx, session, SessionStatus.LOST, source=source, actor=SERVER_CALLER)
        plan: SessionRecovery | None = tx.recoveries.get(caller.name)
        return plan

    found: SessionRecovery | None = await world.store.write(write)
    return found


async def put(world: World, caller: Any, **fields: Any) -> None:
    """Store an earlier recovery of the session."""
    await world.store.write(lambda tx: tx.recoveries.put(SessionRecovery(session_id=caller.name, **fields)))


class TestPlans:
    async def test_a_lost_spawned_session_is_resumed_after_the_first_delay(self, world: World, spawn: Any) -> None:
        worker = await spawn("w")
        plan = await lose(world, worker)
        assert plan is not None and (plan.step, plan.attempts) == (RecoveryStep.RESUME, 0)
        assert plan.due_at == world.clock.now() + timedelta(seconds=limits.resume_delays_seconds[0])

    async def test_the_notice_about_a_lost_session_says_that_maestro_resumes_the_session(
        self, world: World, spawn: Any
    ) -> None:
        boss = await world.boss("boss")
        coordinator = await spawn("lead", under=boss, mode=SessionMode.COORDINATE)
        await lose(world, coordinator)
        (notice,) = await world.unread(boss)
        assert "Maestro starts lead again" in notice.body

    async def test_a_session_that_reported_its_end_is_not_recovered(self, world: World, spawn: Any) -> None:
        worker = await spawn("w")
        await put(world, worker, due_at=world.clock.now(), attempts=1)
        plan = await lose(world, worker, source=StatusSource.REPORT)
        assert plan is None or plan.due_at is None

    async def test_a_registered_worker_is_not_recovered(self, world: World) -> None:
        assert await lose(world, await world.join("w")) is None

    async def test_the_workers_of_a_registered_coordinator_are_handed_over_at_once(self, world: World) -> None:
        plan = await lose(world, await world.boss("boss"))
        assert plan is not None and (plan.step, plan.due_at) == (RecoveryStep.HAND_OVER, world.clock.now())

    async def test_a_session_of_a_run_is_not_resumed(self, world: World, spawn: Any) -> None:
        assert await lose(world, await spawn("w", run=RunStatus.RUNNING)) is None

    async def test_a_worker_with_a_live_coordinator_is_not_resumed(self, world: World, spawn: Any) -> None:
        boss = await world.boss("boss")
        assert await lose(world, await spawn("w", under=boss)) is None

    @pytest.mark.parametrize(
        ("seconds", "resumes"),
        [(0, True), (limits.sleep_grace_seconds - 1, True), (limits.sleep_grace_seconds, False)],
    )
    async def test_a_worker_that_is_lost_within_the_grace_period_after_its_coordinator_resumed_is_resumed(
        self, world: World, spawn: Any, seconds: int, resumes: bool
    ) -> None:
        boss = await world.boss("boss")
        worker = await spawn("w", under=boss)
        await put(world, boss, resumed_at=world.clock.now(), attempts=1)
        world.clock.advance(seconds)
        plan = await lose(world, worker)
        assert (plan is not None) is resumes

    async def test_the_worker_of_an_ended_coordinator_is_resumed(self, world: World, spawn: Any) -> None:
        boss = await world.boss("boss")
        worker = await spawn("w", under=boss)
        await world.end(boss)
        plan = await lose(world, worker)
        assert plan is not None and plan.step is RecoveryStep.RESUME

    async def test_the_workers_are_handed_over_after_the_last_attempt_to_resume_the_coordinator(
        self, world: World, spawn: Any
    ) -> None:
        boss = await spawn("boss", mode=SessionMode.COORDINATE)
        attempts = len(limits.resume_delays_seconds)
        await put(world, boss, attempts=attempts, resumed_at=world.clock.now())
        plan = await lose(world, boss)
        assert plan is not None
        assert (plan.step, plan.attempts, plan.due_at) == (RecoveryStep.HAND_OVER, attempts, world.clock.now())


class TestChoices:
    @pytest.fixture
    async def ask(self, world: World) -> Ask:
        """Store an ask about the workers of the ended coordinator boss with every choice, and return the ask."""
        boss = await world.boss("boss")
        await world.boss("heir")
        await world.join("worker")
        await world.end(boss, "failed")
        session = await world.session(boss)
        choices = await world.store.read(lambda tx: recovery_plans.recovery_choices(tx, session, can_resume=True))
        ask = make_ask(session_id=boss.name, choices=[choice.text for choice in choices])
        await world.store.write(lambda tx: tx.asks.insert(ask))
        await put(world, boss, step=RecoveryStep.HAND_OVER, attempts=2, resumed_at=world.clock.now(), ask_id=ask.id)
        return ask

    async def choose(self, world: World, ask: Ask, choice: str) -> SessionRecovery:
        """Answer the ask with the code of a choice, or with no code for another text; return the plan."""
        session = await world.store.read(lambda tx: tx.sessions.get(ask.session_id))
        choices = await world.store.read(lambda tx: recovery_plans.recovery_choices(tx, session, can_resume=True))
        code = next((known.code for known in choices if known.text == choice), "")
        await world.store.write(lambda tx: recovery_plans.apply_choice(tx, ask, code))
        plan: SessionRecovery = await world.store.read(lambda tx: tx.recoveries.get(ask.session_id))
        assert plan.ask_id is None
        return plan

    async def test_the_choices_name_live_coordinators_that_may_adopt(self, world: World, ask: Ask) -> None:
        assert ask.choices == ["resume", "adopt by heir", "stop its workers", "leave them"]

    async def test_the_choices_of_a_session_without_a_program_do_not_include_resume(self, world: World) -> None:
        session = await world.session(await world.boss("boss"))
        choices = await world.store.read(lambda tx: recovery_plans.recovery_choices(tx, session, can_resume=False))
        assert "resume" not in [choice.text for choice in choices]

    async def test_a_resume_that_the_person_chooses_resets_the_attempts(self, world: World, ask: Ask) -> None:
        plan = await self.choose(world, ask, "resume")
        assert (plan.step, plan.attempts, plan.resumed_at) == (RecoveryStep.RESUME, 0, None)
        assert plan.due_at == world.clock.now()

    async def test_the_plan_of_a_chosen_adoption_names_the_adopter(self, world: World, ask: Ask) -> None:
        plan = await self.choose(world, ask, "adopt by heir")
        heir = await world.store.read(lambda tx: tx.sessions.by_name(ask.project_id, "heir"))
        assert (plan.step, plan.adopter_id, plan.due_at) == (RecoveryStep.ADOPT, heir.id, world.clock.now())

    async def test_a_chosen_stop_is_planned_and_the_choice_to_leave_the_workers_has_no_due_time(
        self, world: World, ask: Ask
    ) -> None:
        assert (await self.choose(world, ask, "stop its workers")).step is RecoveryStep.STOP
        await put(world, await self.owner(world, ask), ask_id=ask.id, due_at=world.clock.now())
        assert (await self.choose(world, ask, "leave them")).due_at is None

    async def owner(self, world: World, ask: Ask) -> Any:
        return await world.store.read(lambda tx: tx.sessions.caller_ever(ask.session_id))

    async def test_an_answer_that_is_no_choice_is_refused_with_the_choices(self, world: World, ask: Ask) -> None:
        with pytest.raises(errors.Invalid) as refused:
            await self.choose(world, ask, "whatever")
        assert "adopt by heir" in refused.value.hint

    async def test_an_answer_to_an_ask_about_another_subject_changes_no_plan(self, world: World, ask: Ask) -> None:
        before = await world.store.read(lambda tx: tx.recoveries.get(ask.session_id))
        await world.store.write(lambda tx: recovery_plans.apply_choice(tx, make_ask(), "whatever"))
        assert await world.store.read(lambda tx: tx.recoveries.get(ask.session_id)) == before
