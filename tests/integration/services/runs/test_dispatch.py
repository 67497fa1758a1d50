"""Whole runs of small programs: order, parallel sessions, repeated attempts, races and gates."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from maestro.testing.supervised import wait_until
from maestro.testing.workshop import Workshop

# One line for each task, because lines of simultaneous writers do not mix.
NOTES = 'echo "$MAESTRO_TASK_IDS" >> {file}'
FLAKY = 'echo x >> "tries-$MAESTRO_TASK_IDS"; test $(wc -l < "tries-$MAESTRO_TASK_IDS") -ge 2'


def graph(shop: Workshop, *, size: int, seed: int) -> dict[str, set[str]]:
    """Create tasks below #1 that depend on earlier tasks; return the ids of the dependencies of each task."""
    chance = random.Random(seed)
    shop.create_task("All of it")
    made: list[dict[str, str]] = []
    needs: dict[str, set[str]] = {}
    for number in range(size):
        before = chance.sample(made, k=min(len(made), chance.randrange(3)))
        words = [word for one in before for word in ("--depends-on", one["ref"])]
        made.append(shop.create_task(f"Part {number}", "--parent", "#1", *words))
        needs[made[-1]["id"]] = {one["id"] for one in before}
    return needs


def is_legal(order: list[str], needs: dict[str, set[str]]) -> bool:
    return all(needs[task] <= set(order[:at]) for at, task in enumerate(order))


@pytest.mark.parametrize("strategy", ["dag", "batch", "pipeline"])
def test_each_task_of_a_graph_runs_once_and_after_its_dependencies(shop: Workshop, strategy: str) -> None:
    needs = graph(shop, size=8, seed=len(strategy))
    over = shop.run_to_end("#1", "--strategy", strategy, "--", "sh", "-c", NOTES.format(file="order"))
    assert (over["status"], over["counts"]) == ("completed", {"completed": 8})
    order = shop.read_words("order")
    assert sorted(order) == sorted(needs) and is_legal(order, needs)
    assert shop.task_status("#1") == "completed"
    assert [one["attempts"] for one in over["tasks"]] == [1] * 8


def test_a_run_starts_no_more_sessions_at_once_than_its_limit(shop: Workshop) -> None:
    shop.create_task("All of it")
    for number in range(4):
        shop.create_task(f"Part {number}", "--parent", "#1")
    script = "mkdir lock || echo two >> clash; while [ ! -e go ]; do sleep 0.01; done; rmdir lock"
    run_id = shop.start_run("#1", "--max-parallel", "1", "--", "sh", "-c", script)
    wait_until(lambda: (shop.repo / "lock").exists(), what="the start of the first session")
    (shop.repo / "go").touch()
    assert shop.wait_for_run_end(run_id)["status"] == "completed"
    assert shop.read_words("clash") == []


def test_a_task_without_children_is_run_itself(shop: Workshop) -> None:
    shop.create_task("Alone")
    done = shop.live.run_command(
        "run", "#1", "--", "sh", "-c", "echo x >> n", cwd=shop.repo
    )  # the command follows the run to its end
    assert done.returncode == 0 and b"completed" in done.stdout
    assert shop.task_status("#1") == "completed" and shop.read_words("n") == ["x"]
    shop.run_maestro("run", "#1", "--", "true", exits=5)


def test_a_failed_attempt_is_repeated(shop: Workshop) -> None:
    shop.create_task("Flaky")
    over = shop.run_to_end("#1", "--", "sh", "-c", FLAKY)
    assert (over["status"], over["tasks"][0]["attempts"]) == ("completed", 2)


def test_a_task_that_fails_every_attempt_fails_the_run_and_is_named(shop: Workshop) -> None:
    shop.create_task("All of it")
    shop.create_task("Hopeless", "--parent", "#1")
    shop.create_task("After it", "--parent", "#1", "--depends-on", "#2")
    over = shop.run_to_end("#1", "--attempts", "1", "--", "sh", "-c", "echo x >> n; test -e hope")
    assert over["status"] == "failed"
    assert "vc#2" in over["note"] and "vc#3" in over["note"]
    assert shop.read_words("n") == ["x"]


