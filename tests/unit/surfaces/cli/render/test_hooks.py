"""The list of hooks shows the last call and the last problem of each hook of an agent program."""

from __future__ import annotations

from tests.unit.surfaces.cli.render.conftest import AT, WHEN, rendered, text_of

from maestro.domain.hooks import HookFiring
from maestro.operations.hooks import HookList


def test_the_note_for_no_fired_hooks_names_the_tools_to_connect() -> None:
    (note,) = rendered(HookList(hooks=[])).notes
    assert "maestro connect " in note
    assert all(tool in note for tool in ("claude", "codex", "gemini"))


def test_the_list_of_hooks_shows_the_last_call_and_the_last_problem_of_each_hook() -> None:
    hooks = [
        HookFiring("claude", "Stop", AT),
        HookFiring("codex", "stop", None, "no\nanswer", AT),
        HookFiring("gemini", "x", AT, problem="old", problem_at=None),
    ]
    fired, failed, undated = text_of(HookList(hooks=hooks)).splitlines()
    assert fired.split() == ["claude", "Stop", WHEN]
    assert failed.split() == ["codex", "stop", "never", WHEN, "no", "answer"]
    assert "old" not in undated
