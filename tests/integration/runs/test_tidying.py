"""What sessions leave on the disk: worktrees and branches go when nobody needs them, and never with work in them."""

from __future__ import annotations

import shutil
import sqlite3
import time
from pathlib import Path

import pytest

from maestro.testing.supervised import wait_until
from maestro.testing.workshop import Workshop

COMMITS = 'git add -A && git commit -qm "$MAESTRO_TASK_IDS"'


def ours(shop: Workshop) -> list[str]:
    """Branches of sessions, not of runs."""
    names = shop.run_git("for-each-ref", "--format=%(refname:short)", "refs/heads/maestro").split()
    return [name for name in names if not name.startswith("maestro/run-")]


def folders(shop: Workshop) -> list[Path]:
    return list((shop.live.home / "worktrees").glob("*/*"))


def configure(shop: Workshop, text: str) -> None:
    (shop.repo / ".maestro").mkdir(exist_ok=True)
    (shop.repo / ".maestro" / "config.toml").write_text(f"[worktree]\n{text}\n")


def test_a_run_leaves_its_branch_and_nothing_else(shop: Workshop) -> None:
    shop.create_task("All of it")
    for title in ("One", "Other"):
        shop.create_task(title, "--parent", "#1")
    over = shop.run_to_end("#1", "--worktree", "--", "sh", "-c", f'echo 1 > "$MAESTRO_TASK_IDS"; {COMMITS}')
    assert over["status"] == "completed"
    wait_until(lambda: not ours(shop) and not folders(shop), what="the worktrees to go")
    assert shop.call_json("worktree", "list")["worktrees"] == []
    assert len(shop.run_git("ls-tree", "--name-only", over["branch"]).split()) == 3


def test_who_wants_to_keep_worktrees_does(shop: Workshop) -> None:
    shop.run_maestro("config", "set", "keep_worktrees", "true")
    shop.live.stop()
    shop.live.start()
    shop.create_task("One")
    shop.run_to_end("#1", "--worktree", "--", "sh", "-c", f"echo 1 > a; {COMMITS}")
    shop.create_task("Broken")
    configure(shop, 'setup = "exit 1"')
    shop.run_to_end("#2", "--worktree", "--attempts", "1", "--", "true")  # what never started goes all the same
    wait_until(lambda: len(ours(shop)) == 1, what="the second worktree to go")
    assert [one["state"] for one in shop.call_json("worktree", "list")["worktrees"]] == ["merged"]
    removed = shop.call_json("worktree", "remove", "--merged")
    assert len(removed["removed"]) == 1 and not ours(shop) and not folders(shop)


def test_several_are_removed_at_once_and_what_would_be_lost_stays(shop: Workshop) -> None:
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
    assert [found["path"] for found in removed["kept"]] == [other["path"]] and "tsk_" in removed["kept"][0]["why"]
    assert Path(other["path"]).is_dir() and not Path(one["path"]).exists()
    shop.run_maestro("worktree", "remove", exits=2)
    shop.run_maestro("worktree", "remove", one["session"], "--merged", exits=2)
    shop.run_maestro("worktree", "remove", "--run", "run_nothing", exits=6)


@pytest.mark.parametrize("words", [("--", "true"), ("--", "no-such-program")])
def test_a_spawn_that_fails_leaves_no_worktree_and_no_branch(shop: Workshop, words: tuple[str, ...]) -> None:
    if words[1] == "true":
        configure(shop, 'setup = "echo made > made; echo one; echo what went wrong >&2; exit 7"')
        said = shop.run_maestro("session", "spawn", "--name", "parser", "--worktree", *words, exits=5)
        assert "exit code 7: what went wrong" in said and "\n  one" in said
    else:
        shop.run_maestro("session", "spawn", "--name", "parser", "--worktree", *words, exits=1)
    assert shop.wait_for_session_end("parser")["status"] == "failed"
    wait_until(lambda: not ours(shop) and not folders(shop), what="the worktree to go")
    assert shop.call_json("worktree", "list")["worktrees"] == []


