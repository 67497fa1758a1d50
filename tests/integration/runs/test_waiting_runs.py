"""Runs that wait for others: they say for what, and go on when it is there."""

from __future__ import annotations

from maestro.testing.supervised import until
from maestro.testing.workshop import Workshop


def says(shop: Workshop, run: str, words: str) -> None:
    until(lambda: words in shop.json("run", "show", run)["note"], what=words)
    assert shop.json("run", "show", run)["status"] == "running"
    assert words in shop.maestro("run", "show", run)


def test_a_run_waits_for_what_is_outside_it_and_names_it(shop: Workshop) -> None:
    shop.task("Grammar")
    shop.task("Parser", "--depends-on", "#1")
    run = shop.begin("#2", "--", "true")
    says(shop, run, "vc#2 waits on vc#1 (todo)")
    shop.maestro("task", "start", "#1")
    shop.maestro("task", "complete", "#1")
    over = shop.run_over(run)
    assert (over["status"], over["note"]) == ("completed", "")


def test_a_run_whose_need_outside_is_cancelled_has_failed_and_says_why(shop: Workshop) -> None:
    shop.task("Grammar")
    shop.task("Parser", "--depends-on", "#1")
    run = shop.begin("#2", "--", "true")
    says(shop, run, "vc#2 waits on vc#1 (todo)")
    shop.maestro("task", "cancel", "#1")
    over = shop.run_over(run)
    assert over["status"] == "failed" and "vc#2 waits on vc#1 (cancelled)" in over["note"]


def test_a_run_says_who_holds_its_task(shop: Workshop) -> None:
    shop.task("Parser")
    held = shop.json("task", "start", "#1")["holder"]
    run = shop.begin("#1", "--", "true")
    says(shop, run, f"vc#1 is held by {held}")
    assert [one["held_by"] for one in shop.json("run", "show", run)["tasks"]] == [held]
    shop.maestro("task", "release", "#1")
    assert shop.run_over(run)["status"] == "completed"


def test_a_run_says_why_its_task_is_blocked(shop: Workshop) -> None:
    shop.task("Parser")
    shop.maestro("task", "block", "#1", "--reason", "no licence yet")
    run = shop.begin("#1", "--", "true")
    says(shop, run, "vc#1 is blocked: no licence yet")
    shop.maestro("task", "unblock", "#1")
    assert shop.run_over(run)["status"] == "completed"