def test_a_resumed_run_attempts_its_failed_tasks_again(shop: Workshop) -> None:
    shop.create_task("Hopeless")
    over = shop.run_to_end("#1", "--attempts", "1", "--", "test", "-e", "hope")
    assert over["status"] == "failed"
    (shop.repo / "hope").touch()
    shop.live.run_command("run", "resume", over["id"], cwd=shop.repo)
    again = shop.wait_for_run_end(over["id"])
    assert (again["status"], again["tasks"][0]["attempts"]) == ("completed", 2)


def test_attempts_are_counted_from_the_resume(shop: Workshop) -> None:
    shop.create_task("Hopeless")
    over = shop.run_to_end("#1", "--attempts", "2", "--", "sh", "-c", "echo x >> n; false")
    assert (over["status"], len(shop.read_words("n"))) == ("failed", 2)
    shop.live.run_command("run", "resume", over["id"], cwd=shop.repo)
    again = shop.wait_for_run_end(over["id"])
    assert (again["status"], len(shop.read_words("n"))) == ("failed", 4)
    assert again["resumed_at"] is not None


def test_a_run_is_not_resumed_beside_another_run_of_the_same_task(shop: Workshop) -> None:
    shop.create_task("Long")
    first = shop.run_to_end("#1", "--attempts", "1", "--", "false")
    shop.run_maestro("task", "reopen", "#1")
    second = shop.start_run("#1", "--", "sleep", "1000")
    assert second in shop.run_maestro("run", "resume", first["id"], exits=5)


def test_a_stopped_run_stops_its_sessions_and_continues_after_a_resume(shop: Workshop) -> None:
    shop.create_task("Long")
    script = "echo x >> n; test -e quick || sleep 1000"
    run_id = shop.start_run("#1", "--", "sh", "-c", script)
    wait_until(lambda: shop.read_words("n") == ["x"], what="the start of the program")
    assert shop.call_json("run", "stop", run_id)["status"] == "stopped"
    wait_until(lambda: not shop.remaining_pids(), what="the end of every process")
    wait_until(lambda: shop.call_json("task", "show", "#1")["ready"], what="the release of the task")
    shop.run_maestro("run", "stop", run_id, exits=5)
    (shop.repo / "quick").touch()
    shop.live.run_command("run", "resume", run_id, cwd=shop.repo)
    assert shop.wait_for_run_end(run_id)["status"] == "completed"
    assert shop.read_words("n") == ["x", "x"]


def test_a_run_that_is_stopped_at_once_leaves_no_process(shop: Workshop) -> None:
    shop.create_task("All of it")
    for number in range(4):
        shop.create_task(f"Part {number}", "--parent", "#1")
    run_id = shop.start_run("#1", "--", "sleep", "1000")
    shop.run_maestro("run", "stop", run_id)
    wait_until(
        lambda: all(one["status"] == "stopped" for one in shop.call_json("session", "list")["sessions"]),
        what="the end of all sessions",
    )
    wait_until(lambda: not shop.remaining_pids(), what="the end of every process")


def test_a_race_has_one_winner_and_stops_the_other_attempts(shop: Workshop) -> None:
    shop.create_task("Fast")
    script = "echo $MAESTRO_TASK_IDS >> n; if mkdir first; then while [ $(wc -l < n) -lt 3 ]; do sleep 0.01; done; else sleep 1000; fi"
    over = shop.run_to_end("#1", "--strategy", "race", "--attempts", "3", "--", "sh", "-c", script)
    assert over["status"] == "completed"
    assert sorted(one["status"] for one in over["tasks"]) == ["cancelled", "cancelled", "completed"]
    assert shop.task_status("#1") == "completed"
    wait_until(lambda: not shop.remaining_pids(), what="the end of the other attempts")


def test_the_first_attempt_that_passes_its_gates_wins_a_race(shop: Workshop) -> None:
    shop.create_task("Fast", "--gate", "test -e good")
    script = "if mkdir first; then exit 0; else touch good; fi"
    over = shop.run_to_end(
        "#1", "--strategy", "race", "--attempts", "2", "--max-parallel", "1", "--", "sh", "-c", script
    )
    assert over["status"] == "completed"
    assert sorted(one["status"] for one in over["tasks"]) == ["completed", "failed"]


