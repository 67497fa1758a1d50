"""Test that worktrees and branches of finished sessions are removed, and that no work is lost."""

from __future__ import annotations

import pytest
from tests.integration.services.worktrees.conftest import session_branches, worktree_folders, write_worktree_settings

from maestro.testing.supervised import wait_until
from maestro.testing.workshop import Workshop

COMMITS = 'git add -A && git commit -qm "$MAESTRO_TASK_IDS"'


def test_a_completed_run_leaves_only_its_branch(shop: Workshop) -> None:
    shop.create_task("All of it")
    for title in ("One", "Other"):
        shop.create_task(title, "--parent", "#1")
    over = shop.run_to_end("#1", "--worktree", "--", "sh", "-c", f'echo 1 > "$MAESTRO_TASK_IDS"; {COMMITS}')
    assert over["status"] == "completed"
    wait_until(lambda: not session_branches(shop) and not worktree_folders(shop), what="the removal of the worktrees")
    assert shop.call_json("worktree", "list")["worktrees"] == []
    assert len(shop.run_git("ls-tree", "--name-only", over["branch"]).split()) == 3


def test_merged_worktrees_stay_with_the_setting_keep_worktrees(shop: Workshop) -> None:
    shop.run_maestro("config", "set", "keep_worktrees", "true")
    shop.live.stop()
    shop.live.start()
    shop.create_task("One")
    shop.run_to_end("#1", "--worktree", "--", "sh", "-c", f"echo 1 > a; {COMMITS}")
    shop.create_task("Broken")
    write_worktree_settings(shop, 'setup = "exit 1"')
    shop.run_to_end(
        "#2", "--worktree", "--attempts", "1", "--", "true"
    )  # a worktree whose program never started is removed anyway
    wait_until(lambda: len(session_branches(shop)) == 1, what="the removal of the second worktree")
    assert [one["state"] for one in shop.call_json("worktree", "list")["worktrees"]] == ["merged"]
    removed = shop.call_json("worktree", "remove", "--merged")
    assert len(removed["removed"]) == 1 and not session_branches(shop) and not worktree_folders(shop)


@pytest.mark.parametrize("arguments", [("--", "true"), ("--", "no-such-program")])
def test_a_failed_spawn_leaves_no_worktree_and_no_branch(shop: Workshop, arguments: tuple[str, ...]) -> None:
    if arguments[1] == "true":
        write_worktree_settings(shop, 'setup = "echo made > made; echo one; echo what went wrong >&2; exit 7"')
        output = shop.run_maestro("session", "spawn", "--name", "parser", "--worktree", *arguments, exits=5)
        assert "exit code 7: what went wrong" in output and "\n  one" in output
    else:
        shop.run_maestro("session", "spawn", "--name", "parser", "--worktree", *arguments, exits=1)
    assert shop.wait_for_session_end("parser")["status"] == "failed"
    wait_until(lambda: not session_branches(shop) and not worktree_folders(shop), what="the removal of the worktree")
    assert shop.call_json("worktree", "list")["worktrees"] == []


def test_failed_attempts_of_a_run_leave_no_worktrees(shop: Workshop) -> None:
    shop.create_task("One")
    write_worktree_settings(shop, 'setup = "echo no compiler; exit 7"')
    over = shop.run_to_end("#1", "--worktree", "--attempts", "2", "--", "true")
    assert over["status"] == "failed" and "exit code 7: no compiler" in over["note"]
    wait_until(lambda: not session_branches(shop) and not worktree_folders(shop), what="the removal of the worktrees")
