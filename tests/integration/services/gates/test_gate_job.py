"""Gates in complete runs: their directories, their duration, and tasks that do not pass."""

from __future__ import annotations

from maestro.testing.supervised import wait_until
from maestro.testing.workshop import Workshop

COMMITS = 'git add -A && git commit -qm "$MAESTRO_TASK_IDS"'


def evidence(shop: Workshop, ref: str) -> list[tuple[str, bool]]:
    return [(one["command"], one["passed"]) for one in reversed(shop.call_json("task", "show", ref)["evidence"])]


def test_the_gates_of_a_parent_run_when_its_children_are_completed(shop: Workshop) -> None:
    shop.create_task("All of it", "--gate", "test -e part")
    shop.create_task("Part", "--parent", "#1")
    shop.spawn_session("--task", "#2", "--", "touch", "part")
    wait_until(lambda: shop.task_status("#1") == "completed", what="the completion of the parent")
    assert evidence(shop, "#1") == [("test -e part", True)]


def test_a_parent_whose_gates_fail_is_open_again_and_the_person_gets_a_notice(shop: Workshop) -> None:
    shop.create_task("All of it", "--gate", "echo not whole; test -e whole")
    shop.create_task("Part", "--parent", "#1")
    shop.spawn_session("--task", "#2", "--", "true")
    wait_until(lambda: "not whole" in shop.call_json("task", "show", "#1")["reason"], what="the verdict of the gate")
    assert shop.call_json("task", "show", "#1")["ready"]
    assert "vc#1 did not pass: gate echo not whole; test -e whole, exit code 1" in shop.run_maestro("mail", "inbox")
    (shop.repo / "whole").touch()
    shop.spawn_session("--task", "#1", "--name", "mender", "--", "true")
    wait_until(lambda: shop.task_status("#1") == "completed", what="the completion of the parent")


def test_a_run_waits_for_the_gates_of_parents_and_repeats_failed_work(shop: Workshop) -> None:
    shop.create_task("All of it")
    parent = shop.create_task("First half", "--parent", "#1", "--gate", "test -e whole")
    part = shop.create_task("Part", "--parent", "#2")
    after = shop.create_task("Second half", "--parent", "#1", "--depends-on", "#2")
    script = f'echo $MAESTRO_TASK_IDS >> order; test "$MAESTRO_TASK_IDS" != {parent["id"]} || touch whole'
    over = shop.run_to_end("#1", "--", "sh", "-c", script)
    assert over["status"] == "completed"
    assert shop.read_words("order") == [part["id"], parent["id"], after["id"]]
    assert evidence(shop, "#2") == [("test -e whole", False), ("test -e whole", True)]
    assert shop.task_status("#1") == "completed"


def test_a_run_fails_when_its_own_task_does_not_pass_its_gates(shop: Workshop) -> None:
    shop.create_task("All of it", "--gate", "false")
    shop.create_task("Part", "--parent", "#1")
    over = shop.run_to_end("#1", "--attempts", "1", "--", "true")
    assert over["status"] == "failed" and "vc#1" in over["note"]
    assert evidence(shop, "#1") == [
        ("false", False),
        ("false", False),
    ]  # after the completion of the child, and after the attempt at the task itself


def test_the_gates_of_a_parent_see_the_merged_work_of_a_run_with_worktrees(shop: Workshop) -> None:
    gate = "ls; test -e did-2 -a -e did-3"
    shop.create_task("All of it", "--gate", gate)
    for _ in range(2):
        shop.create_task("Part", "--parent", "#1")
    script = f"touch \"did-$(maestro task show $MAESTRO_TASK_IDS --json | grep -o '#[0-9]*' | head -1 | tr -d '#')\"; {COMMITS}"
    over = shop.run_to_end("#1", "--worktree", "--", "sh", "-c", script)
    assert over["status"] == "completed"
    assert evidence(shop, "#1") == [(gate, True)]
    assert not (shop.repo / "did-2").exists()  # the files are only on the run's branch
    assert shop.run_git("worktree", "list", "--porcelain").count("maestro-merge") == 0


def test_a_slow_gate_does_not_delay_the_gates_of_other_tasks(shop: Workshop) -> None:
    shop.create_task("Slow", "--gate", "while [ ! -e quick-was-here ]; do sleep 0.01; done")
    shop.spawn_session("--task", "#1", "--", "true")
    wait_until(lambda: shop.task_status("#1") == "in_review", what="the start of the slow gate")
    shop.create_task("Quick", "--gate", "touch quick-was-here")
    shop.spawn_session("--task", "#2", "--", "true")
    for ref in ("#1", "#2"):
        wait_until(lambda ref=ref: shop.task_status(ref) == "completed", what=ref)  # type: ignore[misc]


def test_a_background_process_of_a_gate_does_not_keep_the_gate_open(shop: Workshop) -> None:
    shop.create_task("Parser", "--gate", "setsid sh -c 'while [ ! -e go ]; do sleep 0.1; done' &")
    shop.spawn_session("--task", "#1", "--", "true")
    wait_until(lambda: shop.task_status("#1") == "completed", what="the end of the gate")
    (shop.repo / "go").touch()


def test_a_gate_that_cannot_run_fails_and_names_the_cause(shop: Workshop) -> None:
    shop.create_task("Parser", "--gate", "true")
    script = 'here=$PWD; cd /; rm -rf "$here"'
    shop.spawn_session("--task", "#1", "--name", "parser", "--worktree", "--", "sh", "-c", script)
    wait_until(lambda: shop.task_status("#1") == "failed", what="the verdict of the gate")
    assert "could not be run" in shop.call_json("task", "show", "#1")["reason"]
    assert evidence(shop, "#1") == [("true", False)]


def test_a_session_that_ends_after_its_report_does_not_complete_a_rejected_task(shop: Workshop) -> None:
    shop.create_task("Part", "--gate", "false")
    script = "maestro session report complete done; while ! ls gate-ran; do sleep 0.05; done"
    shop.spawn_session("--task", "#1", "--name", "hasty", "--", "sh", "-c", script)
    wait_until(lambda: evidence(shop, "#1"), what="the verdict of the gate")
    (shop.repo / "gate-ran").touch()
    shop.wait_for_session_end("hasty")
    shown = shop.call_json("task", "show", "#1")
    assert shown["status"] == "failed" and "sent back" in shown["reason"]
    assert evidence(shop, "#1") == [("false", False)]


def test_the_output_of_gates_is_kept_as_evidence(shop: Workshop) -> None:
    shop.create_task("Judged", "--gate", "echo all is well; test -e good", "--gate", "echo second")
    script = "echo x >> n; if [ $(wc -l < n) -ge 2 ]; then touch good; fi"
    over = shop.run_to_end("#1", "--", "sh", "-c", script)
    assert (over["status"], over["tasks"][0]["attempts"]) == ("completed", 2)
    results = shop.call_json("task", "show", "#1")["evidence"]
    told = [(one["command"].split(";")[0], one["passed"], one["exit_code"]) for one in results]
    assert sorted(told) == [("echo all is well", False, 1), ("echo all is well", True, 0), ("echo second", True, 0)]
    assert "all is well" in shop.run_maestro("task", "gate", results[-1]["id"])
