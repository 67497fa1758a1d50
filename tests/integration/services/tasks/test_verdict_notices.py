"""A coordinator or the person gets notices about the verdicts of gates."""

from __future__ import annotations

import json

from maestro.testing.supervised import wait_until
from maestro.testing.workshop import Workshop


def lead(shop: Workshop) -> str:
    """Register a coordinator; return its token."""
    return str(shop.register_coordinator()["token"])


def hears(shop: Workshop, token: str) -> list[tuple[str, str]]:
    done = shop.live.run_command("mail", "inbox", "--peek", "--json", cwd=shop.repo, env={"MAESTRO_TOKEN": token})
    return [(one["subject"], one["priority"]) for one in json.loads(done.stdout)["messages"]]


def spawn(shop: Workshop, token: str, *words: str) -> None:
    done = shop.live.run_command("session", "spawn", *words, cwd=shop.repo, env={"MAESTRO_TOKEN": token})
    assert done.returncode == 0, done.stderr.decode()


def test_a_coordinator_gets_the_report_and_the_failed_verdict(shop: Workshop) -> None:
    token = lead(shop)
    shop.create_task("Part", "--gate", "echo not whole; exit 3")
    spawn(shop, token, "--task", "#1", "--name", "hasty", "--", "true")
    verdict = "vc#1 did not pass: gate echo not whole; exit 3, exit code 3"
    heard = wait_until(
        lambda: all_ if verdict in dict(all_ := hears(shop, token)) else None, what="the notice about the verdict"
    )
    assert dict(heard)["hasty hands in vc#1; its gates run"] == "normal"
    assert dict(heard)[verdict] == "high"
    assert not [subject for subject, _ in heard if "has completed" in subject]


def test_a_coordinator_gets_the_passed_verdict(shop: Workshop) -> None:
    token = lead(shop)
    shop.create_task("Part", "--gate", "true")
    spawn(shop, token, "--task", "#1", "--name", "good", "--", "true")
    heard = wait_until(
        lambda: all_ if "vc#1 is completed" in dict(all_ := hears(shop, token)) else None,
        what="the notice about the verdict",
    )
    assert dict(heard)["good hands in vc#1; its gates run"] == "normal"


def test_the_person_gets_the_failed_verdict_after_the_end_of_the_worker(shop: Workshop) -> None:
    shop.create_task("Part", "--gate", "false")
    shop.spawn_session("--task", "#1", "--name", "hasty", "--", "true")
    wait_until(lambda: shop.task_status("#1") == "failed", what="the verdict of the gate")
    inbox = shop.call_json("mail", "inbox", "--peek")["messages"]
    assert [(one["subject"], one["priority"]) for one in inbox] == [
        ("vc#1 did not pass: gate false, exit code 1", "high")
    ]


def test_the_person_gets_only_the_outcome_of_a_run(shop: Workshop) -> None:
    shop.create_task("Gated", "--gate", "test -e whole")
    over = shop.run_to_end("#1", "--attempts", "2", "--", "sh", "-c", "test ! -e tried || touch whole; touch tried")
    assert over["status"] == "completed"
    shop.create_task("Hopeless")
    over = shop.run_to_end("#2", "--attempts", "2", "--", "sh", "-c", "exit 4")
    assert over["status"] == "failed"
    inbox = shop.call_json("mail", "inbox", "--peek")["messages"]
    told = [(one["subject"].partition(" ")[2], one["priority"]) for one in inbox]
    assert sorted(told) == [("(vc#1) completed", "normal"), ("(vc#2) failed", "high")]
