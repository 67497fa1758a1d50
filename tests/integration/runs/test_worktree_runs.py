"""Runs in which each session has a checkout of its own, and finished work comes together on one branch."""

from __future__ import annotations

from maestro.testing.workshop import Workshop

COMMITS = 'git add -A && git commit -qm "$MAESTRO_TASK_IDS"'


def test_dependants_see_earlier_work_and_all_comes_together(shop: Workshop) -> None:
    shop.task("All of it")
    first = shop.task("First", "--parent", "#1")
    second = shop.task("Second", "--parent", "#1")
    third = shop.task("Third", "--parent", "#1", "--depends-on", "#2", "--depends-on", "#3")
    script = f'ls > "saw-$MAESTRO_TASK_IDS"; echo done > "did-$MAESTRO_TASK_IDS"; {COMMITS}'
    over = shop.run("#1", "--worktree", "--", "sh", "-c", script)
    assert (over["status"], over["counts"]) == ("completed", {"completed": 3})
    files = shop.git("ls-tree", "--name-only", over["branch"]).split()
    assert {f"did-{one['id']}" for one in (first, second, third)} <= set(files)
    saw = shop.git("show", f"{over['branch']}:saw-{third['id']}").split()
    assert {f"did-{first['id']}", f"did-{second['id']}"} <= set(saw)
    assert shop.git("status", "--porcelain") == "" and shop.lines("README") == ["hello"]  # nobody's checkout changed
    assert shop.git("log", "--format=%s", "main").split() == ["first"]


def test_a_conflict_goes_back_and_is_tried_again_on_what_is_there(shop: Workshop) -> None:
    shop.task("All of it")
    shop.task("One", "--parent", "#1")
    shop.task("Other", "--parent", "#1")
    # Both begin from the same commit: neither writes before the other has begun.
    meet = f"echo x >> {shop.repo}/../met; while [ $(wc -l < {shop.repo}/../met) -lt 2 ]; do sleep 0.01; done"
    script = f'{meet}; echo "$MAESTRO_TASK_IDS" >> README; {COMMITS}'
    over = shop.run("#1", "--worktree", "--attempts", "3", "--", "sh", "-c", script)
    assert over["status"] == "completed"
    assert sorted(one["attempts"] for one in over["tasks"]) == [1, 2]
    lines = shop.git("show", f"{over['branch']}:README").split()
    assert lines[0] == "hello" and sorted(lines[1:]) == sorted(one["id"] for one in over["tasks"])


def test_worktrees_are_listed_diffed_and_removed_once_merged(shop: Workshop) -> None:
    shop.spawn(
        "--name", "parser", "--worktree", "--", "sh", "-c", "echo new > grammar; git add -A; git commit -qm grammar"
    )
    assert shop.ended("parser")["status"] == "completed"
    (listed,) = shop.json("worktree", "list")["worktrees"]
    assert (listed["session"], listed["is_clean"], listed["ahead"]) == ("parser", True, 1)
    assert "+new" in shop.json("worktree", "diff", "parser")["text"]
    shop.maestro("worktree", "remove", "parser", exits=5)
    shop.git("branch", "gather")
    assert shop.json("worktree", "merge", "parser", "--into", "gather")["commit"]
    shop.maestro("worktree", "remove", "parser")
    assert shop.git("show", "gather:grammar") == "new\n"
    assert shop.json("worktree", "list")["worktrees"] == []
