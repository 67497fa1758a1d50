"""Test the reports of real runners about programs that fail."""

from __future__ import annotations

from maestro.testing.workshop import Workshop


def test_a_failed_program_fails_its_task_with_the_last_output(shop: Workshop) -> None:
    shop.create_task("Parser")
    shop.spawn_session("--task", "#1", "--name", "parser", "--", "sh", "-c", "echo no such grammar; exit 3")
    assert shop.wait_for_session_end("parser")["status"] == "failed"
    task = shop.call_json("task", "show", "#1")
    assert task["status"] == "failed"
    assert "exit code 3" in task["reason"] and "no such grammar" in task["reason"]


def test_the_session_of_a_missing_program_fails_with_the_reason(shop: Workshop) -> None:
    shop.create_task("Parser")
    shop.run_maestro(
        "session", "spawn", "--task", "#1", "--name", "parser", "--", "no-such-program-anywhere", exits=1
    )
    assert shop.wait_for_session_end("parser")["status"] == "failed"
    assert "no-such-program-anywhere" in shop.run_maestro("session", "explain", "parser")
