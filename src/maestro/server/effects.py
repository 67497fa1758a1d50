"""What follows from what: every effect across nouns with its handlers. All run in the transaction of the change."""

from __future__ import annotations

from maestro.services import effects
from maestro.services.asks import asks
from maestro.services.issues import task_moved
from maestro.services.mail import threads
from maestro.services.recovery import orphans
from maestro.services.sessions import recovery_plans
from maestro.services.tasks import ended_holder, stages


def bind_effects() -> None:
    effects.task_moved.bind(task_moved.apply_task_move)
    effects.stages_changed.bind(stages.settle_stages)
    effects.session_ended.bind(
        ended_holder.release_tasks,
        threads.release_threads_of_ended,
        asks.withdraw_asks_of_ended,
        orphans.settle_orphans_ask,
    )
    effects.answers_not_needed.bind(asks.withdraw_all_asks)
    effects.ask_answered.bind(recovery_plans.apply_choice)


bind_effects()
