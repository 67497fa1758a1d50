"""Test the removal of several worktrees on request."""

from __future__ import annotations

from pathlib import Path

from maestro.testing.workshop import Workshop


def test_worktrees_of_a_run_are_removed_and_uncommitted_work_stays(shop: Workshop) -> None:
    shop.create_task("All of it")
    for title in ("One", "Other"):
        shop.create_task(title, "--parent", "#1")
    script = 'echo 1 > "$MAESTRO_TASK_IDS"; exit 3'
    over = shop.run_to_end("#1", "--worktree", "--attempts", "1", "--", "sh", "-c", script)
    one, other = shop.call_json("worktree", "list")["worktrees"]
    assert shop.call_json("worktree", "remove", "--merged") == {"removed": [], "kept": []}
    for file in Path(one["path"]).glob("tsk_*"):
        file.unlink()
    removed = shop.call_json("worktree", "remove", "--run", over["id"])
    assert [found["path"] for found in removed["removed"]] == [one["path"]]
    assert [found["path"] for found in removed["kept"]] == [other["path"]] and "tsk_" in removed["kept"][0]["reason"]
    assert Path(other["path"]).is_dir() and not Path(one["path"]).exists()
    shop.run_maestro("worktree", "remove", exits=2)
    shop.run_maestro("worktree", "remove", one["session"], "--merged", exits=2)
    shop.run_maestro("worktree", "remove", "--run", "run_nothing", exits=6)