def test_each_try_of_a_run_that_could_not_be_started_leaves_nothing(shop: Workshop) -> None:
    shop.create_task("One")
    configure(shop, 'setup = "echo no compiler; exit 7"')
    over = shop.run_to_end("#1", "--worktree", "--attempts", "2", "--", "true")
    assert over["status"] == "failed" and "exit code 7: no compiler" in over["note"]
    wait_until(lambda: not ours(shop) and not folders(shop), what="the worktrees to go")


def test_a_session_that_is_started_again_has_a_worktree_again(shop: Workshop) -> None:
    configure(shop, f'setup = "test -e {shop.live.home}/mended"')
    shop.run_maestro("session", "spawn", "--name", "parser", "--worktree", "--", "sh", "-c", "touch ran", exits=5)
    wait_until(lambda: not folders(shop), what="the worktree to go")
    (shop.live.home / "mended").touch()
    made = shop.call_json("session", "resume", "parser")
    assert shop.wait_for_session_end("parser")["status"] == "completed" and Path(made["directory"], "ran").exists()
    assert [one["state"] for one in shop.call_json("worktree", "list")["worktrees"]] == ["uncommitted"]


def test_what_is_not_copied_is_told(shop: Workshop) -> None:
    configure(shop, 'copy = ["missing", ".env"]')
    (shop.repo / ".env").write_text("1")
    made = shop.spawn_session("--name", "parser", "--worktree", "--", "true")
    assert made["warnings"] == ["missing was not copied into the worktree: there is no such file."]


def broken(shop: Workshop, how: str) -> str:
    """Makes it impossible to have a worktree; what the refusal must say."""
    match how:
        case "no git":
            shutil.rmtree(shop.repo / ".git")
            return "git init"
        case "no commit":
            shutil.rmtree(shop.repo / ".git")
            shop.run_git("init", "-q")
            return "no commit yet"
        case "settings":
            configure(shop, "setup = 3")
            return "config.toml cannot be used"
        case _:
            shutil.rmtree(shop.repo)
            return "no longer exists"


@pytest.mark.parametrize("how", ["no git", "no commit", "settings", "no folder"])
def test_where_no_worktree_can_be_made_it_is_refused_before_anything_is_tried(shop: Workshop, how: str) -> None:
    project = shop.create_task("One")["project_id"]
    expected = broken(shop, how)
    exits = {"settings": 2, "no folder": 6}.get(how, 5)
    for words in (("run", "vc#1", "--worktree"), ("session", "spawn", "--task", "vc#1", "--worktree")):
        done = shop.live.run_command(*words, "--project", project, "--", "true", cwd=shop.live.home)
        assert (done.returncode, expected in done.stderr.decode()) == (exits, True), done.stderr.decode()
    listed = shop.live.run_command("session", "list", "--json", "--project", project, cwd=shop.live.home)
    assert b'"sessions":[]' in listed.stdout


def test_old_transcripts_go_and_young_ones_stay(shop: Workshop) -> None:
    made = shop.spawn_session("--name", "parser", "--", "echo", "hello")
    shop.wait_for_session_end("parser")
    assert "hello" in shop.run_maestro("session", "logs", "parser")
    shop.live.stop()
    shop.live.start()
    assert shop.runner_folder(made["id"]).exists()
    long_ago = int((time.time() - 31 * 86400) * 1_000_000)
    shop.live.stop()
    _sqlite(shop, f"UPDATE sessions SET ended_at = {long_ago} WHERE id = '{made['id']}'")
    (shop.live.home / "runs" / "not-ours").mkdir()
    shop.live.start()
    wait_until(lambda: not shop.runner_folder(made["id"]).exists(), what="the old folder to go")
    assert (shop.live.home / "runs" / "not-ours").exists() and shop.show_session("parser")["status"] == "completed"


def _sqlite(shop: Workshop, statement: str) -> None:
    with sqlite3.connect(shop.live.home / "maestro.db") as connection:
        connection.execute(statement)
