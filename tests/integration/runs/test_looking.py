"""Commands show runs, sessions and gates with names, short ids and correct hints. No mail is shown twice."""

from __future__ import annotations

from maestro.testing.supervised import wait_until
from maestro.testing.workshop import Workshop


def test_runs_are_listed_with_their_task_and_found_by_task_or_part_of_an_id(shop: Workshop) -> None:
    shop.create_task("Parser")
    run = shop.run_to_end("#1", "--", "true")["id"]
    assert "vc#1  Parser" in shop.run_maestro("run", "list")
    for name in ("#1", run[-6:], run[:-2], run):
        assert shop.call_json("run", "show", name)["id"] == run
    assert "did you mean `maestro run list`" in shop.run_maestro("run", "lsit", exits=2)


def test_the_board_shows_live_runs_and_the_names_of_holders(shop: Workshop) -> None:
    shop.create_task("Parser")
    run = shop.start_run("#1", "--", "sleep", "1000")
    wait_until(lambda: shop.task_status("#1") == "in_progress", what="the start of the task")
    shown = shop.run_maestro()
    assert run in shown and "held by t1.1" in shown
    assert "vc#1 Parser" in shop.run_maestro("session", "show", "t1.1")
    shop.run_maestro("session", "stop", "t1.1", "--timeout", "20s")
    shop.run_maestro("run", "stop", run)


def test_the_explanation_of_an_ended_session_shows_no_valid_lease(shop: Workshop) -> None:
    shop.spawn_session("--name", "parser", "--", "true")
    shop.wait_for_session_end("parser")
    assert "is valid (until" not in shop.run_maestro("session", "explain", "parser")


def test_the_output_of_a_gate_is_shown_by_the_reference_of_its_task(shop: Workshop) -> None:
    shop.create_task("Parser", "--gate", "echo not whole; exit 3")
    assert "No gate of vc#1 has run" in shop.run_maestro("task", "gate", "#1", exits=6)
    shop.spawn_session("--task", "#1", "--", "true")
    wait_until(lambda: shop.task_status("#1") == "failed", what="the verdict of the gate")
    assert shop.run_maestro("task", "gate", "#1") == "not whole\n"


def test_mail_that_a_program_has_received_does_not_return_when_the_program_ends(shop: Workshop) -> None:
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


def test_recovery_does_not_advise_resuming_a_session_whose_task_a_run_repeats(shop: Workshop) -> None:
    shop.create_task("Parser")
    run = shop.start_run("#1", "--", "sleep", "1000")
    wait_until(lambda: len(shop.runner_notes()) == 1, what="the start of the session")
    wait_until(lambda: shop.task_status("#1") == "in_progress", what="the claim of the task")
    shop.live.kill()
    shop.close()
    shop.live.start()

    def fates() -> dict[str, str]:
        return {found["name"]: found["state"] for found in shop.call_json("recovery")["sessions"]}

    # Until the server has recorded the loss, the session counts as ended: its runner's last report may still come.
    wait_until(lambda: fates() == {"t1.1": "redone"}, what="the loss of the session")
    assert "session resume" not in shop.run_maestro("recovery")
    shop.run_maestro("run", "stop", run)
