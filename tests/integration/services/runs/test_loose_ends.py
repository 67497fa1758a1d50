"""Runs with worktrees: only commits on the branch of a session count as work."""

from __future__ import annotations

import pytest

from maestro.testing.workshop import Workshop

COMMITS = 'git add -A && git commit -qm "$MAESTRO_TASK_IDS"'


LEAVES = {
    "uncommitted: README, new": "echo changed >> README; echo new > new",
    "uncommitted: staged": "echo new > staged; git add staged",
    "committed elsewhere: on aside": "git switch -qc aside; echo 1 > a; git add -A; git commit -qm aside",
    "committed elsewhere: at": "git switch -q --detach; echo 1 > a; git add -A; git commit -qm aside",
    "the worktree is gone": 'here=$PWD; cd /; rm -rf "$here"',
    "a merge is under way": "git checkout -qb b; git commit -q --allow-empty -m b; git checkout -q -;"
    " git commit -q --allow-empty -m c; git merge -q --no-commit b || true",
}


@pytest.mark.parametrize("why", LEAVES)
def test_a_task_with_work_that_a_merge_would_leave_out_is_not_completed(shop: Workshop, why: str) -> None:
    shop.create_task("All of it")
    shop.create_task("First", "--parent", "#1")
    shop.create_task("After it", "--parent", "#1", "--depends-on", "#2")
    over = shop.run_to_end("#1", "--worktree", "--attempts", "1", "--", "sh", "-c", LEAVES[why])
    first, after = over["tasks"]
    assert (over["status"], first["status"], after["attempts"]) == ("failed", "failed", 0)
    assert why in first["note"] and why in over["note"]
    assert shop.run_git("rev-list", "--count", f"main..{over['branch']}") == "0\n"
    state = {"uncommitted": "uncommitted", "a": "uncommitted", "committed": "elsewhere", "the": "gone"}
    (listed,) = shop.call_json("worktree", "list")["worktrees"]
    if "merge" not in why:
        assert listed["state"] == state[why.split()[0].rstrip(":")]
        assert listed["state"] in shop.run_maestro("worktree", "list")


def test_a_live_session_gets_its_uncommitted_work_back_and_can_commit_it(shop: Workshop) -> None:
    shop.create_task("First")
    script = (
        "echo new > new; maestro session report complete done;"
        " maestro mail wait --timeout 30s > /dev/null; git add -A; git commit -qm new;"
        " maestro session report complete 'now it is'; maestro mail wait --timeout 1s > /dev/null; exit 0"
    )
    over = shop.run_to_end("#1", "--worktree", "--attempts", "1", "--", "sh", "-c", script)
    assert over["status"] == "completed" and shop.run_git("show", f"{over['branch']}:new") == "new\n"
    sent_back = [
        one for one in shop.call_json("timeline", "--task", "#1")["events"] if one["kind"] == "task.rejected"
    ]
    assert len(sent_back) == 1 and "uncommitted: new" in str(sent_back)


def test_files_of_the_set_up_command_are_not_work(shop: Workshop) -> None:
    (shop.repo / ".maestro").mkdir()
    (shop.repo / ".maestro" / "config.toml").write_text('[worktree]\nsetup = "echo 1 > made; echo 2 >> README"\n')
    shop.create_task("First")
    over = shop.run_to_end("#1", "--worktree", "--", "true")
    assert over["status"] == "completed"
    shop.create_task("Other")
    over = shop.run_to_end("#2", "--worktree", "--attempts", "1", "--", "sh", "-c", "echo more >> made")
    assert over["status"] == "failed" and "uncommitted: made" in over["note"]


def test_commits_after_the_report_are_reported_as_unmerged(shop: Workshop) -> None:
    shop.create_task("First")
    script = (
        'echo 1 > a; git add -A; git commit -qm a; maestro session report complete done; until [ "$(maestro task show'
        " '#1' --json | grep -c '\"completed\"')\" -gt 0 ]; do sleep 0.05; done; echo 2 > b; git add -A; git commit -qm b"
    )
    over = shop.run_to_end("#1", "--worktree", "--", "sh", "-c", script)
    name = over["tasks"][0]["session"]
    shop.wait_for_session_end(name)
    (listed,) = shop.call_json("worktree", "list")["worktrees"]
    assert over["status"] == "completed" and (listed["state"], listed["ahead"]) == ("unmerged", 1)
    shop.run_maestro("worktree", "merge", name)
    assert shop.run_git("show", f"{over['branch']}:b") == "2\n"


def test_merge_commits_have_the_author_of_the_git_settings(shop: Workshop) -> None:
    shop.run_git("config", "user.name", "Ada")
    shop.run_git("config", "user.email", "ada@example.org")
    shop.create_task("First")
    over = shop.run_to_end("#1", "--worktree", "--", "sh", "-c", f"echo 1 > a; {COMMITS}")
    assert shop.run_git("log", "-1", "--format=%an %ae, %cn", over["branch"]) == "Ada ada@example.org, Ada\n"
