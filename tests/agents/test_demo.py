"""`make demo-agents`, once, to its end: what git, the server and the models say of it, not what it prints."""

from __future__ import annotations

import pytest
from agent_programs import installed
from demo.play import play
from demo.proof import AS_IT_SHOULD_BE
from demo.story import Story

pytestmark = pytest.mark.agents


def test_three_programs_bring_their_work_together_and_leave_nothing() -> None:
    if not installed.FOLDER.is_dir():
        pytest.skip("the programs are not installed: make test-agents")
    facts, left = play(Story())
    assert facts == AS_IT_SHOULD_BE
    assert left == []
    assert facts.shown == "96.6 °C"
    assert facts.merges == ["cody", "gemma"]
    assert facts.gates["sh test/sensor.sh"] == [1, 0]
