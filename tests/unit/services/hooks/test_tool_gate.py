"""The permission level decides which tool calls need no permission, for programs without a permission dialog."""

from __future__ import annotations

from pathlib import Path

import pytest

from maestro.core.clock import SystemClock
from maestro.domain.members import Permission
from maestro.domain.spawns import Spawn
from maestro.services.hooks import tool_gate
from maestro.tools.hook_dialect import HookEvent, HookMoment, ToolScope

PLAN, EDIT, FULL = Permission.PLAN, Permission.EDIT, Permission.FULL
SHELL, FILE, LOOK = ToolScope.ANYTHING, ToolScope.A_FILE, ToolScope.NOTHING


@pytest.mark.parametrize(
    ("touch", "action", "free"),
    [
        (LOOK, "tool:read_file", {PLAN, EDIT, FULL}),
        (SHELL, "shell:maestro whoami", {PLAN, EDIT, FULL}),
        (SHELL, "shell:maestro whoami; rm -r x", {FULL}),
        (SHELL, "shell:maestro whoami $(rm -r x)", {FULL}),
        (SHELL, "shell:touch x", {FULL}),
        (SHELL, "tool:web_fetch", {FULL}),
        (SHELL, "edit:maestro", {FULL}),
        (FILE, "edit:a.py", {EDIT, FULL}),
        (FILE, "edit:WORK/deep/a.py", {EDIT, FULL}),
        (FILE, "edit:WORK/../b.py", {FULL}),
        (FILE, "edit:/etc/passwd", {FULL}),
        (FILE, "edit:out/a.py", {FULL}),  # a link to a folder outside the directory
        (FILE, "edit:.git/hooks/pre-commit", {FULL}),
        (FILE, "edit:.gemini/settings.json", {FULL}),
        (FILE, "edit:", {FULL}),
    ],
)
def test_a_call_runs_unasked_only_at_the_permission_levels_that_allow_the_call(
    touch: ToolScope, action: str, free: set[Permission], tmp_path: Path
) -> None:
    work = tmp_path / "work"
    work.mkdir()
    (work / "out").symlink_to(tmp_path)
    named = action.replace("WORK", str(work))
    happening = HookEvent(
        tool="gemini", event="BeforeTool", moment=HookMoment.BEFORE_TOOL, action=named, scope=touch, is_gate=True
    )
    assert {level for level in Permission if tool_gate.may_run_unasked(happening, spawn(level, work))} == free


def spawn(permission: Permission, directory: Path) -> Spawn:
    return Spawn(
        session_id="ses_1",
        tool="gemini",
        arguments=[],
        model=None,
        permission=permission,
        strategy="simple",
        template="execute-simple",
        directory=str(directory),
        run_id=None,
        runner_pid=None,
        runner_started=None,
        exit_code=None,
        exit_signal=None,
        tail=None,
        created_at=SystemClock().now(),
        ended_at=None,
    )
