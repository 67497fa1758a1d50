"""Runs whose tasks are cancelled, deleted, released or completed: the run names the outcome and leaves no session."""

from __future__ import annotations

import pytest

from maestro.testing.supervised import wait_until
from maestro.testing.workshop import Workshop

STAYS = 'maestro session report complete "all of it"; touch reported; exec sleep 1000'


def nobody(shop: Workshop) -> None:
    wait_until(lambda: not shop.remaining_pids(), what="the end of every process")


def works(shop: Workshop, name: str) -> None:
    def look() -> bool:
        found = shop.call_json("session", "list")["sessions"]
        return (name, "working") in [(one["name"], one["status"]) for one in found]

    wait_until(look, what=f"the start of {name}")


def test_a_cancelled_task_stops_its_run(shop: Workshop) -> None:
    shop.create_task("Parser")
    run = shop.start_run("#1", "--", "sleep", "1000")
    works(shop, "t1.1")
    shop.run_maestro("task", "cancel", "#1", "--reason", "no longer wanted")
    over = shop.wait_for_run_end(run)
    assert (over["status"], over["note"]) == ("stopped", "vc#1 was cancelled: no longer wanted")
    shop.run_maestro("run", "show", run, "--follow", exits=1)
    assert shop.wait_for_session_end("t1.1")["status"] == "stopped"
    nobody(shop)


def test_a_cancelled_parent_stops_the_run_of_its_children(shop: Workshop) -> None:
    shop.create_task("All of it")
    shop.create_task("Part", "--parent", "#1")
    run = shop.start_run("#1", "--", "sleep", "1000")
    works(shop, "t2.1")
    shop.run_maestro("task", "cancel", "#1")
    assert shop.wait_for_run_end(run)["status"] == "stopped"
    assert shop.wait_for_session_end("t2.1")["status"] == "stopped"
    assert shop.task_status("#2") == "todo"
    nobody(shop)


def test_a_cancelled_task_of_a_run_stops_only_its_own_session(shop: Workshop) -> None:
    shop.create_task("All of it")
    for title in ("One", "Two"):
        shop.create_task(title, "--parent", "#1")
    run = shop.start_run("#1", "--", "sh", "-c", "while [ ! -e go ]; do sleep 0.02; done")
    for name in ("t2.1", "t3.1"):
        works(shop, name)
    shop.run_maestro("task", "cancel", "#2")
    assert shop.wait_for_session_end("t2.1")["status"] == "stopped"
    assert shop.show_session("t3.1")["status"] == "working"
    (shop.repo / "go").touch()
    assert shop.wait_for_run_end(run)["status"] == "completed"
    nobody(shop)


def test_a_deleted_task_of_a_run_stops_its_session(shop: Workshop) -> None:
    shop.create_task("All of it")
    for title in ("One", "Two"):
        shop.create_task(title, "--parent", "#1")
    run = shop.start_run("#1", "--", "sh", "-c", "while [ ! -e go ]; do sleep 0.02; done")
    for name in ("t2.1", "t3.1"):
        works(shop, name)
    shop.run_maestro("task", "delete", "#2")
    assert shop.wait_for_session_end("t2.1")["status"] == "stopped"
    (shop.repo / "go").touch()
    assert shop.wait_for_run_end(run)["status"] == "completed"
    nobody(shop)


def test_a_task_that_is_taken_from_a_live_session_gets_another_attempt(shop: Workshop) -> None:
    shop.create_task("Parser")
    run = shop.start_run("#1", "--attempts", "1", "--", "sh", "-c", "test -e go || exec sleep 1000")
    works(shop, "t1.1")
    (shop.repo / "go").touch()
    shop.run_maestro("task", "release", "#1")
    over = shop.wait_for_run_end(run)
    assert (over["status"], over["tasks"][0]["attempts"]) == ("completed", 2)
    assert shop.wait_for_session_end("t1.1")["status"] == "stopped"
    nobody(shop)


@pytest.mark.slow
def test_a_released_task_counts_as_an_attempt(shop: Workshop) -> None:
    shop.create_task("Parser")
    over = shop.run_to_end("#1", "--attempts", "2", "--", "sh", "-c", 'maestro task release "#1"; exec sleep 1000')
    assert (over["status"], over["tasks"][0]["attempts"]) == ("failed", 2)
    assert "The session released its task." in over["note"]
    nobody(shop)


def test_a_run_whose_own_task_is_deleted_fails_with_the_cause(shop: Workshop) -> None:
    shop.create_task("Parser")
    run = shop.start_run("#1", "--", "sleep", "1000")
    works(shop, "t1.1")
    shop.run_maestro("task", "delete", "#1")
    over = shop.wait_for_run_end(run)
    assert (over["status"], over["note"]) == ("failed", "Its task was deleted.")
    assert shop.wait_for_session_end("t1.1")["status"] == "stopped"
    nobody(shop)


def test_a_run_ends_a_worker_that_stays_after_its_report(shop: Workshop) -> None:
    shop.create_task("Parser")
    over = shop.run_to_end("#1", "--", "sh", "-c", STAYS)
    assert over["status"] == "completed"
    live = shop.call_json("session", "list", "--active")["sessions"]
    assert [(one["name"], one["status"]) for one in live] == [("t1.1", "completed")]
    assert "done, still running" in shop.run_maestro("session", "list", "--active")
    wait_until(lambda: shop.show_session("t1.1")["ended_at"], what="the end of the grace period")
    assert shop.show_session("t1.1")["status"] == "completed"
    nobody(shop)


def test_attempts_that_failed_in_a_race_stay_failed(shop: Workshop) -> None:
    shop.create_task("Parser", "--gate", "test -e whole")
    script = "mkdir first 2> /dev/null && exit 3; until [ -e first-failed ]; do sleep 0.02; done; touch whole"
    run = shop.start_run("#1", "--strategy", "race", "--attempts", "2", "--", "sh", "-c", script)
    wait_until(
        lambda: "failed" in (shop.task_status("#2"), shop.task_status("#3")), what="the failure of the first attempt"
    )
    (shop.repo / "first-failed").touch()
    over = shop.wait_for_run_end(run)
    assert over["status"] == "completed"
    assert sorted(one["status"] for one in over["tasks"]) == ["completed", "failed"]
    wait_until(lambda: shop.task_status("#1") == "completed", what="the completion of the task")


def test_a_completed_task_has_no_reason(shop: Workshop) -> None:
    shop.create_task("Parser", "--gate", "test -e whole")
    script = """
    maestro session report complete first
    until maestro task show $MAESTRO_TASK_IDS --json | grep -q '"status":"in_progress"'; do sleep 0.1; done
    touch whole; maestro session report complete second"""
    shop.spawn_session("--task", "#1", "--", "sh", "-c", script)
    wait_until(lambda: shop.task_status("#1") == "completed", what="the second verdict")
    assert shop.call_json("task", "show", "#1")["reason"] == ""
