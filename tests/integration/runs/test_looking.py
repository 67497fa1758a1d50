"""What one reads of runs, sessions and gates: names and titles, short ids, hints that fit, and no mail twice."""

from __future__ import annotations

from maestro.testing.supervised import wait_until
from maestro.testing.workshop import Workshop


def test_runs_are_listed_with_their_task_and_found_by_it_or_a_part_of_their_id(shop: Workshop) -> None:
    shop.create_task("Parser")
    run = shop.run_to_end("#1", "--", "true")["id"]
    assert "vc#1  Parser" in shop.run_maestro("run", "list")
    for name in ("#1", run[-6:], run[:-2], run):
        assert shop.call_json("run", "show", name)["id"] == run
    assert "did you mean `maestro run list`" in shop.run_maestro("run", "lsit", exits=2)


def test_the_board_shows_live_runs_and_who_holds_what_by_name(shop: Workshop) -> None:
    shop.create_task("Parser")
    run = shop.start_run("#1", "--", "sleep", "1000")
    wait_until(lambda: shop.task_status("#1") == "in_progress", what="the start")
    shown = shop.run_maestro()
    assert run in shown and "held by t1.1" in shown
    assert "vc#1 Parser" in shop.run_maestro("session", "show", "t1.1")
    shop.run_maestro("session", "stop", "t1.1", "--timeout", "20s")
    shop.run_maestro("run", "stop", run)


def test_a_session_that_has_ended_has_no_lease_that_runs(shop: Workshop) -> None:
    shop.spawn_session("--name", "parser", "--", "true")
    shop.wait_for_session_end("parser")
    assert "is valid (until" not in shop.run_maestro("session", "explain", "parser")


def test_a_gate_is_shown_by_its_task(shop: Workshop) -> None:
    shop.create_task("Parser", "--gate", "echo not whole; exit 3")
    assert "No gate of vc#1 has run" in shop.run_maestro("task", "gate", "#1", exits=6)
    shop.spawn_session("--task", "#1", "--", "true")
    wait_until(lambda: shop.task_status("#1") == "failed", what="the verdict")
    assert shop.run_maestro("task", "gate", "#1") == "not whole\n"


def test_what_a_program_has_taken_in_does_not_come_back_when_it_ends(shop: Workshop) -> None:
    shop.spawn_session(
        "--name", "parser", "--subject", "Parser", "--message", "All of it.", "--", "sh", "-c", "read -r line"
    )
    shop.run_maestro("session", "prompt", "parser", "Also this.")
    shop.wait_for_session_end("parser")
    shop.run_maestro(
        "session", "spawn", "--subject", "Lexer", "--message", "All of it.", "--", "no-such-program", exits=1
    )
    kinds = ("mail.rerouted", "mail.expired")

    def settled() -> bool:
        return any(kind in shop.run_maestro("events", "--limit", "500") for kind in kinds)

    wait_until(settled, what="the end of the second directive")
    inbox = [one["subject"] for one in shop.call_json("mail", "inbox", "--peek")["messages"]]
    assert [subject for subject in inbox if not subject.endswith("has failed")] == []


def test_after_a_crash_nobody_is_advised_to_resume_what_a_run_does_again(shop: Workshop) -> None:
    shop.create_task("Parser")
    run = shop.start_run("#1", "--", "sleep", "1000")
    wait_until(lambda: len(shop.runner_notes()) == 1, what="its start")
    wait_until(lambda: shop.task_status("#1") == "in_progress", what="its claim")
    shop.live.kill()
    shop.close()
    shop.live.start()

    def fates() -> dict[str, str]:
        return {found["name"]: found["state"] for found in shop.call_json("recovery")["sessions"]}

    # Until the server has recorded the loss, the session counts as ended: its runner's last report may still come.
    wait_until(lambda: fates() == {"t1.1": "redone"}, what="the loss of the session")
    assert "session resume" not in shop.run_maestro("recovery")
    shop.run_maestro("run", "stop", run)
