"""Test of `make demo-agents` with the facts from git, the server and the models, not with its output."""

from __future__ import annotations

import pytest
from agent_programs import installed
from demo.play import play
from demo.proof import AS_IT_SHOULD_BE
from demo.story import Story

pytestmark = pytest.mark.agents


def test_the_three_programs_merge_their_work_and_leave_no_process_and_no_folder() -> None:
    if not installed.FOLDER.is_dir():
        pytest.skip("the programs are not installed: make test-agents")
    facts, left = play(Story())
    assert facts == AS_IT_SHOULD_BE
    assert left == []
    assert facts.shown == "96.6 °C"
    assert facts.merges == ["cody", "gemma"]
    assert facts.gates["sh test/sensor.sh"] == [1, 0]
