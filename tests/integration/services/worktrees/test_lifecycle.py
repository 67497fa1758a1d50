"""Test the worktrees of spawned sessions: creation, set-up, and refusals before a session is written."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from tests.integration.services.worktrees.conftest import worktree_folders, write_worktree_settings

from maestro.testing.supervised import wait_until
from maestro.testing.workshop import Workshop


def test_a_resumed_session_gets_a_new_worktree(shop: Workshop) -> None:
    write_worktree_settings(shop, f'setup = "test -e {shop.live.home}/mended"')
    shop.run_maestro("session", "spawn", "--name", "parser", "--worktree", "--", "sh", "-c", "touch ran", exits=5)
    wait_until(lambda: not worktree_folders(shop), what="the removal of the worktree")
    (shop.live.home / "mended").touch()
    made = shop.call_json("session", "resume", "parser")
    assert shop.wait_for_session_end("parser")["status"] == "completed" and Path(made["directory"], "ran").exists()
    assert [one["state"] for one in shop.call_json("worktree", "list")["worktrees"]] == ["uncommitted"]


def test_files_that_were_not_copied_are_warnings(shop: Workshop) -> None:
    write_worktree_settings(shop, 'copy = ["missing", ".env"]')
    (shop.repo / ".env").write_text("1")
    made = shop.spawn_session("--name", "parser", "--worktree", "--", "true")
    assert made["warnings"] == ["missing was not copied into the worktree: there is no such file."]


def break_checkout(shop: Workshop, how: str) -> str:
    """Make a worktree impossible, and return the text that the refusal must contain."""
    match how:
        case "no git":
            shutil.rmtree(shop.repo / ".git")
            return "git init"
        case "no commit":
            shutil.rmtree(shop.repo / ".git")
            shop.run_git("init", "-q")
            return "no commit yet"
        case "settings":
            write_worktree_settings(shop, "setup = 3")
            return "config.toml cannot be used"
        case _:
            shutil.rmtree(shop.repo)
            return "no longer exists"


@pytest.mark.parametrize("how", ["no git", "no commit", "settings", "no folder"])
def test_a_spawn_where_no_worktree_can_be_made_leaves_no_session(shop: Workshop, how: str) -> None:
    project = shop.create_task("One")["project_id"]
    expected = break_checkout(shop, how)
    exits = {"settings": 2, "no folder": 6}.get(how, 5)
    for arguments in (("run", "vc#1", "--worktree"), ("session", "spawn", "--task", "vc#1", "--worktree")):
        done = shop.live.run_command(*arguments, "--project", project, "--", "true", cwd=shop.live.home)
        assert (done.returncode, expected in done.stderr.decode()) == (exits, True), done.stderr.decode()
    listed = shop.live.run_command("session", "list", "--json", "--project", project, cwd=shop.live.home)
    assert b'"sessions":[]' in listed.stdout
