"""The name of a workflow template follows from mode and strategy, and each template serves certain modes."""

from __future__ import annotations

import pytest

from maestro.domain.sessions import SessionMode
from maestro.domain.templates import WorkflowTemplate, serves_mode, template_name


@pytest.mark.parametrize(
    ("mode", "strategy", "name"),
    [
        (SessionMode.COORDINATE, "", "coordinate-default"),
        (SessionMode.EXECUTE, "", "execute-simple"),
        (SessionMode.PLAN, "", "execute-plan"),
        (SessionMode.COORDINATE, "dag", "coordinate-dag"),
        (SessionMode.COORDINATE, "batch", "coordinate-intelligent-batching"),
        (SessionMode.COORDINATE, "batching", "coordinate-intelligent-batching"),
        (SessionMode.EXECUTE, "plan", "execute-plan"),
        (SessionMode.PLAN, "plan", "execute-plan"),
        (SessionMode.PLAN, "deep", "plan-deep"),
    ],
)
def test_the_name_of_a_template_follows_from_mode_and_strategy(mode: SessionMode, strategy: str, name: str) -> None:
    assert template_name(mode, strategy) == name


def workflow_template(mode: SessionMode, strategy: str) -> WorkflowTemplate:
    return WorkflowTemplate(name=f"{mode}-{strategy}", mode=mode, strategy=strategy, summary="", phases=())


@pytest.mark.parametrize("mode", SessionMode)
@pytest.mark.parametrize("template_mode", SessionMode)
def test_a_template_serves_sessions_of_its_own_mode(mode: SessionMode, template_mode: SessionMode) -> None:
    assert serves_mode(workflow_template(template_mode, "simple"), mode) == (template_mode is mode)


def test_the_plan_strategy_of_executors_serves_planners_too() -> None:
    template = workflow_template(SessionMode.EXECUTE, "plan")
    assert serves_mode(template, SessionMode.PLAN)
    assert serves_mode(template, SessionMode.EXECUTE)
    assert not serves_mode(template, SessionMode.COORDINATE)
    assert not serves_mode(workflow_template(SessionMode.COORDINATE, "plan"), SessionMode.PLAN)
