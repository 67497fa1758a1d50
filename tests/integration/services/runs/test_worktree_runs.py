"""Runs with worktrees: each session has its own checkout, and finished work is merged into one branch."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

from maestro.testing.workshop import Workshop

COMMITS = 'git add -A && git commit -qm "$MAESTRO_TASK_IDS"'


def test_dependants_see_earlier_work_and_all_work_is_merged(shop: Workshop) -> None:
    shop.create_task("All of it")
    first = shop.create_task("First", "--parent", "#1")
    second = shop.create_task("Second", "--parent", "#1")
    third = shop.create_task("Third", "--parent", "#1", "--depends-on", "#2", "--depends-on", "#3")
    script = f'ls > "saw-$MAESTRO_TASK_IDS"; echo done > "did-$MAESTRO_TASK_IDS"; {COMMITS}'
    over = shop.run_to_end("#1", "--worktree", "--", "sh", "-c", script)
    assert (over["status"], over["counts"]) == ("completed", {"completed": 3})
    files = shop.run_git("ls-tree", "--name-only", over["branch"]).split()
    assert {f"did-{one['id']}" for one in (first, second, third)} <= set(files)
    saw = shop.run_git("show", f"{over['branch']}:saw-{third['id']}").split()
    assert {f"did-{first['id']}", f"did-{second['id']}"} <= set(saw)
    assert shop.run_git("status", "--porcelain") == "" and shop.read_words("README") == [
        "hello"
    ]  # the main checkout is unchanged
    assert shop.run_git("log", "--format=%s", "main").split() == ["first"]


def test_an_ended_run_names_the_branch_of_its_work(shop: Workshop) -> None:
    shop.create_task("All of it")
    said = shop.run_maestro("run", "#1", "--worktree", "--", "sh", "-c", f"echo 1 > a; {COMMITS}")
    (run,) = shop.call_json("run", "list")["runs"]
    where = f"The work is on {run['branch']}. To merge it into your branch: git merge {run['branch']}"
    assert where in said and where in shop.run_maestro("run", "show", run["id"])
    assert where in shop.run_maestro("mail", "inbox")
    shop.run_git("merge", "-q", run["branch"])
    assert shop.read_words("a") == ["1"]
    shop.create_task("Nothing")
    assert "git merge" not in shop.run_maestro("run", "show", shop.run_to_end("#2", "--", "true")["id"])


# Both sessions begin at the same commit, because neither writes before the other has begun.
MEET = "echo x >> {met}; while [ $(wc -l < {met}) -lt 2 ]; do sleep 0.01; done"
# A worker whose task is a merge makes the merge, and keeps the lines of both branches.
MENDS = (
    "if grep -q 'git merge maestro' $MAESTRO_TASK_PROMPT_FILE; then"
    " $(grep -o 'git merge maestro[^ <]*' $MAESTRO_TASK_PROMPT_FILE | head -1);"
    " sed -i '/^[<|=>][<|=>]*\\( \\|$\\)/d' README; git add -A; git commit -q --no-edit; exit 0; fi"
)


def clashing(shop: Workshop, *more: str) -> list[dict[str, Any]]:
    shop.create_task("All of it")
    return [shop.create_task(title, "--parent", "#1", *more) for title in ("One", "Other")]


def test_a_conflict_becomes_a_task_that_dependants_wait_for(shop: Workshop) -> None:
    one, other = clashing(shop)
    after = shop.create_task("After both", "--parent", "#1", "--depends-on", "#2", "--depends-on", "#3")
    meet = MEET.format(met=shop.live.home / "met")
    script = f'{MENDS}; {meet}; echo "$MAESTRO_TASK_IDS" >> README; {COMMITS}'
    over = shop.run_to_end("#1", "--worktree", "--", "sh", "-c", script)
    assert (over["status"], shop.task_status("#1")) == ("completed", "completed")
    lines = shop.run_git("show", f"{over['branch']}:README").split()
    assert lines[0] == "hello" and lines[-1] == after["id"]
    assert sorted(lines[1:-1]) == sorted([one["id"], other["id"]])  # no line of either session is lost
    (mending,) = [task for task in over["tasks"] if task["title"].startswith("Merge ")]
    shown = shop.call_json("task", "show", mending["ref"])
    assert shown["parent_id"] == shown["found_in"] and shown["parent_id"] in (one["id"], other["id"])
    assert all(word in shown["description"] for word in ("README", "<<<<<<<", "git merge maestro/", over["branch"]))
    assert [result["passed"] for result in shown["evidence"]] == [True, True]
    events = shop.call_json("timeline", "--run", over["id"])["events"]
    assert any(one["kind"] == "run.attempt" and "conflicts with" in str(one) for one in events)
    assert {one["state"] for one in shop.call_json("worktree", "list")["worktrees"]} <= {"merged"}
    told = [
        (moment["kind"], moment["subject"]) for moment in shop.call_json("timeline", "--run", over["id"])["events"]
    ]
    assert told.index(("task.completed", mending["ref"])) < told.index(("task.started", after["ref"]))


def test_an_unresolved_conflict_does_not_count_as_resolved(shop: Workshop) -> None:
    clashing(shop)
    meet = MEET.format(met=shop.live.home / "met")
    script = f'{meet}; echo "$MAESTRO_TASK_IDS" >> README; {COMMITS}'
    over = shop.run_to_end("#1", "--worktree", "--attempts", "1", "--", "sh", "-c", script)
    (mending,) = [task for task in over["tasks"] if task["title"].startswith("Merge ")]
    assert over["status"] == "failed" and mending["ref"] in over["note"]
    assert "merge-base" in shop.call_json("task", "show", mending["ref"])["reason"]
    assert len(shop.run_git("show", f"{over['branch']}:README").split()) == 2  # the work that was merged first stays


def test_a_conflict_of_a_manual_merge_makes_one_task_that_ends_with_the_merge(shop: Workshop) -> None:
    shop.create_task("Greeting")
    script = f"echo theirs > README; {COMMITS}"
    made = shop.spawn_session("--task", "#1", "--name", "parser", "--worktree", "--", "sh", "-c", script)
    assert shop.wait_for_session_end("parser")["status"] == "completed"
    shop.run_git("switch", "-qc", "gather")
    (shop.repo / "README").write_text("ours\n")
    shop.run_git("commit", "-qam", "ours")
    done = shop.call_json("worktree", "merge", "parser", "--into", "gather", exits=5)
    assert done["commit"] is None and done["task"] == "vc#2" and "ours" in done["conflicts"][0]
    again = shop.call_json("worktree", "merge", "parser", "--into", "gather", exits=5)
    assert again["task"] == "vc#2"  # no second task
    task = shop.call_json("task", "show", "#2")
    assert (task["found_in"], task["priority"], len(task["gates"])) == (
        shop.call_json("task", "show", "#1")["id"],
        "high",
        2,
    )
    assert "\n    maestro worktree merge parser --into gather\n\nThe merge counts only" in task["description"]
    assert "vc#2" in shop.run_maestro("mail", "inbox") and "in conflict" in shop.run_maestro("worktree", "list")
    tree = Path(made["directory"])
    subprocess.run(["git", "merge", "-q", "-X", "ours", "--no-edit", "gather"], cwd=tree, check=True)
    merged = shop.call_json("worktree", "merge", "parser", "--into", "gather")
    assert merged["commit"] and merged["checked_out_at"] == [str(shop.repo)]
    assert (
        shop.run_git("status", "--porcelain") == "" and shop.run_git("rev-parse", "HEAD").strip() == merged["commit"]
    )
    assert shop.task_status("#2") == "cancelled"


def test_a_merge_into_the_checked_out_branch_is_part_of_the_next_commit(shop: Workshop) -> None:
    script = "echo theirs > README; echo new > grammar; git add -A; git commit -qm grammar"
    shop.spawn_session("--name", "parser", "--worktree", "--", "sh", "-c", script)
    shop.wait_for_session_end("parser")
    (shop.repo / "README").write_text("mine\n")
    said = shop.run_maestro("worktree", "merge", "parser", "--into", "main", exits=5)
    assert "README" in said and f"git -C {shop.repo} stash" in said
    assert shop.run_git("log", "--format=%s", "main").split() == ["first"] and shop.read_words("README") == ["mine"]
    shop.run_git("checkout", "-q", "README")
    shop.run_maestro("worktree", "merge", "parser", "--into", "main")
    (shop.repo / "other").write_text("1\n")
    shop.run_git("add", "-A")
    shop.run_git("commit", "-qm", "next")
    assert shop.run_git("show", "main:grammar") == "new\n" and shop.read_words("README") == ["theirs"]


def test_worktrees_are_listed_diffed_and_removed_once_merged(shop: Workshop) -> None:
    shop.spawn_session(
        "--name", "parser", "--worktree", "--", "sh", "-c", "echo new > grammar; git add -A; git commit -qm grammar"
    )
    assert shop.wait_for_session_end("parser")["status"] == "completed"
    (listed,) = shop.call_json("worktree", "list")["worktrees"]
    assert (listed["session"], listed["is_clean"], listed["ahead"]) == ("parser", True, 1)
    assert "+new" in shop.call_json("worktree", "diff", "parser")["text"]
    shop.run_maestro("worktree", "remove", "parser", exits=5)
    shop.run_git("branch", "gather")
    assert shop.call_json("worktree", "merge", "parser", "--into", "gather")["commit"]
    shop.run_maestro("worktree", "remove", "parser")
    assert shop.run_git("show", "gather:grammar") == "new\n"
    assert shop.call_json("worktree", "list")["worktrees"] == []
