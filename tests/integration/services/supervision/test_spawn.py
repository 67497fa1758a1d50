"""Test the spawn of sessions with real programs: claims, directive, dry run and answer."""

from __future__ import annotations

import json

from maestro.testing.supervised import wait_until
from maestro.testing.workshop import Workshop


def test_a_spawn_answers_after_the_start_of_the_program(shop: Workshop) -> None:
    assert shop.spawn_session("--name", "parser", "--", "sleep", "1000")["status"] == "working"


def test_a_missing_program_is_reported_by_the_spawn(shop: Workshop) -> None:
    shop.create_task("Parser")
    output = shop.run_maestro("session", "spawn", "--task", "#1", "--name", "p", "--", "no-such-program", exits=1)
    assert "p could not be started" in output and "no-such-program" in output
    assert shop.task_status("#1") == "failed"


def test_an_unknown_team_is_refused(shop: Workshop) -> None:
    assert "There is no team 'nosuch'" in shop.run_maestro(
        "session", "spawn", "--team", "nosuch", "--", "true", exits=6
    )


def test_a_spawn_claims_its_task_and_exit_code_0_completes_the_task(shop: Workshop) -> None:
    shop.create_task("Parser")
    made = shop.spawn_session("--task", "#1", "--name", "parser", "--", "sh", "-c", "read -r line; echo did $line")
    task = shop.call_json("task", "show", "#1")
    assert (task["status"], task["holder"]) == ("in_progress", made["id"])
    shop.run_maestro("session", "prompt", "parser", "the work")
    assert shop.wait_for_session_end("parser")["status"] == "completed"
    assert shop.task_status("#1") == "completed"
    assert "did the work" in shop.run_maestro("session", "logs", "parser")


def test_a_spawn_for_a_task_that_is_not_ready_leaves_no_session(shop: Workshop) -> None:
    shop.create_task("First")
    shop.create_task("Second", "--depends-on", "#1")
    before = shop.call_json("session", "list")["sessions"]
    assert "vc#1" in shop.run_maestro("session", "spawn", "--task", "#2", "--", "true", exits=5)
    assert shop.call_json("session", "list")["sessions"] == before
    shop.spawn_session("--task", "#1", "--name", "one", "--", "cat")
    shop.run_maestro("session", "spawn", "--task", "#1", "--", "true", exits=5)
    assert shop.task_status("#1") == "in_progress"


def test_a_directive_is_in_the_manifest_and_in_the_mail(shop: Workshop) -> None:
    made = shop.spawn_session("--name", "parser", "--subject", "Parser", "--message", "Keep it small.", "--", "cat")
    told = shop.call_json("manifest", "show", "parser")["directive"]
    assert (told["subject"], told["text"]) == ("Parser", "Keep it small.")

    def read() -> list[dict[str, object]]:
        deliveries = shop.call_json("mail", "show", told["message_id"])["deliveries"]
        return [one for one in deliveries if one["mailbox"] == made["id"] and one["status"] == "read"]

    (delivery,) = wait_until(read, what="the assumed receipt")
    assert "assumed" in json.dumps(delivery)


def test_a_dry_run_changes_nothing(shop: Workshop) -> None:
    shop.create_task("Parser")
    before = shop.run_maestro("events", "--json")
    shown = shop.spawn_session("--task", "#1", "--message", "Do it.", "--dry-run", "--", "touch", "never")
    assert shown["dry_run"] and "<" in shown["system_prompt"] and "Do it." in shown["task_prompt"]
    assert [task["ref"] for task in shown["manifest"]["tasks"]] == ["vc#1"]
    assert before and shop.run_maestro("events", "--json") == before
    assert shop.call_json("session", "list")["sessions"] == []
    assert shop.call_json("task", "show", "#1")["ready"]