def test_a_race_does_not_take_existing_children_for_attempts(shop: Workshop) -> None:
    shop.create_task("All of it")
    shop.create_task("Real work", "--parent", "#1")
    shop.create_task("More real work", "--parent", "#1")
    shop.run_maestro("run", "#1", "--strategy", "race", "--detach", "--", "true", exits=5)
    assert (shop.task_status("#2"), shop.task_status("#3")) == ("todo", "todo")


def test_a_run_that_cannot_start_any_session_names_the_cause(shop: Workshop) -> None:
    shop.create_task("Parser")
    done = shop.live.run_command("run", "#1", "--member", "nobody", "--detach", "--", "true", cwd=shop.repo)
    assert done.returncode == 6 and b"nobody" in done.stderr


def test_the_timeline_of_a_run_reaches_from_its_start_to_its_end(shop: Workshop) -> None:
    shop.create_task("Parser")
    run_id = shop.run_to_end("#1", "--", "true")["id"]
    (session,) = shop.call_json("session", "list")["sessions"]
    kinds = [one["kind"] for one in shop.call_json("timeline", "--run", run_id)["events"]]
    assert kinds.index("run.started") < kinds.index("task.started") < kinds.index("task.completed")
    assert kinds[-1] == "run.ended" and "run.attempt" in kinds
    assert "session.registered" in kinds or "session.spawned" in kinds
    assert "vc#1" in shop.run_maestro("timeline", "--session", session["id"])
    shop.run_maestro("timeline", exits=2)


def test_only_the_owner_can_read_prompt_files(shop: Workshop) -> None:
    made = shop.spawn_session("--name", "parser", "--", "true")
    folder: Path = shop.runner_folder(made["id"])
    assert folder.stat().st_mode & 0o077 == 0


def test_a_child_that_was_completed_before_a_race_does_not_win_the_race(shop: Workshop) -> None:
    shop.create_task("Fast", "--gate", "test -e good")
    shop.create_task("Preparation", "--parent", "#1")
    shop.run_maestro("task", "start", "#2")
    shop.run_maestro("task", "complete", "#2")
    wait_until(lambda: shop.call_json("task", "show", "#1")["reason"], what="the verdict of the parent's gate")
    over = shop.run_to_end("#1", "--strategy", "race", "--attempts", "2", "--", "sh", "-c", "touch good; echo x >> n")
    assert over["status"] == "completed" and shop.read_words("n")
    assert {one["ref"] for one in over["tasks"]} == {"vc#3", "vc#4"}
    assert shop.task_status("#1") == "completed"


def test_a_task_can_be_raced_again(shop: Workshop) -> None:
    shop.create_task("Fast")
    first = shop.run_to_end("#1", "--strategy", "race", "--attempts", "2", "--", "true")
    shop.run_maestro("task", "reopen", "#1")
    second = shop.run_to_end("#1", "--strategy", "race", "--attempts", "2", "--", "sh", "-c", "echo x >> n")
    assert (first["status"], second["status"]) == ("completed", "completed")
    assert shop.read_words("n") and not {one["id"] for one in first["tasks"]} & {one["id"] for one in second["tasks"]}


def test_a_discovered_task_is_linked_to_the_task_in_which_it_was_found(shop: Workshop) -> None:
    shop.create_task("All of it")
    shop.create_task("Parser", "--parent", "#1")
    script = "maestro task create 'A leak in the lexer' --found-in $MAESTRO_TASK_IDS"
    over = shop.run_to_end("#1", "--", "sh", "-c", script)
    assert over["status"] == "completed"  # the discovered task is not part of the run
    assert [(one["ref"], one["status"]) for one in over["found"]] == [("vc#3", "todo")]
    assert "discovered: vc#3" in shop.run_maestro("run", "show", over["id"])
    assert shop.call_json("task", "show", "#3")["origin"]["ref"] == "vc#2"
    assert "vc#2  Parser" in shop.run_maestro("task", "show", "#3")
    assert "vc#3" in shop.run_maestro("task", "show", "#2")
    created = [
        one["data"] for one in shop.call_json("timeline", "--task", "#3")["events"] if one["kind"] == "task.created"
    ]
    assert [one["found_in"] for one in created] == ["vc#2"]
