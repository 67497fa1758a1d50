"""A run that waits names the cause, and continues when the cause is gone."""

from __future__ import annotations

from maestro.testing.supervised import wait_until
from maestro.testing.workshop import Workshop


def says(shop: Workshop, run: str, words: str) -> None:
    wait_until(lambda: words in shop.call_json("run", "show", run)["note"], what=words)
    assert shop.call_json("run", "show", run)["status"] == "running"
    assert words in shop.run_maestro("run", "show", run)


def test_a_run_waits_for_tasks_outside_of_the_run_and_names_them(shop: Workshop) -> None:
    shop.create_task("Grammar")
    shop.create_task("Parser", "--depends-on", "#1")
    run = shop.start_run("#2", "--", "true")
    says(shop, run, "vc#2 waits on vc#1 (todo)")
    shop.run_maestro("task", "start", "#1")
    shop.run_maestro("task", "complete", "#1")
    over = shop.wait_for_run_end(run)
    assert (over["status"], over["note"]) == ("completed", "")


def test_a_run_fails_with_the_cause_when_a_task_outside_is_cancelled(shop: Workshop) -> None:
    shop.create_task("Grammar")
    shop.create_task("Parser", "--depends-on", "#1")
    run = shop.start_run("#2", "--", "true")
    says(shop, run, "vc#2 waits on vc#1 (todo)")
    shop.run_maestro("task", "cancel", "#1")
    over = shop.wait_for_run_end(run)
    assert over["status"] == "failed" and "vc#2 waits on vc#1 (cancelled)" in over["note"]


def test_a_run_names_the_holder_of_its_task(shop: Workshop) -> None:
    shop.create_task("Parser")
    held = shop.call_json("task", "start", "#1")["holder"]
    run = shop.start_run("#1", "--", "true")
    says(shop, run, f"vc#1 is held by {held}")
    assert [one["held_by"] for one in shop.call_json("run", "show", run)["tasks"]] == [held]
    shop.run_maestro("task", "release", "#1")
    assert shop.wait_for_run_end(run)["status"] == "completed"


def test_a_run_names_the_reason_of_its_blocked_task(shop: Workshop) -> None:
    shop.create_task("Parser")
    shop.run_maestro("task", "block", "#1", "--reason", "no licence yet")
    run = shop.start_run("#1", "--", "true")
    says(shop, run, "vc#1 is blocked: no licence yet")
    shop.run_maestro("task", "unblock", "#1")
    assert shop.wait_for_run_end(run)["status"] == "completed"
