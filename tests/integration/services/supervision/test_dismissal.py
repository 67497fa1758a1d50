"""Test the end of a program whose session has ended itself."""

from __future__ import annotations

from maestro.testing.supervised import wait_until
from maestro.testing.workshop import Workshop


def test_a_session_that_ends_itself_keeps_its_program_for_a_grace_period(shop: Workshop) -> None:
    script = "maestro session end --status completed; sleep 1; touch moment; sleep 1000"
    shop.spawn_session("--name", "parser", "--", "sh", "-c", script)
    shop.wait_for_session_end("parser")
    wait_until(lambda: (shop.repo / "moment").exists(), what="the last step of the program")
    wait_until(lambda: not shop.remaining_pids(), what="the end of the program")
    assert shop.show_session("parser")["status"] == "completed"
